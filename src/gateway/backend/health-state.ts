/**
 * State machine of the circuit breaker of one backend, as a pure function.
 *
 *   healthy ⇄ degraded ──▶ unhealthy ──good probe, or cooled──▶ recovering ──3 good calls──▶ healthy
 *      └───────────────────────▲ └────────────one failure───────────┘
 *
 * It receives one event per window of calls and per probe, never one per call. Slow responses and a tenth of
 * failures degrade the backend, which still receives calls. Failures of half of the calls, or three failed probes
 * in a row, close it to calls.
 */

import type { UpstreamState } from '../../boundary/plan/upstream-state.ts'

/** Responses of one backend within the window, so far. */
export interface WindowEvent {
  readonly type: 'window'
  readonly ok: number
  readonly failed: number
  /** The mean response time of enough calls is too long. */
  readonly isSlow: boolean
}

export type HealthEvent =
  | WindowEvent
  | { readonly type: 'probe_ok' }
  | { readonly type: 'probe_failed' }
  /** The closed period of a backend without a health path is over. */
  | { readonly type: 'cooled' }

interface Open {
  readonly state: 'healthy' | 'degraded'
  /** Failed probes in a row. */
  readonly failedProbes: number
}

interface Unhealthy {
  readonly state: 'unhealthy'
  /** Recoveries that failed since the backend was healthy; each one lengthens the wait for the next. */
  readonly failedRecoveries: number
}

interface Recovering {
  readonly state: 'recovering'
  readonly failedRecoveries: number
  readonly goodCalls: number
}

export type HealthState = (Open | Unhealthy | Recovering) & { readonly state: UpstreamState }

export const HEALTHY: HealthState = { state: 'healthy', failedProbes: 0 }

/** Below this number, failures may be chance. */
const FAILED_MIN = 5
const GOOD_CALLS_MIN = 3
const FAILED_PROBES_MAX = 3

/** Returns the next state; `current` itself if the event changes nothing. */
export function next(current: HealthState, event: HealthEvent): HealthState {
  switch (current.state) {
    case 'healthy':
    case 'degraded':
      return nextOpen(current, event)
    case 'unhealthy':
      return nextUnhealthy(current, event)
    case 'recovering':
      return nextRecovering(current, event)
    default:
      return current satisfies never
  }
}

function nextOpen(current: Open, event: HealthEvent): HealthState {
  switch (event.type) {
    case 'window':
      return nextByWindow(current, event)
    case 'probe_ok':
      return current.failedProbes === 0 ? current : { ...current, failedProbes: 0 }
    case 'probe_failed': {
      const failedProbes = current.failedProbes + 1
      return failedProbes >= FAILED_PROBES_MAX
        ? { state: 'unhealthy', failedRecoveries: 0 }
        : { ...current, failedProbes }
    }
    case 'cooled':
      return current
    default:
      return event satisfies never
  }
}

/** Between a twentieth and a tenth of failures the state does not change, so that it does not alternate. */
function nextByWindow(current: Open, { ok, failed, isSlow }: WindowEvent): HealthState {
  const calls = ok + failed
  if (failed >= FAILED_MIN && failed >= ok) return { state: 'unhealthy', failedRecoveries: 0 }
  if (isSlow || (failed >= FAILED_MIN && failed * 10 >= calls)) return moveTo(current, 'degraded')
  return failed * 20 <= calls ? moveTo(current, 'healthy') : current
}

function moveTo(current: Open, state: Open['state']): Open {
  return current.state === state ? current : { ...current, state }
}

function nextUnhealthy(current: Unhealthy, event: HealthEvent): HealthState {
  switch (event.type) {
    case 'probe_ok':
    case 'cooled':
      return { state: 'recovering', failedRecoveries: current.failedRecoveries, goodCalls: 0 }
    case 'window':
    case 'probe_failed':
      return current
    default:
      return event satisfies never
  }
}

function nextRecovering(current: Recovering, event: HealthEvent): HealthState {
  switch (event.type) {
    case 'window':
      return event.failed > 0 ? failRecovery(current) : addGoodCalls(current, event.ok)
    case 'probe_ok':
      return addGoodCalls(current, 1)
    case 'probe_failed':
      return failRecovery(current)
    case 'cooled':
      return current
    default:
      return event satisfies never
  }
}

function addGoodCalls(current: Recovering, count: number): HealthState {
  const goodCalls = current.goodCalls + count
  return goodCalls >= GOOD_CALLS_MIN ? HEALTHY : { ...current, goodCalls }
}

function failRecovery({ failedRecoveries }: Recovering): HealthState {
  return { state: 'unhealthy', failedRecoveries: failedRecoveries + 1 }
}
