/**
 * Connections of one gateway thread to one backend, and the calls that use them.
 *
 * `slots` shares the connections fairly and bounds the wait for one: with a long queue, a slow backend would make the
 * gateway slow. undici's own timers are off, because `deadlines` is cheaper and runs only while a call waits for the
 * backend.
 */

import { Pool } from 'undici'
import type { BackendPlan } from '../../plan/route-plan.ts'
import type { BackendConnect } from './backend-connect.ts'
import { BackendSlots } from './backend-slots.ts'
import { DeadlineQueue } from '../../runtime/deadline-queue.ts'
import { UpstreamGate } from './upstream-gate.ts'
import { registerHeaderNames } from './upstream-names.ts'
import { correctParser } from './upstream-parser.ts'

/** One subscription uses half of them at most. */
const CONNECTIONS_PER_THREAD = 256
const WAIT_MS = 1_000
const CONNECT_TIMEOUT_MS = 5_000
const KEEP_ALIVE_MS = 30_000
const HEADER_BYTES_MAX = 32_768

registerHeaderNames()

export interface BackendSettings {
  /** Number of threads that share the connections of a plan. */
  readonly threads: number
  readonly connect: BackendConnect
}

export class Backend {
  readonly plan: BackendPlan
  readonly slots: BackendSlots
  readonly deadlines: DeadlineQueue
  /** Gate of the API, shared by all its revisions with the same backend. */
  gate = new UpstreamGate()
  readonly #open: () => Pool
  #pool: Pool | null = null
  #calls = 0
  /** The revision was replaced, so the pool closes when no call uses it. */
  #isClosing = false

  constructor(plan: BackendPlan, { threads, connect }: BackendSettings) {
    const connections =
      plan.connections === undefined ? CONNECTIONS_PER_THREAD : Math.max(1, Math.floor(plan.connections / threads))
    this.plan = plan
    this.slots = new BackendSlots({ connections, waitMs: plan.waitMs ?? WAIT_MS })
    this.deadlines = new DeadlineQueue(plan.timeoutMs)
    this.#open = () => openPool(plan, connections, connect)
  }

  /** Opens the pool if needed, also for a call whose body arrived after its revision was replaced. */
  get pool(): Pool {
    return (this.#pool ??= this.#open())
  }

  beginCall(): void {
    this.#calls++
  }

  endCall(): void {
    this.#calls--
    if (this.#isClosing && this.#calls === 0) this.#closePool()
  }

  close(): void {
    this.#isClosing = true
    if (this.#calls === 0) this.#closePool()
  }

  #closePool(): void {
    void this.#pool?.close()
    this.#pool = null
  }
}

function openPool(plan: BackendPlan, connections: number, connect: BackendConnect): Pool {
  const pool = new Pool(plan.origin, {
    connections,
    pipelining: 1,
    headersTimeout: 0,
    bodyTimeout: 0,
    connect: connect(plan, { timeout: CONNECT_TIMEOUT_MS }),
    keepAliveTimeout: KEEP_ALIVE_MS,
    maxHeaderSize: HEADER_BYTES_MAX,
  })
  correctParser(pool)
  return pool
}
