/** The dependencies of the pool of gateway threads, and its interface. */

import type { Damage } from '../../storage/spool/damage.ts'
import type { Drift } from '../../foundation/domain/drift.ts'
import type { GatewayPort } from '../../boundary/plan/gateway-port.ts'
import type { CountEvent } from '../../foundation/runtime/event-reasons.ts'
import type { Clock } from '../../foundation/runtime/clock.ts'
import type { Log } from '../../foundation/runtime/log.ts'
import type { GatePlan, UpstreamReport } from '../backend/upstream-gate.ts'
import type { TlsPlan } from '../../foundation/tls/tls-plan.ts'
import type { JsonWebKeySet, Requests, ThreadSettings } from '../messages/messages.ts'

/** Handlers on the main thread for the requests of gateway threads. */
export type RequestHandlers = {
  readonly [Name in keyof Requests]: (parameters: Requests[Name]['parameters']) => Promise<Requests[Name]['response']>
}

export interface GatewayPoolOptions {
  /** The module that each thread runs. */
  readonly entry: URL
  readonly threads: number
  readonly settings: Omit<ThreadSettings, 'thread' | 'threads' | 'spoolGrownFlag' | 'inFlight'>
  /** Port to listen on; 0 selects a free one. */
  readonly port: number
  readonly handlers: RequestHandlers
  readonly clock: Clock
  readonly log: Log
  readonly onSpoolGrowth: () => void
  readonly onCount: CountEvent
  /** Called at most once a second per kind of drift and thread. */
  readonly onDrift: (drift: Drift) => void
  /** Credentials that were used in a minute, in minutes since 1970. */
  readonly onUsed: (credentials: readonly string[], minute: number) => void
  readonly onUpstream: (reports: readonly UpstreamReport[]) => void
  readonly onDamage: (damage: Damage) => void
  /** Called when a thread cannot compile a stored revision, and refuses the calls of its API. */
  readonly onWithheld: (api: string, cause: unknown) => void
  /** Called when a thread has ended unexpectedly, to release its share of the shared counters. */
  readonly onThreadGone: (thread: number) => void
}

export interface GatewayPool extends Omit<GatewayPort, 'renumber'> {
  /** Begins to start the threads, which takes a second, while other parts of the service are opened. */
  load(): void
  /** Starts the threads; resolves with the port when all of them listen. */
  start(): Promise<number>
  setKeys(jwks: JsonWebKeySet): Promise<void>
  /** Presents these certificates to new connections. */
  setCertificates(tls: TlsPlan): Promise<void>
  releaseBlocks(api: string): Promise<void>
  setGate(api: string, key: string, gate: GatePlan): Promise<void>
  /** The threads as they are now. A thread that has ended is starting again. */
  threads(): readonly { readonly thread: number; readonly isReady: boolean; readonly callsInFlight: number }[]
  /** Ends each connection with its next response; new connections are still served. */
  leave(): Promise<void>
  /** Refuses new connections, drains the open calls up to a time limit, then ends the threads. */
  stop(): Promise<void>
}
