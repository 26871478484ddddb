import { expect, it } from 'vitest'
import { createLimiter } from '../../../src/limits/limiter.ts'
import { createLimitMemory } from '../../../src/limits/limit-memory.ts'
import { anyPlan, createRandom } from './any-declaration.ts'
import { openTestLimiter, OPERATIONS, planOf } from '../../fixtures/test-limits.ts'
import { createReferenceLimiter, type ReferenceCall } from './reference-limiter.ts'

const SEEDS = 150
const STEPS = 400
const FROM_MS = Date.parse('2028-02-28T20:00:00Z')
const STEPS_MS = [0, 0, 0, 1, 7, 333, 999, 1_000, 20_000, 59_999, 61_000, 900_000, 3_600_000, 40_000_000, 300_000_000]

it.each(Array.from({ length: SEEDS }, (_, seed) => seed))(
  'decides every call like the reference limiter, seed %i',
  (seed) => {
    const random = createRandom(seed)
    const declared = anyPlan(random)
    const reference = createReferenceLimiter(declared)
    const memory = createLimitMemory({ threads: 2 })
    const limiters = [0, 1].map((thread) =>
      openTestLimiter(planOf(declared), memory, { thread, threads: 2, limiter: createLimiter({ thread, threads: 2 }) }),
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
      const { limiter, sla, block, take } = limiters[random(2)] ?? openTestLimiter(planOf(declared))
      const operation = random(3)
      const expected = reference.take(OPERATIONS[operation] ?? 'read', nowMs)
      const result = take(nowMs, operation)
      const where = `seed ${seed}, step ${step}, ${new Date(nowMs).toISOString()}`

      if ('counted' in expected) {
        expect(result, where).toBe(true)
        const { gauge, quotaStartMs } = limiter.verdict
        const unitsMicro = expected.units * 1_000_000
        const end = (isFailed: boolean) => {
          limiter.release(block, gauge)
          if (isFailed) limiter.giveBack(sla, block, unitsMicro, quotaStartMs)
        }
        running.push({ call: expected, end })
      } else expect(expected, where).toContain(result)
    }
  },
)
