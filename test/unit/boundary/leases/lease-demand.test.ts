import { describe, expect, it } from 'vitest'
import { LeaseDemand } from '../../../../src/boundary/leases/lease-demand.ts'
import { SLICE_TIMINGS } from '../../../../src/boundary/leases/lease-timings.ts'

const STEP_MS = 200
const OUTAGE_MS = 300_000
const AHEAD_MS = 900_000

/** Observes `perSecond` calls for a time, and returns the time at its end. */
function observe(demand: LeaseDemand, perSecond: number, fromMs: number, forMs: number, used = { calls: 0 }): number {
  for (let ms = fromMs + STEP_MS; ms <= fromMs + forMs; ms += STEP_MS) {
    used.calls += (perSecond * STEP_MS) / 1_000
    demand.observe(used.calls, ms)
  }
  return fromMs + forMs
}

describe('The demand of a counter', () => {
  it.each([10_000, 30_000, 60_000, 600_000])('is that of its calls once they have lasted for %i ms', (forMs) => {
    const demand = new LeaseDemand(SLICE_TIMINGS, 0)
    observe(demand, 5, 0, forMs)
    expect(demand.callsIn(AHEAD_MS)).toBeGreaterThan(0.95 * 4_500)
    expect(demand.callsIn(AHEAD_MS)).toBeLessThan(1.05 * 4_500)
    // A node asks again when it holds half of what it needs.
    expect(demand.callsIn(AHEAD_MS) / 2).toBeGreaterThan(demand.callsIn(OUTAGE_MS))
  })

  it('is taken to be small at the first calls, however fast they come', () => {
    const demand = new LeaseDemand(SLICE_TIMINGS, 0)
    observe(demand, 100, 0, 200)
    expect(demand.callsIn(1_000)).toBeLessThanOrEqual(2)
  })

  it('is that of the latest calls again after a time without any', () => {
    const demand = new LeaseDemand(SLICE_TIMINGS, 0)
    const used = { calls: 0 }
    let ms = observe(demand, 1, 0, 600_000, used)
    ms = observe(demand, 0, ms, 3_600_000, used)
    expect(demand.callsIn(AHEAD_MS)).toBe(0)
    observe(demand, 5, ms, 30_000, used)
    expect(demand.callsIn(AHEAD_MS)).toBeGreaterThan(0.95 * 4_500)
    expect(demand.callsIn(AHEAD_MS)).toBeLessThan(1.05 * 4_500)
  })

  it('follows a change of calls that do not pause within minutes', () => {
    const demand = new LeaseDemand(SLICE_TIMINGS, 0)
    const used = { calls: 0 }
    const ms = observe(demand, 1, 0, 600_000, used)
    observe(demand, 5, ms, 30_000, used)
    expect(demand.callsIn(1_000)).toBe(3)
    observe(demand, 5, ms + 30_000, 150_000, used)
    expect(demand.callsIn(1_000)).toBe(5)
  })
})
