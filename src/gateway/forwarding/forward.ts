/**
 * Forwards one call to its backend.
 *
 * The call first gets a connection (`backend-slots.ts`). Then always exactly one side is waited for, and
 * its clock runs: the client while it sends its body (`upload-watch.ts`) or has bytes to read
 * (`reader-watch.ts`), else the backend (`deadlines`). Only what the backend did counts for its health.
 *
 * Until the head of the response has been sent (`response-relay.ts`), whatever goes wrong is a problem
 * document; afterwards the connection to the client is broken off.
 *
 * A call is sent a second time only if its method is idempotent, its body is still at hand and the
 * connection was reset before the response began: a kept-alive connection that the backend had closed.
 */

import type { Dispatcher } from 'undici'
import type { IncomingHttpHeaders } from 'undici/types/header.js'
import { FLAG_FORWARDED } from '../../record/call-record.ts'
import type { Backend } from '../backend/backend.ts'
import type { SlotUser } from '../backend/backend-slots.ts'
import type { Call, CallOwner } from '../call/call.ts'
import type { Timed } from '../../runtime/deadline-queue.ts'
import { RequestBody } from './request-body.ts'
import { ResponseRelay, type RelayOptions, type UpstreamDeadline } from './response-relay.ts'
import type { UploadWatch } from '../connection/upload-watch.ts'
import { toOutcome, RESET, UPSTREAM_DETAILS, type UpstreamFailure } from '../backend/upstream-failure.ts'

type Controller = Dispatcher.DispatchController

export interface ForwardOptions extends RelayOptions {
  readonly backend: Backend
  /** Which share of the backend's connections the call uses: that of its subscription, or of the public calls. */
  readonly holder: string
  readonly uploads: UploadWatch
  readonly path: string
  readonly headers: string[]
  /** Bytes in memory, or the request itself to be streamed, or nothing. */
  readonly body: Buffer | Call['request'] | null
}

const IDEMPOTENT: ReadonlySet<string> = new Set(['GET', 'HEAD', 'OPTIONS', 'PUT', 'DELETE', 'TRACE'])

export class Forwarding implements CallOwner, SlotUser, UpstreamDeadline, Dispatcher.DispatchHandler {
  readonly #call: Call
  readonly #options: ForwardOptions
  readonly #relay: ResponseRelay
  #controller: Controller | null = null
  #body: Buffer | RequestBody | null = null
  #startedAt = 0
  /** When the request had been sent whole: from then on the backend is measured. */
  #sentAt = 0
  #isGranted = false
  /** The backend has taken what has arrived of the body, and more is to come: the client is waited for. */
  #isClientsTurn = false
  #isAnswered = false
  #isRetried = false
  #isSettled = false

  previous: Timed | null = null
  next: Timed | null = null
  dueAt = 0
  slotAt = 0
  slotNext: SlotUser | null = null
  slotPrevious: SlotUser | null = null
  isSlotHeld = false

  constructor(call: Call, options: ForwardOptions) {
    this.#call = call
    this.#options = options
    this.#relay = new ResponseRelay(call, options, this)
  }

  start(): void {
    const { backend, holder } = this.#options
    this.#call.owner = this
    backend.callBegan()
    backend.slots.acquire(this, holder, performance.now())
  }

  get bytesMoved(): number {
    return this.#relay.bytesReceived + (this.#body instanceof RequestBody ? this.#body.bytes : 0)
  }

