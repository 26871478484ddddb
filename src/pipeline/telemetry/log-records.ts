/**
 * Lines of the log as log records of OpenTelemetry. The lines are those of stderr, with secrets replaced already.
 *
 * Lines about the export itself are left out: a collector that is away would otherwise cause what it must take.
 */

import { toHrTime } from './hr-time.ts'
import type { Origin } from './origin.ts'

type Value = string | number | boolean

export interface ServiceLogRecord extends Origin {
  readonly hrTime: [number, number]
  readonly hrTimeObserved: [number, number]
  readonly severityText: string
  readonly severityNumber: number
  readonly body: string
  readonly attributes: Record<string, Value>
  readonly droppedAttributesCount: 0
}

/** Value of the field `component` in lines about the export. */
export const OWN_COMPONENT = 'telemetry'
const SEVERITIES: Readonly<Record<string, number>> = { trace: 1, debug: 5, info: 9, warn: 13, error: 17, fatal: 21 }
const UNSPECIFIED = 0
const TEXT_MAX = 8_192
const EXCEPTION: Readonly<Record<string, string>> = {
  type: 'exception.type',
  message: 'exception.message',
  stack: 'exception.stacktrace',
}

/** Returns null for a line that is not exported. */
export function toLogRecord(line: string, origin: Origin, nowMs: number): ServiceLogRecord | null {
  const fields = parse(line)
  if (fields === null || fields['component'] === OWN_COMPONENT) return null
  const { level, time, msg, err, ...others } = fields
  const atMs = typeof time === 'string' ? Date.parse(time) : NaN
  const severity = typeof level === 'string' ? level : ''
  return {
    ...origin,
    hrTime: toHrTime(Number.isNaN(atMs) ? nowMs : atMs),
    hrTimeObserved: toHrTime(nowMs),
    severityText: severity.toUpperCase(),
    severityNumber: Object.hasOwn(SEVERITIES, severity) ? SEVERITIES[severity]! : UNSPECIFIED,
    body: toText(msg ?? ''),
    attributes: { ...toAttributes(others), ...toException(err) },
    droppedAttributesCount: 0,
  }
}

function parse(line: string): Readonly<Record<string, unknown>> | null {
  try {
    const fields: unknown = JSON.parse(line)
    return typeof fields === 'object' && fields !== null ? (fields as Record<string, unknown>) : null
  } catch {
    return null
  }
}

function toAttributes(fields: Readonly<Record<string, unknown>>): Record<string, Value> {
  const entries = Object.entries(fields).filter(([, value]) => value !== null && value !== undefined)
  return Object.fromEntries(
    entries.map(([name, value]) => [
      name,
      typeof value === 'number' || typeof value === 'boolean' ? value : toText(value),
    ]),
  )
}

function toException(error: unknown): Record<string, Value> {
  if (typeof error !== 'object' || error === null)
    return error === undefined ? {} : { 'exception.message': toText(error) }
  const entries = Object.entries(error).flatMap(([name, value]) =>
    Object.hasOwn(EXCEPTION, name) ? [[EXCEPTION[name]!, toText(value)] as const] : [],
  )
  return Object.fromEntries(entries)
}

function toText(value: unknown): string {
  const text = typeof value === 'string' ? value : JSON.stringify(value)
  return text.length > TEXT_MAX ? text.slice(0, TEXT_MAX) : text
}
