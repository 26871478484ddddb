import { describe, expect, it } from 'vitest'
import { UpstreamGate } from '../../../../src/gateway/backend/upstream-gate.ts'

describe('the gate of a thread', () => {
  it('passes all calls, none until a time, or one per second', () => {
    const gate = new UpstreamGate()
    expect(gate.waitMs(() => 1_000)).toBe(0)
    gate.set({ mode: 'shut', retryAtMs: 5_000 })
    expect([gate.waitMs(() => 1_000), gate.waitMs(() => 4_999), gate.waitMs(() => 9_000)]).toEqual([4_000, 1, 1])
    gate.set({ mode: 'trial', retryAtMs: 0 })
    expect([9_000, 9_001, 9_999, 10_000, 10_001].map((nowMs) => gate.waitMs(() => nowMs))).toEqual([0, 999, 1, 0, 999])
  })

  it('passes a call as a trial, and spares none any more, after the clock was set back', () => {
    const gate = new UpstreamGate()
    gate.set({ mode: 'trial', retryAtMs: 0 })
    expect([9_000_000, 9_000_500, 5_400_000].map((nowMs) => gate.waitMs(() => nowMs))).toEqual([0, 500, 0])
    expect(gate.remainingMs(() => 1_800_000)).toBe(0)
    gate.set({ mode: 'trial', retryAtMs: 0 })
    expect([9_000_000, 5_400_000].map((nowMs) => gate.sparesUnsafe(() => nowMs))).toEqual([true, false])
  })

  it('reports results once, and none of calls that began before it was set', () => {
    const gate = new UpstreamGate()
    const now = performance.now()
    gate.answered(200, 700, now)
    gate.answered(404, 300, now)
    gate.answered(500, 100, now)
    gate.answered(503, 100, now)
    gate.failed(now)
    expect(gate.hasFailed).toBe(true)
    expect(gate.takeReport('a-v1')).toEqual({ key: 'a-v1', ok: 3, failed: 2, latencyUs: 1_100 })
    expect(gate.takeReport('a-v1')).toBeNull()
    gate.set({ mode: 'trial', retryAtMs: 0 })
    gate.failed(now)
    gate.answered(200, 1, now)

    expect(gate.takeReport('a-v1')).toBeNull()
  })
})
