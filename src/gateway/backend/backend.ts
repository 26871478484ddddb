/**
 * Connections of one gateway thread to one target of a backend, and the calls that use them.
 *
 * `slots` shares the connections fairly and bounds the wait for one: with a long queue, a slow backend would make the
 * gateway slow. `deadlines` runs only while a call waits for the backend.
 */

import type { BackendPlan } from '../../boundary/plan/route-plan.ts'
import type { BackendConnect } from './backend-connect.ts'
import { BackendSlots } from './backend-slots.ts'
import { DeadlineQueue } from '../../foundation/runtime/deadline-queue.ts'
import { toTlsOptions } from './tls-identity.ts'
import { UpstreamGate } from './upstream-gate.ts'
import { openConnections } from '../connection/backend-connections.ts'
import type { BackendConnections } from '../connection/exchange.ts'

/** One subscription uses half of them at most. */
const CONNECTIONS_PER_THREAD = 256
const WAIT_MS = 1_000
const CONNECT_TIMEOUT_MS = 5_000

export interface BackendSettings {
  /** Number of threads that share the connections of a plan. */
  readonly threads: number
  readonly connect: BackendConnect
}

export class Backend {
  readonly plan: BackendPlan
  readonly slots: BackendSlots
  readonly deadlines: DeadlineQueue
  /** Gate to the target, shared by all revisions of the API with this target. */
  gate = new UpstreamGate()
  readonly #open: () => BackendConnections
  #connections: BackendConnections | null = null
  #calls = 0
  /** The revision was replaced, so the connections close when no call uses them. */
  #isClosing = false

  constructor(plan: BackendPlan, { threads, connect }: BackendSettings) {
    const connections =
      plan.connections === undefined ? CONNECTIONS_PER_THREAD : Math.max(1, Math.floor(plan.connections / threads))
    this.plan = plan
    this.slots = new BackendSlots({ connections, waitMs: plan.waitMs ?? WAIT_MS })
    this.deadlines = new DeadlineQueue(plan.timeoutMs)
    const tls = toTlsOptions(plan.tls)
    this.#open = () =>
      openConnections({
        origin: plan.origin,
        connections,
        connect: connect(plan, { timeout: CONNECT_TIMEOUT_MS, allowH2: false, ...tls }),
      })
  }

  /** Created if needed, also for a call whose body arrived after its revision was replaced. */
  get connections(): BackendConnections {
    return (this.#connections ??= this.#open())
  }

  /** Including those that wait for a connection. */
  get callsInFlight(): number {
    return this.#calls
  }

  beginCall(): void {
    this.#calls++
  }

  endCall(): void {
    this.#calls--
    if (this.#isClosing && this.#calls === 0) this.#closeConnections()
  }

  close(): void {
    this.#isClosing = true
    if (this.#calls === 0) this.#closeConnections()
  }

  #closeConnections(): void {
    this.#connections?.close()
    this.#connections = null
  }
}
