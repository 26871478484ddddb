/** Units that are known only after the response: reserved when the call is admitted, and settled without refusing. */

import { describe, expect, it } from 'vitest'
import { createAdmissions, createSettle } from '../../../src/gateway/admission.ts'
import type { Call } from '../../../src/gateway/call/call.ts'
import { createLeaseWaits } from '../../../src/limits/lease-waits.ts'
import { createLimiter, type Limiter } from '../../../src/limits/limiter.ts'
import { createLimitMemory } from '../../../src/limits/limit-memory.ts'
import { outcomeIndex } from '../../../src/foundation/domain/outcome.ts'
import { FLAG_APPROACHING_LIMIT, FLAG_FORWARDED } from '../../../src/storage/spool/call-record.ts'
import type { UnitsPlan } from '../../../src/boundary/plan/route-plan.ts'
import { OPERATIONS, planOf } from '../../fixtures/test-limits.ts'

const MICRO = 1_000_000
const NOON_MS = Date.parse('2026-03-04T12:00:00Z')
const DAY_MS = 86_400_000
const BY_EVENT: UnitsPlan = { per: 'event', unitsMicro: 0.5 * MICRO }
const RESERVING: UnitsPlan = { ...BY_EVENT, reserveMicro: 10 * MICRO }

function open(quotas: object, units: UnitsPlan | null = RESERVING, more: object = {}) {
  const plan = planOf({ quotas, ...more })
  const memory = createLimitMemory({ threads: 1 })
  const limiter: Limiter = createLimiter({ thread: 0, threads: 1 })
  const sla = limiter.compile(plan, OPERATIONS, [units ?? undefined])
  const block = limiter.open(memory.blockFor('sub', plan)!)
  const admissions = createAdmissions({ limiter, waits: createLeaseWaits(async () => false), slots: null })
  const start = (nowMs: number): Call | null => {
    const call = { flags: FLAG_FORWARDED, outcome: outcomeIndex.served, status: 200 } as Call
    const context = { sla, block } as Parameters<typeof admissions.admit>[1]
    const refusal = admissions.admit(call, context, 0, nowMs)
    return refusal === null ? call : null
  }
  return {
    sla,
    block,
    limiter,
    start,
    settle: createSettle(limiter),
    end(call: Call | null, units: number, status = 200) {
      Object.assign(call!, { status })
      admissions.release(call!, units * MICRO)
      return call!
    },
    used: (nowMs = NOON_MS) => memory.usage('sub', plan, nowMs).quota!.usedMicro / MICRO,
  }
}

const DAILY = { period: 'Daily', resourceUnits: 100 }

describe('A reserve', () => {
  it.each<[string, UnitsPlan | null, object, number]>([
    ['of its own', RESERVING, {}, 10],
    ['as the declaration states', BY_EVENT, { resourceUnits: { default: 3 } }, 3],
    ['of one event if the declaration states 0', BY_EVENT, { resourceUnits: { default: 0 } }, 0.5],
    ['of no operation whose units are known before', null, { resourceUnits: { default: 3 } }, 3],
  ])('%s is charged at admission', (_, units, more, expected) => {
    const { start, used, sla } = open(DAILY, units, more)
    expect(start(NOON_MS)?.unitsMicro).toBe(expected * MICRO)
    expect(used()).toBe(expected)
    expect(sla.costLines[0]).toBe(`X-RU-Cost: ${expected}\r\n`)
    // Other operations keep what the declaration states.
    expect(sla.unitsMicro.slice(1)).toEqual(sla.declaredMicro.slice(1))
  })

  it('is replaced by more, by less, or by nothing', () => {
    const { start, end, used } = open(DAILY)
    expect(end(start(NOON_MS), 25).unitsMicro).toBe(25 * MICRO)
    expect(used()).toBe(25)
    expect(end(start(NOON_MS), 4).unitsMicro).toBe(4 * MICRO)
    expect(used()).toBe(29)
    end(start(NOON_MS), 0)
    end(start(NOON_MS), 10)
    expect(used()).toBe(39)
  })

  it('is given back as a whole if the call is not charged', () => {
    const { start, end, used } = open(DAILY)
    expect(end(start(NOON_MS), 25, 500).unitsMicro).toBe(0)
    expect(used()).toBe(0)
  })

  it('is what the headers of a response show', () => {
    const { start, end } = open(DAILY)
    expect(end(start(NOON_MS), 25).quotaUsedMicro).toBe(10 * MICRO)
  })
})

