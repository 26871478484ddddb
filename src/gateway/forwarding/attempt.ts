/**
 * The attempts of a call at the targets of its backend, one at a time.
 *
 * A call moves on to another target if the one before failed and has received nothing of the request, or if the request may be
 * repeated: its method is idempotent, its body is in memory, and no response has begun. It leaves its connection and deadline to
 * the failed target, and takes both anew at the next one. Each failure counts for its own target.
 *
 * If no other target is open to the call, a request that may be repeated is sent once more to the first one if the connection was
 * reset, which happens if the backend has closed a kept-alive connection. It has closed the others as well, so that a request of which
 * something was sent goes over a new connection from then on.
 *
 * Requests that are sent again are bounded together (`retry-budget.ts`). A call that finds the budget spent fails at once.
 *
 * A target that is late has cost the caller the whole time limit, and may be at work: one further target gets such a call.
 */

import type { Backend } from '../backend/backend.ts'
import type { SlotUser } from '../backend/backend-slots.ts'
import type { Exchange } from '../connection/exchange.ts'
import type { ForwardOptions } from './forward-options.ts'
import { isIdempotent } from './idempotent.ts'
import { QueuedUser } from './queued-user.ts'
import type { RequestBody } from './request-body.ts'

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

  /** Whether something of the request was sent before. */
  protected get isRepetition(): boolean {
    return this.#wasSent
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
    const isSafe = isIdempotent(options.method, options.upgrade !== null)
    const mayRepeat = isSafe && (body === null || Buffer.isBuffer(body))
    const isTooLate = how === 'late' && this.#wasSent && this.#failed !== null
    const mayMoveOn = options.balancer.only === null && (mayRepeat || !this.#wasSent) && !isTooLate
    const next = mayMoveOn ? this.#nextTarget(isSafe) : null
    const hasMovedOn = this.#failed !== null && this.#failed.length > 1
    if (next === null && (how !== 'reset' || !mayRepeat || this.#isRepeated || hasMovedOn)) return false
    if (!this.#isWithinBudget()) return false
    if (next === null) this.#repeat()
    else this.#moveTo(next)
    return true
  }

  /** Returns another target that may get the call; null if there is none. */
  #nextTarget(isSafe: boolean): Backend | null {
    const { balancer, holder, nowMs } = this.options
    const failed = (this.#failed ??= [])
    if (!failed.includes(this.backend)) failed.push(this.backend)
    return failed.length > OTHER_TARGETS_MAX ? null : balancer.chooseOther(failed, holder, isSafe, nowMs)
  }

  /** A request of which nothing was sent is not sent again. With one target there is no other one to protect. */
  #isWithinBudget(): boolean {
    const { nowMs, count, balancer } = this.options
    const { retries } = balancer
    if (!this.#wasSent || retries === null || retries.withdraw(nowMs())) return true
    count('backend_retry_refused')
    return false
  }

  /** Sends the request to the same target again. */
  #repeat(): void {
    this.#isRepeated = true
    this.sentAt = performance.now()
    this.dispatch()
  }

  #moveTo(next: Backend): void {
    // Uses up the trial of a target that recovers.
    next.gate.waitMs(this.options.nowMs)
    this.options.count('backend_retried')
    this.backend.gate.failed(this.startedAt)
    // First, because the next call may get the slot at once, and would open one more connection.
    this.exchange?.abort()
    this.exchange = null
    this.leaveTarget()
    this.isGranted = false
    this.backend = next
    this.enterTarget()
  }
}
