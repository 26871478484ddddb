/**
 * Reads the times of the day, in UTC, at which a definition is valid. Spans that touch or overlap become one.
 *
 * The published text specifies `HH:MM`, its schema `format: time`, the full-time of RFC 3339; both are
 * accepted, and an offset is converted to UTC. 24:00 is the midnight at the end of a day.
 */

import { DAY_MS, HOUR_MS, MINUTE_MS } from '../../foundation/domain/calendar.ts'
import { fieldsAt, listAt, type Faults } from './reader.ts'
import type { Validity } from '../../boundary/plan/sla-plan.ts'
import { lengthOf } from '../../boundary/plan/validity-span.ts'

/** Every call searches the spans in sequence. */
const SPANS_MAX = 48
const TIME = /^(\d{2}):(\d{2})(?::(\d{2})(?:\.(\d{1,9}))?)?(?:[zZ]|([+-])(\d{2}):(\d{2}))?$/

export function readValidity(value: unknown, pointer: string, faults: Faults): readonly Validity[] {
  const spans = listAt(value, pointer, faults, SPANS_MAX).flatMap((item, index) => {
    const at = `${pointer}/${index}`
    const fields = fieldsAt(item, at, faults)
    if (fields === null) return []
    faults.warnOfOthers(fields, ['name', 'start', 'end'], at)
    const startMs = readTime(fields['start'], `${at}/start`, faults)
    const endMs = readTime(fields['end'], `${at}/end`, faults)
    if (startMs === null || endMs === null) return []
    if (startMs === endMs) faults.warn(at, 'Start and end are equal, so this validity is the whole day.')
    return [{ startMs: startMs % DAY_MS, endMs: endMs % DAY_MS }]
  })
  return joined(spans)
}

function readTime(value: unknown, pointer: string, faults: Faults): number | null {
  const match = typeof value === 'string' ? TIME.exec(value) : null
  const timeMs = match === null ? null : toTimeMs(match)
  if (timeMs === null) faults.add(pointer, 'Give a time of the day in UTC, HH:MM or HH:MM:SS, up to 24:00.')
  return timeMs
}

function toTimeMs([, hour, minute, second = '0', fraction = '', sign, offsetHour, offsetMinute]: RegExpExecArray) {
  const [hours, minutes, seconds] = [Number(hour), Number(minute), Number(second)]
  // A leap second counts as the midnight after it.
  if (minutes > 59 || seconds > 60 || (seconds === 60 && minutes !== 59)) return null
  const timeMs =
    hours * HOUR_MS + minutes * MINUTE_MS + seconds * 1_000 + Math.floor(Number(`0.${fraction || '0'}`) * 1_000)
  if (timeMs > DAY_MS) return null
  if (sign === undefined) return timeMs
  if (Number(offsetHour) > 23 || Number(offsetMinute) > 59) return null
  const offsetMs = Number(offsetHour) * HOUR_MS + Number(offsetMinute) * MINUTE_MS
  return (timeMs + (sign === '+' ? DAY_MS - offsetMs : offsetMs)) % DAY_MS
}

/** Merges 21:00–24:00 with 00:00–03:00, and 09:00–12:00 with 11:00–14:00. */
function joined(spans: readonly Validity[]): readonly Validity[] {
  const left = [...spans]
  for (let index = 0; index < left.length;) {
    const span = left[index]!
    const next = left.findIndex((other, at) => at !== index && reaches(span, other))
    if (next < 0) {
      index++
      continue
    }
    left[index] = union(span, left[next]!)
    left.splice(next, 1)
    index = 0
  }
  return left
}

/** Returns the time from the start of a span to a time of the day, over midnight if needed. */
function after(span: Validity, dayMs: number): number {
  return (dayMs - span.startMs + DAY_MS) % DAY_MS
}

/** Whether `other` starts in `span` or at its end. */
function reaches(span: Validity, other: Validity): boolean {
  return after(span, other.startMs) <= lengthOf(span)
}

function union(span: Validity, other: Validity): Validity {
  const length = Math.max(lengthOf(span), after(span, other.startMs) + lengthOf(other))
  if (length >= DAY_MS) return { startMs: 0, endMs: 0 }
  return { startMs: span.startMs, endMs: (span.startMs + length) % DAY_MS }
}