describe('A settled quota', () => {
  it('is exceeded by at most what calls in flight have used beyond their reserves', () => {
    const { start, end, used } = open(DAILY)
    const running = Array.from({ length: 10 }, () => start(NOON_MS))
    expect(running.every((call) => call !== null)).toBe(true)
    expect(start(NOON_MS)).toBeNull()
    for (const call of running) end(call, 50)
    expect(used()).toBe(500)
    expect(start(NOON_MS)).toBeNull()
    expect(start(NOON_MS + DAY_MS)).not.toBeNull()
  })

  it('admits calls again when less was used than reserved', () => {
    const { start, end } = open(DAILY)
    const running = Array.from({ length: 10 }, () => start(NOON_MS))
    expect(start(NOON_MS)).toBeNull()
    end(running[0]!, 0)
    expect(start(NOON_MS)).not.toBeNull()
  })

  it('is that of the period in which the call was admitted', () => {
    const { start, end, used } = open(DAILY)
    const [late, lateToo] = [start(NOON_MS), start(NOON_MS)]
    const tomorrow = NOON_MS + DAY_MS
    end(start(tomorrow), 3)
    expect(end(late, 50).unitsMicro).toBe(50 * MICRO)
    end(lateToo, 1)
    expect(used(tomorrow)).toBe(3)
  })

  it('warns once in a period, with the call that settles above the threshold', () => {
    const { start, end } = open(DAILY)
    const isNear = (call: Call) => (call.flags & FLAG_APPROACHING_LIMIT) !== 0
    expect(isNear(end(start(NOON_MS), 60))).toBe(false)
    expect(isNear(end(start(NOON_MS), 22))).toBe(true)
    expect(isNear(end(start(NOON_MS), 30))).toBe(false)
  })

  it('of PayAsYouGo has no end', () => {
    const { start, end, used } = open({ period: 'PayAsYouGo' })
    for (let call = 0; call < 100; call++) end(start(NOON_MS), 1_000)
    expect(used()).toBe(100_000)
  })

  it('is the sum of what calls were charged, in any order of their ends', () => {
    const { start, end, used } = open({ period: 'Daily', resourceUnits: 5_000 })
    let [state, sum] = [7, 0]
    const random = (below: number): number => (state = (state * 48_271) % 0x7fff_ffff) % below
    const running: Call[] = []
    for (let step = 0; step < 5_000; step++) {
      const call = random(2) === 0 ? start(NOON_MS) : null
      if (call !== null) running.push(call)
      else if (running.length > 0) {
        const [one] = running.splice(random(running.length), 1)
        const status = random(5) === 0 ? 503 : 200
        sum += end(one!, random(40) / 4, status).unitsMicro
        expect(used()).toBe(sum / MICRO + running.length * 10)
      }
    }
    expect(sum).toBeGreaterThan(1_000 * MICRO)
  })
})

describe('The state of a quota', () => {
  it('is exhausted above its units, whichever call has used them', () => {
    const { start, limiter, sla, used, settle, block } = open(DAILY)
    const call = start(NOON_MS)!
    expect(settle(call, 100 * MICRO)).toBeNull()
    expect(settle(call, 100 * MICRO + 1)).toBe('exhausted')
    // Less than before changes nothing while the call runs.
    expect(settle(call, 5 * MICRO)).toBe('exhausted')
    expect(used()).toBe(100.000001)
    expect(limiter.quotaState(sla, block, call.quotaStartMs)).toBe('exhausted')
  })

  it('is over once a call was counted in a later period', () => {
    const { start, settle } = open(DAILY)
    const call = start(NOON_MS)!
    expect(settle(call, 20 * MICRO)).toBeNull()
    start(NOON_MS + DAY_MS)
    expect(settle(call, 30 * MICRO)).toBe('over')
  })
})
