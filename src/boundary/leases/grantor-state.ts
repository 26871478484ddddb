/** The state of the grantor as plain data, as Redis stores it: one generation, and one record for each counter. */

import type { LeaseBudget } from './lease-messages.ts'

export interface Generation {
  readonly epoch: number
  /** Process of the server that the generation belongs to. */
  readonly runId: string
  readonly startMs: number
  readonly isFirst: boolean
  /** Nodes that have not reported what they held when the generation began, with the time for which they were silent before. */
  readonly waiting: Record<string, number>
  /** Until when those of them that have ended may have admitted calls; the others may have until the generation began. */
  readonly ended: Record<string, number>
  /** Time at which the last of them did; 0 while one is missing. */
  readyMs: number
  /** Number of requests within whose bounds the clock was. */
  confirmations: number
  /** Clock at the latest request. */
  lastMs: number
  /** Time that has passed between requests; a long pause, or a step of the clock, is counted as a short one. */
  observedMs: number
  /** The latest request of each node. */
  readonly nodes: Record<string, NodeState>
}

export interface NodeState {
  readonly session: number
  readonly sequence: number
  /** `observedMs` at the request. */
  readonly heardMs: number
}

interface Declared {
  readonly epoch: number
  readonly version: number
  /** Clock at the latest request with this version. */
  readonly versionMs: number
}

export interface TotalState extends Declared {
  readonly value: number
  /** Calls that each node has used or may still admit in the window. */
  readonly claims: Record<string, number>
}

interface RateLease {
  held: number
  used: number
  readonly session: number
  readonly untilMs: number
}

export interface RateState extends Declared {
  readonly capacity: number
  readonly leak: number
  /** Units that have been spent and have not leaked, at `sinceMs`. */
  level: number
  sinceMs: number
  /** Units of one call in `level`. */
  step: number
  leases: Record<string, RateLease>
}

export interface ConcurrentState extends Declared {
  readonly value: number
  leases: Record<string, { held: number; readonly untilMs: number }>
}

export type CounterState = TotalState | RateState | ConcurrentState

export interface GrantorState {
  generation: Generation | null
  readonly counters: Map<string, CounterState>
}

export function createGrantorState(): GrantorState {
  return { generation: null, counters: new Map() }
}

/** Returns the place of a counter. A window has a place of its own, so that no request can begin it twice. */
export function placeOf(key: string, budget: LeaseBudget): string {
  return budget.kind === 'total' ? `total:${key} ${budget.startMs}` : `${budget.kind}:${key}`
}
