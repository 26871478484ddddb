/** What the gateway threads need of the main thread, and what the main thread can do with them. */

import type { Damage } from '../../record/damage.ts'
import type { Drift } from '../../domain/drift.ts'
import type { GatewayPort } from '../../plan/gateway-port.ts'
import type { CountEvent } from '../../runtime/event-reasons.ts'
import type { Clock } from '../../runtime/clock.ts'
import type { Log } from '../../runtime/log.ts'
import type { GatePlan, UpstreamReport } from '../backend/upstream-gate.ts'
import type { JsonWebKeySet, Requests, ThreadSettings } from '../messages/messages.ts'

export type Answers = { [Name in keyof Requests]: (ask: Requests[Name]['ask']) => Promise<Requests[Name]['answer']> }

export interface FleetOptions {
  /** The module that a thread runs. */
  readonly entry: URL
  readonly threads: number
  readonly settings: Omit<ThreadSettings, 'thread' | 'threads' | 'grown' | 'inFlight'>
  readonly port: number
  readonly answers: Answers
  readonly clock: Clock
  readonly log: Log
  readonly onGrowth: () => void
  readonly onCount: CountEvent
  /** At most one a second of each kind and thread. */
  readonly onDrift: (drift: Drift) => void
  readonly onUpstream: (reports: readonly UpstreamReport[]) => void
  readonly onDamage: (damage: Damage) => void
  /** A thread has died: its share of what is shared must be given back. */
  readonly onThreadGone: (thread: number) => void
}

export interface Fleet extends GatewayPort {
  /** Starts the threads; resolves with the port when all listen. */
  start(): Promise<number>
  setKeys(jwks: JsonWebKeySet): Promise<void>
  releaseBlocks(api: string): Promise<void>
  setGate(api: string, gate: GatePlan): Promise<void>
  /** No new connections; calls in flight finish; threads end. */
  stop(): Promise<void>
}
