/**
 * The `limits` of a declaration, compiled: counters, and for each operation and property the
 * definitions that may apply, top down (OpenSLA 1.0.0, "limits").
 */

import { isExactRate } from '../domain/gcra.ts'
import { fieldsAt, listAt, operationsAt, pointerTo, textAt, wholeAt, type Faults, type Fields } from './reader.ts'
import { warnOfShadowed, warnOfUnlikely, type Definition } from './limit-warnings.ts'
import type { LimitRule, TotalWindow } from '../plan/limit-rule.ts'
import type { LimitPlan } from '../plan/sla-plan.ts'
import { readValidity } from './validity.ts'

export interface LimitPlans {
  readonly limits: readonly LimitPlan[]
  readonly byOperation: Readonly<Record<string, readonly (readonly number[])[]>>
}

export const SPANS_MS: ReadonlyMap<string, number> = new Map([
  ['second', 1_000],
  ['minute', 60_000],
  ['hour', 3_600_000],
  ['day', 86_400_000],
  ['week', 604_800_000],
])

/** A block of counters holds them all. */
const DEFINITIONS_MAX = 200
const TOTALS: readonly TotalWindow[] = ['period', 'minute', 'hour', 'day', 'week', 'month']
const KNOWN = ['name', 'operationIds', 'totals', 'rate', 'concurrent', 'validity']

export function compileLimits(value: unknown, operationIds: ReadonlySet<string>, faults: Faults): LimitPlans {
  const limits: LimitPlan[] = []
  const names = new Set<string>()
  const definitions = listAt(value, '/limits', faults, DEFINITIONS_MAX).flatMap((item, index) => {
    const pointer = `/limits/${index}`
    const fields = fieldsAt(item, pointer, faults)
    if (fields === null) return []
    const name = fields['name'] === undefined ? `limit ${index + 1}` : textAt(fields['name'], `${pointer}/name`, faults)
    if (name === null) return []
    if (names.has(name)) faults.add(`${pointer}/name`, `Another definition is called "${name}".`)
    names.add(name)
    return [readDefinition(fields, name, pointer, operationIds, limits, faults)]
  })
  const byOperation = resolve(definitions, operationIds)
  warnOfShadowed(definitions, limits, byOperation, faults)
  warnOfUnlikely(definitions, limits, faults)
  return { limits, byOperation }
}

function readDefinition(
  fields: Fields,
  name: string,
  pointer: string,
  known: ReadonlySet<string>,
  limits: LimitPlan[],
  faults: Faults,
): Definition {
  faults.warnOfOthers(fields, KNOWN, pointer)
  const validity = readValidity(fields['validity'], `${pointer}/validity`, faults)
  const listed = operationsAt(fields['operationIds'], `${pointer}/operationIds`, known, faults)
  const operationIds = listed === null ? null : [...new Set(listed)].sort()
  const properties = new Map<string, number>()
  for (const [property, rule] of readRules(fields, pointer, faults)) {
    if (property === 'totals.period' && validity.length === 0) {
      faults.add(`${pointer}/totals/period`, 'A total for the period needs a validity that says when.')
    }
    properties.set(property, limits.length)
    const meaning = JSON.stringify([property, operationIds, validity])
    limits.push({ name, key: `${name}/${property}`, meaning, rule, validity })
  }
  return { pointer, operationIds: operationIds === null ? null : new Set(operationIds), properties }
}

function readRules(fields: Fields, pointer: string, faults: Faults): readonly (readonly [string, LimitRule])[] {
  const rules: [string, LimitRule][] = []
  const totals = fieldsAt(fields['totals'], `${pointer}/totals`, faults) ?? {}
  for (const [key, count] of Object.entries(totals)) {
    const at = pointerTo(`${pointer}/totals`, key)
    const window = TOTALS.find((known) => known === key)
    if (window === undefined) {
      if (!key.startsWith('x-')) faults.add(at, `Known are ${TOTALS.join(', ')}.`)
      continue
    }
    const value = wholeAt(count, at, faults)
    if (value !== null) rules.push([`totals.${window}`, { kind: 'total', value, window }])
  }
  const rate = readRate(fields['rate'], `${pointer}/rate`, faults)
  if (rate !== null) rules.push(['rate', rate])
  if (fields['concurrent'] !== undefined) {
    const value = wholeAt(fields['concurrent'], `${pointer}/concurrent`, faults)
    if (value !== null) rules.push(['concurrent', { kind: 'concurrent', value }])
  }
  return rules
}

function readRate(value: unknown, pointer: string, faults: Faults): LimitRule | null {
  const fields = fieldsAt(value, pointer, faults)
  if (fields === null) return null
  const calls = wholeAt(fields['value'], `${pointer}/value`, faults)
  const spanMs = SPANS_MS.get(String(fields['duration']))
  if (spanMs === undefined) faults.add(`${pointer}/duration`, `Give one of ${[...SPANS_MS.keys()].join(', ')}.`)
  if (calls === null || spanMs === undefined) return null
  if (isExactRate(calls, spanMs)) return { kind: 'rate', value: calls, spanMs }
  faults.add(`${pointer}/value`, 'This rate is too high to be counted exactly.')
  return null
}

function resolve(definitions: readonly Definition[], known: ReadonlySet<string>): LimitPlans['byOperation'] {
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
  const forAll = definitions.filter(({ operationIds }) => operationIds === null)
  const listed = [...known].filter((id) => definitions.some(({ operationIds }) => operationIds?.has(id)))
  return Object.fromEntries([
    ...listed.map((id) => {
      const matches = definitions.filter(({ operationIds }) => operationIds === null || operationIds.has(id))
      return [id, groupsOf(matches)] as const
    }),
    ['*', groupsOf(forAll)] as const,
  ])
}
