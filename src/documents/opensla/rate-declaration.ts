/** Declares rates: `rate: {value, duration}` of a definition, and the short forms of `quotas` such as `5000rpm`. */

import { isExactRate } from '../../foundation/domain/gcra.ts'
import type { RateRule } from '../../foundation/domain/limit-rule.ts'
import type { LimitDeclaration } from './limit-declaration.ts'
import { fieldsAt, wholeAt, type Faults } from './reader.ts'

const SPANS_MS: ReadonlyMap<string, number> = new Map([
  ['second', 1_000],
  ['minute', 60_000],
  ['hour', 3_600_000],
  ['day', 86_400_000],
  ['week', 604_800_000],
])
const SHORT_SPANS_MS: ReadonlyMap<string, number> = new Map([
  ['s', 1_000],
  ['m', 60_000],
  ['h', 3_600_000],
  ['d', 86_400_000],
])
const SHORT_RATE = /^(\d{1,9})\s*([tr])p([smhd])$/i

export const RATE_DECLARATION: LimitDeclaration<'rate'> = {
  member: 'rate',
  read(value, pointer, _validity, faults) {
    const rule = readRate(value, pointer, faults)
    return rule === null ? [] : [['rate', rule]]
  },
  warn() {},
}

function readRate(value: unknown, pointer: string, faults: Faults): RateRule | null {
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

/** Reads a short form; null if it is not a rate. */
export function readShortRate(text: unknown, pointer: string, faults: Faults): RateRule | null {
  const match = typeof text === 'string' ? SHORT_RATE.exec(text) : null
  const spanMs = SHORT_SPANS_MS.get(match?.[3]?.toLowerCase() ?? '')
  const value = Number(match?.[1])
  if (spanMs !== undefined && isExactRate(value, spanMs)) return { kind: 'rate', value, spanMs }
  faults.add(pointer, 'Give a rate such as 5000rpm or 100tps: a second, minute, hour or day is s, m, h or d.')
  return null
}
