import { describe, expect, it } from 'vitest'
import { next, type HealthEvent, type HealthState } from '../../../../src/gateway/backend/health-state.ts'

const healthy = (failedProbes = 0): HealthState => ({ state: 'healthy', failedProbes })
const degraded = (failedProbes = 0): HealthState => ({ state: 'degraded', failedProbes })
const unhealthy = (failedRecoveries = 0): HealthState => ({ state: 'unhealthy', failedRecoveries })
const recovering = (goodCalls = 0, failedRecoveries = 0): HealthState => ({
  state: 'recovering',
  failedRecoveries,
  goodCalls,
})

const window = (ok: number, failed: number, isSlow = false): HealthEvent => ({ type: 'window', ok, failed, isSlow })
const probeOk: HealthEvent = { type: 'probe_ok' }
const probeFailed: HealthEvent = { type: 'probe_failed' }
const cooled: HealthEvent = { type: 'cooled' }

/** State, event, next state; a state without an entry for an event ignores it. */
const TRANSITIONS: readonly (readonly [HealthState, HealthEvent, HealthState])[] = [
  [healthy(), window(0, 0), healthy()],
  [healthy(), window(1_000, 0), healthy()],
  [healthy(), window(0, 4), healthy()],
  [healthy(), window(46, 5), healthy()],
  [healthy(), window(45, 5), degraded()],
  [healthy(), window(6, 5), degraded()],
  [healthy(), window(5, 5), unhealthy()],
  [healthy(), window(0, 5), unhealthy()],
  [healthy(), window(20, 0, true), degraded()],
  [healthy(), window(5, 5, true), unhealthy()],
  [healthy(2), window(45, 5), degraded(2)],
  [healthy(2), window(0, 5), unhealthy()],
  [healthy(), probeOk, healthy()],
  [healthy(2), probeOk, healthy()],
  [healthy(), probeFailed, healthy(1)],
  [healthy(1), probeFailed, healthy(2)],
  [healthy(2), probeFailed, unhealthy()],
  [healthy(1), cooled, healthy(1)],

  [degraded(), window(0, 0), healthy()],
  [degraded(), window(95, 5), healthy()],
  [degraded(2), window(20, 0), healthy(2)],
  [degraded(1), window(94, 5), degraded(1)],
  [degraded(), window(0, 4), degraded()],
  [degraded(1), window(45, 5), degraded(1)],
  [degraded(), window(20, 0, true), degraded()],
  [degraded(2), window(5, 5), unhealthy()],
  [degraded(), probeOk, degraded()],
  [degraded(2), probeOk, degraded()],
  [degraded(), probeFailed, degraded(1)],
  [degraded(1), probeFailed, degraded(2)],
  [degraded(2), probeFailed, unhealthy()],
  [degraded(1), cooled, degraded(1)],

  [unhealthy(2), window(1_000, 0), unhealthy(2)],
  [unhealthy(2), window(0, 1_000), unhealthy(2)],
  [unhealthy(2), probeFailed, unhealthy(2)],
  [unhealthy(2), probeOk, recovering(0, 2)],
  [unhealthy(2), cooled, recovering(0, 2)],

  [recovering(1, 2), window(0, 0), recovering(1, 2)],
  [recovering(0, 2), window(2, 0), recovering(2, 2)],
  [recovering(0, 2), window(2, 0, true), recovering(2, 2)],
  [recovering(0, 2), window(3, 0), healthy()],
  [recovering(2, 2), window(1, 0), healthy()],
  [recovering(2, 2), window(1_000, 1), unhealthy(3)],
  [recovering(0, 2), window(0, 1), unhealthy(3)],
  [recovering(0, 2), probeOk, recovering(1, 2)],
  [recovering(2, 2), probeOk, healthy()],
  [recovering(2, 2), probeFailed, unhealthy(3)],
  [recovering(1, 2), cooled, recovering(1, 2)],
]

describe('the health state of a backend', () => {
  it.each(TRANSITIONS)('moves from %o by %o to %o', (state, event, expected) => {
    expect(next(state, event)).toEqual(expected)
  })

  it('has at least one listed transition for each state and type of event', () => {
    const listed = new Set(TRANSITIONS.map(([{ state }, { type }]) => `${state} ${type}`))
    const states = ['healthy', 'degraded', 'unhealthy', 'recovering']
    const types = ['window', 'probe_ok', 'probe_failed', 'cooled']
    expect(listed).toEqual(new Set(states.flatMap((state) => types.map((type) => `${state} ${type}`))))
  })

  it.each(TRANSITIONS.filter(([{ state }]) => state !== 'recovering'))(
    'is the same object if %o does not change by %o',
    (state, event, expected) => {
      const isChange = JSON.stringify(state) !== JSON.stringify(expected)
      expect(next(state, event) !== state).toBe(isChange)
    },
  )
})
