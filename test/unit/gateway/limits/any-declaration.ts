/** Random declarations: limits of all kinds, with times of the day, listed operations and a quota. */

import { OPERATIONS } from '../../../fixtures/test-limits.ts'
import type { ReferenceDefinition } from './reference-limiter.ts'

const SPANS = [
  ['06:00:00', '10:13:50'],
  ['09:00:00', '12:00:00'],
  ['22:00:00', '03:00:00'],
  ['16:30:00', '20:00:00'],
  ['00:00:00', '04:30:00'],
] as const
/** mulberry32 */
export function createRandom(seed: number): (below: number) => number {
  let state = seed
  return (below) => {
    state = (state + 0x6d2b79f5) | 0
    let mixed = Math.imul(state ^ (state >>> 15), state | 1)
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)
    return ((mixed ^ (mixed >>> 14)) >>> 0) % below
  }
}

function anyDefinition(random: (below: number) => number, index: number): ReferenceDefinition {
  const span = SPANS[random(SPANS.length)] ?? SPANS[0]
  const isTimed = random(2) === 0
  const windows = ['minute', 'hour', 'day', 'week', 'month', ...(isTimed ? ['period'] : [])]
  const durations = ['second', 'minute', 'hour', 'day', 'week']
  return {
    name: `d${index}`,
    ...(random(2) === 0 && { operationIds: OPERATIONS.filter((_, at) => at === index % 3 || random(2) === 0) }),
    ...(isTimed && { validity: [{ name: 'v', start: span[0], end: span[1] }] }),
    totals: Object.fromEntries(windows.filter(() => random(3) === 0).map((window) => [window, random(12)])),
    ...(random(2) === 0 && { rate: { value: random(9), duration: durations[random(5)] ?? 'day' } }),
    ...(random(3) === 0 && { concurrent: random(5) }),
  }
}

export function anyPlan(random: (below: number) => number) {
  const period = ['Daily', 'Monthly', 'Quarterly', 'Annual'][random(4)] ?? 'Daily'
  return {
    limits: Array.from({ length: 1 + random(4) }, (_, index) => anyDefinition(random, index)),
    ...(random(2) === 0 && { quotas: { period, resourceUnits: random(60) } }),
    resourceUnits: { operations: { read: 1, write: random(5), list: 0 } },
  }
}
