import { expect, it } from 'vitest'
import { createLimiter } from '../../../src/gateway/limiter.ts'
import { createLimitMemory } from '../../../src/gateway/limit-memory.ts'
import { openDesk, OPERATIONS, planOf } from './limit-fixture.ts'
import { createReferenceLimiter, type ReferenceCall, type ReferenceDefinition } from './reference-limiter.ts'

const SEEDS = 150
const STEPS = 400
const FROM_MS = Date.parse('2028-02-28T20:00:00Z')
const SPANS = [
  ['06:00:00', '10:13:50'],
  ['09:00:00', '12:00:00'],
  ['22:00:00', '03:00:00'],
  ['16:30:00', '20:00:00'],
  ['00:00:00', '04:30:00'],
] as const
const STEPS_MS = [0, 0, 0, 1, 7, 333, 999, 1_000, 20_000, 59_999, 61_000, 900_000, 3_600_000, 40_000_000, 300_000_000]

/** mulberry32 */
function createRandom(seed: number): (below: number) => number {
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

function anyPlan(random: (below: number) => number) {
  const period = ['Daily', 'Monthly', 'Quarterly', 'Annual'][random(4)] ?? 'Daily'
  return {
    limits: Array.from({ length: 1 + random(4) }, (_, index) => anyDefinition(random, index)),
    ...(random(2) === 0 && { quotas: { period, resourceUnits: random(60) } }),
    resourceUnits: { operations: { read: 1, write: random(5), list: 0 } },
  }
}

it.each(Array.from({ length: SEEDS }, (_, seed) => seed))(
  'decides every call as a plain reading of the declaration does, seed %i',
  (seed) => {
    const random = createRandom(seed)
    const declared = anyPlan(random)
    const reference = createReferenceLimiter(declared)
    const memory = createLimitMemory({ threads: 2 })
    const desks = [0, 1].map((thread) =>
      openDesk(planOf(declared), memory, { thread, threads: 2, limiter: createLimiter({ thread, threads: 2 }) }),
    )
    const running: { call: ReferenceCall; end: (isFailed: boolean) => void }[] = []
    let nowMs = FROM_MS

    for (let step = 0; step < STEPS; step++) {
      nowMs += STEPS_MS[random(STEPS_MS.length)] ?? 0
      if (random(3) === 0 && running.length > 0) {
        const [{ call, end } = { call: null, end: () => {} }] = running.splice(random(running.length), 1)
        const isFailed = random(2) === 0
        end(isFailed)
        if (call !== null) call.isRunning = false
        if (call !== null && isFailed) call.units = 0
      }
      const { limiter, sla, block, take } = desks[random(2)] ?? openDesk(planOf(declared))
      const operation = random(3)
      const expected = reference.take(OPERATIONS[operation] ?? 'read', nowMs)
      const taken = take(nowMs, operation)
      const where = `seed ${seed}, step ${step}, ${new Date(nowMs).toISOString()}`

      if ('counted' in expected) {
        expect(taken, where).toBe(true)
        const { gauge, quotaStartMs } = limiter.verdict
        const unitsMicro = expected.units * 1_000_000
        const end = (isFailed: boolean) => {
          limiter.release(block, gauge)
          if (isFailed) limiter.giveBack(sla, block, unitsMicro, quotaStartMs)
        }
        running.push({ call: expected, end })
      } else expect(expected, where).toContain(taken)
    }
  },
)
