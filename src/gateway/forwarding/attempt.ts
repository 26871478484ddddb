/**
 * The attempts of a call at the targets of its backend, one at a time.
 *
 * A call moves on to another target if the one before failed and has received nothing of the request, or if the request may be
 * repeated: its method is idempotent, its body is in memory, and no response has begun. It leaves its connection and deadline to
 * the failed target, and takes both anew at the next one. Each failure counts for its own target.
 *
 * If no other target is open to the call, a request that may be repeated is sent once more to the first one if the connection was
 * reset, which happens if the backend has closed a kept-alive connection.
 *
 * A target that is late has cost the caller the whole time limit, and may be at work: one further target gets such a call.
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
  /** When the request was sent completely; the response time of the target begins here. */
  protected sentAt = 0
  protected isGranted = false
  protected hasResponseBegun = false
  /** Targets that have failed; null if none has. */
  #failed: Backend[] | null = null
  #isRepeated = false
  /** Whether a target may have received a part of the request. */
  #wasSent = false

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
  protected retry(how: 'reset' | 'late' | 'other'): boolean {
    if (this.hasResponseBegun) return false
    const { options, body, exchange } = this
    if (exchange === null) return false
    this.#wasSent ||= exchange.isSent
    const isIdempotent = options.upgrade === null && IDEMPOTENT.has(options.method)
    const mayRepeat = isIdempotent && (body === null || Buffer.isBuffer(body))
    const isTooLate = how === 'late' && this.#wasSent && this.#failed !== null
    const mayMoveOn = options.balancer.only === null && (mayRepeat || !this.#wasSent) && !isTooLate
    if (mayMoveOn && this.#moveOn()) return true
    const hasMovedOn = this.#failed !== null && this.#failed.length > 1
    if (how !== 'reset' || !mayRepeat || this.#isRepeated || hasMovedOn) return false
    this.#isRepeated = true
    this.sentAt = performance.now()
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
