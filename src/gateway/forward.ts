/**
 * Forwards one call to its backend and streams the answer back, with back-pressure both ways.
 *
 * What is held back is the end: of a known length the chunk that completes it, else the terminating
 * chunk (see `call.ts`). A first chunk waits for the end of the turn, because most answers are whole
 * by then and leave with one system call. Until the head has left, whatever goes wrong is a problem
 * document; afterwards the connection to the client is broken off.
 *
 * A call is sent a second time only if its method is idempotent, its body is still at hand and the
 * connection was reset before the answer began: a kept-alive connection that the backend had closed.
 */

import type { Dispatcher } from 'undici'
import type { IncomingHttpHeaders } from 'undici/types/header.js'
import { FLAG_FORWARDED } from '../record/call-record.ts'
import type { Backend } from './backend.ts'
import { BACKEND_ADDRESS_REFUSED } from './backend-connect.ts'
import type { Call, CallOwner } from './call.ts'
import type { BodySample, DriftWatch } from './drift-watch.ts'
import type { Timed } from './deadline-queue.ts'
import { CONNECTION, CONTENT_LENGTH, DROP, type HeaderRules } from './header-rules.ts'
import type { CompiledOperation } from './revision.ts'

type Controller = Dispatcher.DispatchController

/** Ends of turns: what was held for company leaves when the turn is over. */
export interface TurnEnd {
  join(forwarding: Forwarding): void
}

export interface ForwardOptions {
  readonly backend: Backend
  readonly responseRules: HeaderRules
  readonly turnEnd: TurnEnd
  readonly drift: DriftWatch
  readonly operation: CompiledOperation
  readonly path: string
  readonly headers: string[]
  /** Bytes that were read for validation, or the request itself to be streamed, or nothing. */
  readonly body: Buffer | Call['request'] | null
}

const IDEMPOTENT: ReadonlySet<string> = new Set(['GET', 'HEAD', 'OPTIONS', 'PUT', 'DELETE', 'TRACE'])
const RESET: ReadonlySet<string> = new Set(['ECONNRESET', 'EPIPE', 'UND_ERR_SOCKET'])
const UNREACHABLE: ReadonlySet<string> = new Set([
  'ECONNREFUSED',
  'ENOTFOUND',
  'EAI_AGAIN',
  'EHOSTUNREACH',
  'ENETUNREACH',
  'EADDRNOTAVAIL',
  'EACCES',
  BACKEND_ADDRESS_REFUSED,
  'ERR_TLS_CERT_ALTNAME_INVALID',
  'DEPTH_ZERO_SELF_SIGNED_CERT',
  'CERT_HAS_EXPIRED',
])

export class Forwarding implements CallOwner, Timed, Dispatcher.DispatchHandler {
  readonly #call: Call
  readonly #options: ForwardOptions
  readonly #startedAt: number
  #controller: Controller | null = null
  /** Bytes the backend announced, or -1. */
  #announced = -1
  #received = 0
  #held: Buffer | null = null
  #isHeadSent = false
  #isAnswered = false
  #isQueued = false
  #isRetried = false
  #isSettled = false
  #sample: BodySample | null = null

  previous: Timed | null = null
  next: Timed | null = null
  dueAt = 0

  constructor(call: Call, options: ForwardOptions) {
    this.#call = call
    this.#options = options
    this.#startedAt = performance.now()
  }

