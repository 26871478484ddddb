/** Random declarations: limits of all kinds, with times of the day, listed operations and a quota. */

import type { LimitKind } from '../../../src/foundation/domain/limit-rule.ts'
import { OPERATIONS } from '../../fixtures/test-limits.ts'
import type { ReferenceDefinition } from './reference-limiter.ts'

const SPANS = [
  ['06:00:00', '10:13:50'],
  ['09:00:00', '12:00:00'],
  ['22:00:00', '03:00:00'],
  ['16:30:00', '20:00:00'],
  ['00:00:00', '04:30:00'],
] as const
const DURATIONS = ['second', 'minute', 'hour', 'day', 'week']

type Random = (below: number) => number

/** Random members of a definition, by the kind of their limits. A kind without a generator does not compile. */
const ANY: Readonly<Record<LimitKind, (random: Random, isTimed: boolean) => Partial<ReferenceDefinition>>> = {
  total(random, isTimed) {
    const windows = ['minute', 'hour', 'day', 'week', 'month', ...(isTimed ? ['period'] : [])]
    return {
      totals: Object.fromEntries(windows.filter(() => random(3) === 0).map((window) => [window, random(12)])),
    }
  },
  rate: (random) => (random(2) === 0 ? { rate: { value: random(9), duration: DURATIONS[random(5)] ?? 'day' } } : {}),
  concurrent: (random) => (random(3) === 0 ? { concurrent: random(5) } : {}),
}

/** mulberry32 */
export function createRandom(seed: number): Random {
  let state = seed
  return (below) => {
    state = (state + 0x6d2b79f5) | 0
    let mixed = Math.imul(state ^ (state >>> 15), state | 1)
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)
    return ((mixed ^ (mixed >>> 14)) >>> 0) % below
  }
}

function anyDefinition(random: Random, index: number): ReferenceDefinition {
  const span = SPANS[random(SPANS.length)] ?? SPANS[0]
  const isTimed = random(2) === 0
  const definition: ReferenceDefinition = {
    name: `d${index}`,
    ...(random(2) === 0 && { operationIds: OPERATIONS.filter((_, at) => at === index % 3 || random(2) === 0) }),
    ...(isTimed && { validity: [{ name: 'v', start: span[0], end: span[1] }] }),
  }
  return Object.values(ANY).reduce((made, membersOf) => ({ ...made, ...membersOf(random, isTimed) }), definition)
}

export function anyPlan(random: Random) {
  const period = ['Daily', 'Monthly', 'Quarterly', 'Annual'][random(4)] ?? 'Daily'
  return {
    limits: Array.from({ length: 1 + random(4) }, (_, index) => anyDefinition(random, index)),
    ...(random(2) === 0 && { quotas: { period, resourceUnits: random(60) } }),
    resourceUnits: { operations: { read: 1, write: random(5), list: 0 } },
  }
}
