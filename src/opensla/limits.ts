/**
 * The `limits` of a declaration, compiled: counters, and for each operation and property the
 * definitions that may apply, top down (OpenSLA 1.0.0, "limits").
 */

import type { LimitPlan, LimitRule, TotalWindow, Validity } from './sla-plan.ts'
import { fieldsAt, listAt, pointerTo, textAt, wholeAt, type Faults, type Fields } from './reader.ts'

export interface LimitPlans {
  readonly limits: readonly LimitPlan[]
  readonly byOperation: Readonly<Record<string, readonly (readonly number[])[]>>
}

/** A definition before it is resolved per operation. */
interface Definition {
  readonly operationIds: readonly string[] | null
  /** Property → position in `limits`. */
  readonly properties: ReadonlyMap<string, number>
}

const TOTALS: readonly TotalWindow[] = ['period', 'minute', 'hour', 'day', 'week', 'month']
const SPANS_MS: Readonly<Record<string, number>> = {
  second: 1_000,
  minute: 60_000,
  hour: 3_600_000,
  day: 86_400_000,
  week: 604_800_000,
}
const DAY_MS = 86_400_000
const TIME = /^(\d{2}):(\d{2})(?::(\d{2}))?$/

export function compileLimits(value: unknown, operationIds: readonly string[], faults: Faults): LimitPlans {
  const limits: LimitPlan[] = []
  const names = new Set<string>()
  const definitions = listAt(value, '/limits', faults).flatMap((item, index) => {
    const pointer = `/limits/${index}`
    const fields = fieldsAt(item, pointer, faults)
    if (fields === null) return []
    const name = fields['name'] === undefined ? `limit ${index + 1}` : textAt(fields['name'], `${pointer}/name`, faults)
    if (name === null) return []
    if (names.has(name)) faults.add(`${pointer}/name`, `Another definition is called "${name}".`)
    names.add(name)
    return [readDefinition(fields, name, pointer, operationIds, limits, faults)]
  })
  return { limits, byOperation: resolve(definitions, operationIds) }
}

function readDefinition(
  fields: Fields,
  name: string,
  pointer: string,
  known: readonly string[],
  limits: LimitPlan[],
  faults: Faults,
): Definition {
  const validity = readValidity(fields['validity'], `${pointer}/validity`, faults)
  const properties = new Map<string, number>()
  const add = (property: string, rule: LimitRule): void => {
    properties.set(property, limits.length)
    limits.push({ name, key: `${name}/${property}`, rule, validity })
  }

  const totals = fieldsAt(fields['totals'], `${pointer}/totals`, faults) ?? {}
  for (const window of TOTALS) {
    if (totals[window] === undefined) continue
    const at = `${pointer}/totals/${window}`
    const value = wholeAt(totals[window], at, faults)
    if (value === null) continue
    if (window === 'period' && validity.length === 0)
      faults.add(at, 'A total for the period needs a validity that says when.')
    add(`totals.${window}`, { kind: 'total', value, window })
  }
  for (const key of Object.keys(totals)) {
    if (!TOTALS.includes(key as TotalWindow))
      faults.add(pointerTo(`${pointer}/totals`, key), `Known are ${TOTALS.join(', ')}.`)
  }
  const rate = fieldsAt(fields['rate'], `${pointer}/rate`, faults)
  if (rate !== null) {
    const value = wholeAt(rate['value'], `${pointer}/rate/value`, faults)
    const spanMs = SPANS_MS[String(rate['duration'])]
    if (spanMs === undefined) faults.add(`${pointer}/rate/duration`, `Give one of ${Object.keys(SPANS_MS).join(', ')}.`)
    else if (value !== null) add('rate', { kind: 'rate', value, spanMs })
  }
  if (fields['concurrent'] !== undefined) {
    const value = wholeAt(fields['concurrent'], `${pointer}/concurrent`, faults)
    if (value !== null) add('concurrent', { kind: 'concurrent', value })
  }
  return { operationIds: readOperations(fields['operationIds'], pointer, known, faults), properties }
}

function readOperations(value: unknown, pointer: string, known: readonly string[], faults: Faults): string[] | null {
  if (value === undefined) return null
  return listAt(value, `${pointer}/operationIds`, faults).flatMap((id, index) => {
    if (typeof id === 'string' && known.includes(id)) return [id]
    faults.add(`${pointer}/operationIds/${index}`, `The API has no operation "${String(id).slice(0, 100)}".`)
    return []
  })
}

function readValidity(value: unknown, pointer: string, faults: Faults): readonly Validity[] {
  const spans = listAt(value, pointer, faults).flatMap((item, index) => {
    const at = `${pointer}/${index}`
    const fields = fieldsAt(item, at, faults)
    if (fields === null) return []
    const startMs = readTime(fields['start'], `${at}/start`, faults)
    const endMs = readTime(fields['end'], `${at}/end`, faults)
    if (startMs === null || endMs === null) return []
    return [{ startMs: startMs % DAY_MS, endMs: endMs % DAY_MS }]
  })
  return join(spans)
}

/** Spans that touch are one span: 21:00–24:00 and 00:00–03:00 make one night. */
function join(spans: readonly Validity[]): readonly Validity[] {
  const left = [...spans]
  for (let index = 0; index < left.length;) {
    const span = left[index]!
    const next = left.findIndex(({ startMs }, other) => other !== index && startMs === span.endMs)
    if (next < 0) index++
    else {
      left[index] = { startMs: span.startMs, endMs: left[next]!.endMs }
      left.splice(next, 1)
      if (next < index) index--
    }
  }
  return left
}

function readTime(value: unknown, pointer: string, faults: Faults): number | null {
  const match = typeof value === 'string' ? TIME.exec(value) : null
  if (match !== null) {
    const [hours, minutes, seconds] = [Number(match[1]), Number(match[2]), Number(match[3] ?? 0)]
    const timeMs = ((hours * 60 + minutes) * 60 + seconds) * 1_000
    if (minutes < 60 && seconds < 60 && timeMs <= DAY_MS) return timeMs
  }
  faults.add(pointer, 'Give a time of the day in UTC, HH:MM or HH:MM:SS, up to 24:00.')
  return null
}

function resolve(definitions: readonly Definition[], operationIds: readonly string[]): LimitPlans['byOperation'] {
  const groupsOf = (matches: readonly Definition[]): readonly (readonly number[])[] => {
    const groups = new Map<string, number[]>()
    for (const { properties } of matches) {
      for (const [property, position] of properties) {
        const group = groups.get(property)
        if (group === undefined) groups.set(property, [position])
        else group.push(position)
      }
    }
    return [...groups.values()]
  }
  const listed = operationIds.filter((id) => definitions.some(({ operationIds: ids }) => ids?.includes(id)))
  return {
    '*': groupsOf(definitions.filter(({ operationIds: ids }) => ids === null)),
    ...Object.fromEntries(
      listed.map((id) => [
        id,
        groupsOf(definitions.filter(({ operationIds: ids }) => ids === null || ids.includes(id))),
      ]),
    ),
  }
}
