/**
 * The connections of one gateway thread to one backend.
 *
 * Bounded both ways: so many connections, so many calls that wait for one; more are refused at once,
 * since a queue before a slow backend only turns its slowness into ours. undici's own timers are off:
 * `deadlines` and `stalls` are cheaper and say which of the two ran out.
 */

import { Pool } from 'undici'
import type { BackendPlan } from '../plans/route-plan.ts'
import type { BackendConnect } from './backend-connect.ts'
import { DeadlineQueue } from './deadline-queue.ts'
import { UpstreamGate } from './upstream-gate.ts'

const CONNECTIONS_MAX = 256
const CALLS_MAX = 4_096
const CONNECT_TIMEOUT_MS = 5_000
const KEEP_ALIVE_MS = 30_000
const HEADER_BYTES_MAX = 32_768
/** How long a client may take nothing of an answer that waits for it. */
const STALL_MS = 60_000

export class Backend {
  readonly plan: BackendPlan
  readonly pool: Pool
  readonly deadlines: DeadlineQueue
  readonly stalls = new DeadlineQueue(STALL_MS)
  /** That of the API; every revision of one backend shares it. */
  gate = new UpstreamGate()
  calls = 0
  /** Closed for new calls; the pool closes when the last one ends. */
  #isClosing = false

  constructor(plan: BackendPlan, connect: BackendConnect) {
    this.plan = plan
    this.deadlines = new DeadlineQueue(plan.timeoutMs)
    this.pool = new Pool(plan.origin, {
      connections: CONNECTIONS_MAX,
      pipelining: 1,
      headersTimeout: 0,
      bodyTimeout: 0,
      connect: connect(plan, { timeout: CONNECT_TIMEOUT_MS }),
      keepAliveTimeout: KEEP_ALIVE_MS,
      maxHeaderSize: HEADER_BYTES_MAX,
    })
  }

  get isBusy(): boolean {
    return this.calls >= CALLS_MAX
  }

  callEnded(): void {
    this.calls--
    if (this.#isClosing && this.calls === 0) void this.pool.close()
  }

  close(): void {
    if (this.#isClosing) return
    this.#isClosing = true
    if (this.calls === 0) void this.pool.close()
  }
}