  granted(): void {
    this.#isGranted = true
    this.#call.flags |= FLAG_FORWARDED
    this.#startedAt = this.#sentAt = this.slotAt
    try {
      const { backend, body } = this.#options
      backend.deadlines.enter(this, this.#startedAt)
      this.#body = body === null || Buffer.isBuffer(body) ? body : this.#stream(body)
      this.#dispatch()
    } catch (cause) {
      this.#call.crash(cause)
    }
  }

  denied(): void {
    this.#refuse('No connection to the backend of this API became free in time.')
  }

  evicted(): void {
    if (this.#relay.isPaused) this.#call.attempt(() => this.#call.onReaderTooSlow())
    else this.#refuse('The gateway ended this call to free its connection to the backend for other callers.')
  }

  restart(): void {
    const { deadlines } = this.#options.backend
    deadlines.leave(this)
    if (!this.#isClientsTurn) deadlines.enter(this, performance.now())
  }

  stop(): void {
    this.#options.backend.deadlines.leave(this)
  }

  onRequestStart(controller: Controller): void {
    this.#controller = controller
    if (this.#isSettled) controller.abort(new Error('the call is over'))
  }

  onResponseStart(controller: Controller, status: number, headers: IncomingHttpHeaders): void {
    if (status < 200 || this.#isSettled) return
    try {
      this.#onHead(controller, status, headers)
    } catch (cause) {
      this.#call.crash(cause)
    }
  }

  onResponseData(controller: Controller, chunk: Buffer): void {
    if (this.#isSettled) return
    try {
      this.#relay.chunk(controller, chunk)
    } catch (cause) {
      this.#call.crash(cause)
    }
  }

  onResponseEnd(): void {
    if (this.#isSettled) return
    try {
      this.#onEnd()
    } catch (cause) {
      this.#call.crash(cause)
    }
  }

  onResponseError(_controller: Controller, error: Error): void {
    if (this.#isSettled) return
    try {
      this.#onError(error)
    } catch (cause) {
      this.#call.crash(cause)
    }
  }

  onDue(): void {
    this.#call.attempt(() => {
      const { backend, holder } = this.#options
      if (this.#isGranted) this.#fail('upstream_timeout')
      else backend.slots.patienceOver(this, holder, performance.now())
    })
  }

  abandon(): void {
    if (this.#isSettled) return
    this.#settle()
    const controller = this.#controller
    if (controller !== null && !controller.aborted) controller.abort(new Error('the call is over'))
  }

  #dispatch(): void {
    const { backend, path, headers } = this.#options
    const method = this.#call.request.method as Dispatcher.HttpMethod
    backend.pool.dispatch({ path, method, headers, body: this.#body }, this)
  }

  /** The backend's clock runs while it connects and while it does not take what the client has sent. */
  #stream(request: Call['request']): RequestBody {
    const call = this.#call
    return new RequestBody({
      request,
      upload: this.#options.uploads.create(() => call.attempt(() => this.#clientTooSlow())),
      onWanted: () => {
        this.#beginClientsTurn()
        call.continueBody()
      },
      onBackendsTurn: () => this.#endClientsTurn(),
      onClientsTurn: () => this.#beginClientsTurn(),
      onSent: () => {
        this.#sentAt = performance.now()
        this.#endClientsTurn()
      },
    })
  }

  /** Even if the backend has begun to answer: it may need the rest of the body to go on. */
  #beginClientsTurn(): void {
    if (this.#isSettled) return
    this.#isClientsTurn = true
    this.stop()
  }

  #endClientsTurn(): void {
    this.#isClientsTurn = false
    if (!this.#isSettled && !this.#relay.isPaused) this.restart()
  }

  #onHead(controller: Controller, status: number, headers: IncomingHttpHeaders): void {
    const call = this.#call
    // While a body streams the deadline may be off.
    if (this.#body instanceof RequestBody) this.restart()
    if (!this.#relay.head(controller, status, headers)) return this.#fail('upstream_broken')
    this.#isAnswered = true
    // An answer that comes before the body is whole was not waited for.
    if (this.#isClientsTurn) return
    call.upstreamUs = Math.min(0xffff_ffff, Math.round((performance.now() - this.#sentAt) * 1_000))
  }

  #onEnd(): void {
    if (this.#relay.isCutShort) return this.#fail('upstream_broken')
    const { status, upstreamUs } = this.#call
    this.#settle()
    this.#options.backend.gate.answered(status, upstreamUs, this.#startedAt)
    this.#relay.end()
  }

  #onError(error: Error): void {
    const code = (error as NodeJS.ErrnoException).code ?? ''
    if (this.#maySendAgain(code)) {
      this.#isRetried = true
      return this.#dispatch()
    }
    const outcome = toOutcome(code)
    if (outcome === 'internal') this.#call.crash(error)
    else if (outcome === 'backend_busy')
      this.#refuse('The gateway cannot open another connection to the backend at the moment.')
    else this.#fail(outcome)
  }

  #maySendAgain(code: string): boolean {
    if (this.#isRetried || this.#isAnswered || !RESET.has(code)) return false
    return !(this.#body instanceof RequestBody) && IDEMPOTENT.has(this.#call.request.method ?? '')
  }

  /** The backend has failed. */
  #fail(outcome: UpstreamFailure): void {
    this.abandon()
    this.#options.backend.gate.failed(this.#startedAt)
    const call = this.#call
    if (this.#relay.isHeadSent) return call.breakOff(outcome)
    call.refuse(outcome, UPSTREAM_DETAILS[outcome])
  }

  /** The gateway has no connection for this call, or needs the one it has. */
  #refuse(detail: string): void {
    const call = this.#call
    call.attempt(() => {
      this.abandon()
      if (this.#relay.isHeadSent) return call.breakOff('backend_busy')
      call.refuse('unavailable', detail, {
        headers: ['Retry-After', '1'],
        recordedAs: 'backend_busy',
        stage: 'forward',
      })
    })
  }

  #clientTooSlow(): void {
    const call = this.#call
    this.abandon()
    if (this.#relay.isHeadSent) return call.breakOff('request_timeout')
    call.flags &= ~FLAG_FORWARDED
    call.refuseSlowBody()
  }

  #settle(): void {
    this.#isSettled = true
    const { backend, holder } = this.#options
    this.#relay.stop()
    if (this.#isGranted) this.stop()
    if (this.#body instanceof RequestBody) {
      this.#call.isBodyRead = this.#body.isWhole
      if (!this.#body.isWhole) this.#body.destroy()
    }
    backend.slots.release(this, holder)
    backend.callEnded()
  }
}