  start(): void {
    const { backend } = this.#options
    this.#call.owner = this
    this.#call.flags |= FLAG_FORWARDED
    backend.calls++
    backend.deadlines.enter(this, this.#startedAt)
    this.#dispatch()
  }

  #dispatch(): void {
    const { backend, path, headers, body } = this.#options
    backend.pool.dispatch({ path, method: this.#call.request.method as Dispatcher.HttpMethod, headers, body }, this)
  }

  onRequestStart(controller: Controller): void {
    this.#controller = controller
    if (this.#isSettled) controller.abort(new Error('the call is over'))
  }

  onResponseStart(controller: Controller, status: number, headers: IncomingHttpHeaders): void {
    if (status < 200 || this.#isSettled) return
    const call = this.#call
    this.#isAnswered = true
    call.upstreamUs = Math.min(0xffff_ffff, Math.round((performance.now() - this.#startedAt) * 1_000))
    call.status = status
    call.head = this.#answerHeaders(headers)
    this.#sample = this.#options.drift.head(call, this.#options.operation, status, headers)
    this.#controller = controller
    this.#queue()
  }

  onResponseData(controller: Controller, chunk: Buffer): void {
    if (this.#isSettled) return
    const held = this.#held
    if (this.#sample !== null) this.#sample.add(chunk)
    this.#received += chunk.length
    if (held !== null) {
      this.#held = null
      this.#write(held)
    }
    if (this.#announced < 0 || this.#received === this.#announced) {
      this.#held = chunk
      if (this.#announced < 0) this.#queue()
    } else this.#write(chunk)
    if (!controller.paused) this.#restartDeadline()
  }

  onResponseEnd(): void {
    if (this.#isSettled) return
    if (this.#announced >= 0 && this.#received < this.#announced && this.#call.request.method !== 'HEAD') {
      if (this.#call.status !== 304) return this.#fail('upstream_broken')
    }
    this.#settle()
    const { status, upstreamUs } = this.#call
    this.#options.backend.gate.answered(status, upstreamUs, this.#startedAt)
    const held = this.#held
    if (held !== null && this.#announced < 0 && !this.#isHeadSent)
      this.#call.head.push('Content-Length', String(held.length))
    this.#call.finish('served', held)
    if (this.#sample !== null) this.#sample.end()
  }

  onResponseError(_controller: Controller, error: Error): void {
    if (this.#isSettled) return
    const code = (error as NodeJS.ErrnoException).code ?? ''
    if (this.#maySendAgain(code)) {
      this.#isRetried = true
      return this.#dispatch()
    }
    if (code === 'UND_ERR_CONNECT_TIMEOUT' || code === 'ETIMEDOUT') this.#fail('upstream_timeout')
    else if (UNREACHABLE.has(code)) this.#fail('upstream_refused')
    else this.#fail('upstream_broken')
  }

  onDue(): void {
    this.#fail('upstream_timeout')
  }

  onClientGone(): void {
    this.#settle()
    this.#abort('the client has gone')
    this.#call.finish('client_aborted', null)
  }

  /** The turn is over and the answer is not: what there is of it leaves now. */
  onTurnEnd(): void {
    this.#isQueued = false
    if (this.#isSettled) return
    const held = this.#held
    if (held !== null && this.#announced < 0) {
      this.#held = null
      this.#write(held)
    } else if (!this.#isHeadSent && held === null) {
      this.#sendHead()
      this.#call.response.flushHeaders()
    }
  }

  #fail(outcome: 'upstream_broken' | 'upstream_refused' | 'upstream_timeout'): void {
    this.#settle()
    this.#options.backend.gate.failed(this.#startedAt)
    this.#abort(outcome)
    const call = this.#call
    if (this.#isHeadSent) return call.breakOff(outcome)
    call.refuse(outcome, DETAILS[outcome])
  }

  #settle(): void {
    this.#isSettled = true
    const { backend } = this.#options
    const queue = this.#controller?.paused === true ? backend.stalls : backend.deadlines
    queue.leave(this)
    backend.callEnded()
  }

  #abort(reason: string): void {
    const controller = this.#controller
    if (controller !== null && !controller.aborted) controller.abort(new Error(reason))
  }

  #maySendAgain(code: string): boolean {
    if (this.#isRetried || this.#isAnswered || !RESET.has(code)) return false
    const { body } = this.#options
    if (body !== null && !Buffer.isBuffer(body)) return false
    return IDEMPOTENT.has(this.#call.request.method ?? '')
  }

  #write(chunk: Buffer): void {
    if (!this.#isHeadSent) this.#sendHead()
    const { response } = this.#call
    this.#call.responseBytes += chunk.length
    if (response.write(chunk) || response.destroyed) return
    const controller = this.#controller
    if (controller === null || controller.paused) return
    controller.pause()
    const { backend } = this.#options
    backend.deadlines.leave(this)
    backend.stalls.enter(this, performance.now())
    response.once('drain', () => this.#resume())
  }

  #resume(): void {
    if (this.#isSettled) return
    const { backend } = this.#options
    backend.stalls.leave(this)
    backend.deadlines.enter(this, performance.now())
    this.#controller?.resume()
  }

  #sendHead(): void {
    this.#isHeadSent = true
    this.#call.sendHead()
  }

  #queue(): void {
    if (this.#isQueued) return
    this.#isQueued = true
    this.#options.turnEnd.join(this)
  }

  #restartDeadline(): void {
    const { deadlines } = this.#options.backend
    deadlines.leave(this)
    deadlines.enter(this, performance.now())
  }

  #answerHeaders(headers: IncomingHttpHeaders): string[] {
    const rules = this.#options.responseRules
    const head: string[] = []
    for (const name in headers) {
      const value = headers[name]
      const rule = rules.of(name)
      if (rule === DROP || rule === CONNECTION || value === undefined) continue
      if (rule === CONTENT_LENGTH) this.#announced = Number(value)
      if (typeof value === 'string') head.push(name, value)
      else for (const item of value) head.push(name, item)
    }
    return head
  }
}

const DETAILS = {
  upstream_refused: 'The backend of this API does not take connections.',
  upstream_broken: 'The backend of this API broke off its answer.',
  upstream_timeout: 'The backend of this API did not answer in time.',
} as const
