/**
 * The attempts of a call at the targets of its backend, one at a time.
 *
 * A call moves on to another target if the one before failed and has received nothing of the request, or if the request may be
 * repeated: its method is idempotent, its body is in memory, and no response has begun. It leaves its connection and deadline to
 * the failed target, and takes both anew at the next one. Each failure counts for its own target.
 *
 * With no other target, a request that may be repeated is sent once more if the connection was reset, which happens if the backend
 * has closed a kept-alive connection.
 */

import type { Backend } from '../backend/backend.ts'
import type { SlotUser } from '../backend/backend-slots.ts'
import type { Exchange } from '../connection/exchange.ts'
import type { ForwardOptions } from './forward-options.ts'
import { QueuedUser } from './queued-user.ts'
import type { RequestBody } from './request-body.ts'

const IDEMPOTENT: ReadonlySet<string> = new Set(['GET', 'HEAD', 'OPTIONS', 'PUT', 'DELETE', 'TRACE'])
/** Further targets of one call. */
const OTHER_TARGETS_MAX = 2

export abstract class Attempt extends QueuedUser implements SlotUser {
  protected readonly options: ForwardOptions
  /** The target of this attempt. */
  protected backend: Backend
  protected exchange: Exchange | null = null
  protected body: Buffer | RequestBody | null = null
  protected startedAt = 0
  protected isGranted = false
  protected hasResponseBegun = false
  /** Targets that have failed; null if none has. */
  #failed: Backend[] | null = null
  #isRepeated = false

  constructor(options: ForwardOptions) {
    super()
    this.options = options
    this.backend = options.backend
  }

  abstract readonly bytesMoved: number
  abstract onGranted(): void
  abstract onDenied(): void
  abstract onEvicted(): void
  abstract onDue(): void
  /** Sends the request to the target. */
  protected abstract dispatch(): void

  /** Stops the deadline of the target. */
  stop(): void {
    this.backend.deadlines.leave(this)
  }

  protected enterTarget(): void {
    this.backend.beginCall()
    this.backend.slots.acquire(this, this.options.holder, performance.now())
  }

  protected leaveTarget(): void {
    const { backend } = this
    if (this.isGranted) this.stop()
    backend.slots.release(this, this.options.holder)
    backend.endCall()
  }

  /** Sends the request again after a failure of the target. Returns false if that is not safe, or there is nowhere to send it. */
  protected retry(isReset: boolean): boolean {
    if (this.hasResponseBegun) return false
    const { options, body, exchange } = this
    const mayRepeat = IDEMPOTENT.has(options.method) && (body === null || Buffer.isBuffer(body))
    if (options.balancer.only === null) {
      const isUnsent = exchange !== null && !exchange.isSent
      if ((isUnsent || (mayRepeat && options.upgrade === null)) && this.#moveOn()) return true
    }
    if (!isReset || !mayRepeat || this.#isRepeated) return false
    this.#isRepeated = true
    this.dispatch()
    return true
  }

  /** Returns false if no other target may get the call. */
  #moveOn(): boolean {
    const { balancer, holder, nowMs, count } = this.options
    const failed = (this.#failed ??= [])
    if (!failed.includes(this.backend)) failed.push(this.backend)
    if (failed.length > OTHER_TARGETS_MAX) return false
    const next = balancer.chooseOther(failed, holder, nowMs)
    if (next === null || next.gate.waitMs(nowMs) > 0) return false
    count('backend_retried')
    this.backend.gate.failed(this.startedAt)
    // First, because the next call may get the slot at once, and would open one more connection.
    this.exchange?.abort()
    this.exchange = null
    this.leaveTarget()
    this.isGranted = false
    this.backend = next
    this.enterTarget()
    return true
  }
}
