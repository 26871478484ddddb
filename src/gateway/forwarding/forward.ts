/**
 * Forwards one call to its backend.
 *
 * The call first acquires a connection (`backend-slots.ts`). From then on exactly one deadline runs: the client's
 * while it must send its body (`upload-watch.ts`) or read the response (`reader-watch.ts`), otherwise the backend's
 * (`deadlines`). Only failures of the backend count for its health.
 *
 * A failure is a problem document until the head of the response has been sent (`response-relay.ts`). Afterwards
 * the gateway closes the connection to the client.
 *
 * A failed request is sent again only if that is safe (`attempt.ts`). The call has one record, whatever the attempts.
 */

import { FLAG_FORWARDED } from '../../storage/spool/call-record.ts'
import { Attempt } from './attempt.ts'
import type { Call, CallOwner } from '../call/call.ts'
import { NOTHING_WAITS, type ChunkWriter } from '../connection/chunk-writer.ts'
import type { Exchange, ExchangeHandler, SwitchedConnection } from '../connection/exchange.ts'
import type { HeaderMemo } from '../connection/header-memo.ts'
import { RequestBody } from './request-body.ts'
import { refuseSlowBody } from '../call/routed-call.ts'
import { CLOSE } from '../websocket/frames.ts'
import type { WebSocketTunnel } from '../websocket/tunnel.ts'
import type { ForwardOptions } from './forward-options.ts'
import { ResponseCollector } from './response-collector.ts'
import type { UsageMeter } from './usage-meter.ts'
import { noteAttempt, noteSettled, noteStatus } from '../tracing/tracer.ts'
import { ResponseRelay, type ResponseSink, type UpstreamDeadline } from './response-relay.ts'
import { toOutcome, RESET, UPSTREAM_DETAILS, type UpstreamFailure } from '../backend/upstream-failure.ts'

const SWITCHING_PROTOCOLS = 101

export class Forwarding extends Attempt implements CallOwner, UpstreamDeadline, ExchangeHandler {
  readonly #call: Call
  readonly #relay: ResponseSink
  readonly trailers: UsageMeter | null
  #tunnel: WebSocketTunnel | null = null
  /** True if the backend has read all received bytes of the body, so that the client must send more. */
  #isWaitingForClient = false
  #isSettled = false

  constructor(call: Call, options: ForwardOptions) {
    super(options)
    this.#call = call
    const { receiver } = options
    this.trailers = options.meter
    this.#relay =
      receiver === null ? new ResponseRelay(call, options, this) : new ResponseCollector(call, options, this, receiver)
  }

  start(): void {
    this.#call.owner = this
    this.enterTarget()
  }

  get bytesMoved(): number {
    if (this.#tunnel !== null) return this.#tunnel.bytes
    return this.#relay.bytesReceived + (this.body instanceof RequestBody ? this.body.bytes : 0)
  }

  onGranted(): void {
    this.isGranted = true
    this.#call.flags |= FLAG_FORWARDED
    this.startedAt = this.sentAt = this.slotAt
    try {
      const { body } = this.options
      this.backend.deadlines.enter(this, this.startedAt)
      this.body ??= body === null || Buffer.isBuffer(body) ? body : this.#stream(body)
      this.dispatch()
    } catch (cause) {
      this.#call.crash(cause)
    }
  }

  onDenied(): void {
    this.#refuse('No connection to the backend of this API became free in time.')
  }

  onEvicted(): void {
    if (this.#tunnel !== null) return this.#tunnel.close(CLOSE.tryAgain, 'Other callers need the connection.')
    if (this.#relay.isPaused) this.#call.attempt(() => this.#call.onReaderTooSlow())
    else this.#refuse('The gateway ended this call to free its connection to the backend for other callers.')
  }

  restart(): void {
    const { deadlines } = this.backend
    deadlines.leave(this)
    if (!this.#isWaitingForClient) deadlines.enter(this, performance.now())
  }

  onHead(exchange: Exchange, status: number, headers: HeaderMemo): void {
    if (this.#isSettled) return
    try {
      this.#handleHead(exchange, status, headers)
    } catch (cause) {
      this.#call.crash(cause)
    }
  }

  onSwitch(headers: HeaderMemo, connection: SwitchedConnection): void {
    if (this.#isSettled) connection.socket.destroy()
    else this.#call.attempt(() => this.#handleSwitch(headers, connection))
  }

  onData(exchange: Exchange, chunk: Buffer): ChunkWriter | null {
    if (this.#isSettled) return NOTHING_WAITS
    try {
      const writer = this.#relay.takeChunk(exchange, chunk)
      if (this.#relay.isFull) this.#handleEnd()
      return writer
    } catch (cause) {
      this.#call.crash(cause)
      return null
    }
  }

  onEnd(): void {
    if (this.#isSettled) return
    try {
      this.#handleEnd()
    } catch (cause) {
      this.#call.crash(cause)
    }
  }

  onError(_exchange: Exchange, error: NodeJS.ErrnoException): void {
    if (!this.#isSettled) this.#call.attempt(() => this.#handleError(error))
  }

  onDue(): void {
    this.#call.attempt(() => {
      if (!this.isGranted) this.backend.slots.onWaitDue(this, this.options.holder, performance.now())
      else if (!this.retry('late')) this.#fail('upstream_timeout')
    })
  }

  abandon(): void {
    if (this.#isSettled) return
    this.#isSettled = true
    // First, because the next call may get the slot at once, and would open one more connection.
    this.exchange?.abort()
    this.#settle()
  }

  protected dispatch(): void {
    const { backend, body } = this
    const { method, target, lines, bodyBytes, upgrade } = this.options
    const path = backend.plan.basePath + target
    noteAttempt(this.#call, method, backend.plan.origin, path)
    this.exchange = backend.connections.send(
      { method, path, lines, body, bodyBytes, isUpgrade: upgrade !== null, isRepetition: this.isRepetition },
      this,
    )
  }

  /** The backend's deadline runs while it connects and while it does not read what the client has sent. */
  #stream(request: Call['request']): RequestBody {
    const call = this.#call
    return new RequestBody({
      request,
      upload: this.options.uploads.create(() => call.attempt(() => this.#refuseSlowBody())),
      onFirstRead: () => {
        this.#waitForClient()
        call.continueBody()
      },
      onBlocked: () => this.#waitForBackend(),
      onDrain: () => this.#waitForClient(),
      onSent: () => {
        this.sentAt = performance.now()
        this.#waitForBackend()
      },
    })
  }

  /** Stops the backend's deadline, also during its response: the backend may need the rest of the body to continue. */
  #waitForClient(): void {
    if (this.#isSettled) return
    this.#isWaitingForClient = true
    this.stop()
  }

  #waitForBackend(): void {
    this.#isWaitingForClient = false
    if (!this.#isSettled && !this.#relay.isPaused) this.restart()
  }

  #handleHead(exchange: Exchange, status: number, headers: HeaderMemo): void {
    const call = this.#call
    // The deadline may be off while a body streams.
    if (this.body instanceof RequestBody) this.restart()
    if (!this.#relay.takeHead(exchange, status, headers)) return this.#fail('upstream_broken')
    this.hasResponseBegun = true
    // The response time is unknown if the response begins before the body is complete.
    if (!this.#isWaitingForClient) call.upstreamUs = this.#elapsedUs()
    noteStatus(call, status)
  }

  #elapsedUs(): number {
    return Math.min(0xffff_ffff, Math.round((performance.now() - this.sentAt) * 1_000))
  }

  #handleSwitch(headers: HeaderMemo, connection: SwitchedConnection): void {
    const { upgrade, meter } = this.options
    this.stop()
    const upstreamUs = (this.#call.upstreamUs = this.#elapsedUs())
    noteStatus(this.#call, SWITCHING_PROTOCOLS)
    this.#tunnel = upgrade!.webSockets.open({ ...upgrade!, owner: this, meter }, headers, connection)
    if (this.#tunnel === null) return this.#fail('upstream_broken')
    this.backend.gate.answered(SWITCHING_PROTOCOLS, upstreamUs, this.startedAt)
  }

  #handleEnd(): void {
    if (this.#relay.isTruncated && !this.#relay.isFull) return this.#fail('upstream_broken')
    const { status, upstreamUs } = this.#call
    if (this.#relay.isFull) this.abandon()
    else this.#settle()
    this.backend.gate.answered(status, upstreamUs, this.startedAt)
    this.#relay.end()
  }

  #handleError(error: NodeJS.ErrnoException): void {
    const code = error.code ?? ''
    const outcome = toOutcome(code)
    if (outcome === 'internal') this.#call.crash(error)
    else if (outcome === 'backend_busy')
      this.#refuse('The gateway cannot open another connection to the backend at the moment.')
    else if (!this.retry(RESET.has(code) ? 'reset' : 'other')) this.#fail(outcome)
  }

  /** Ends the call because the backend failed. */
  #fail(outcome: UpstreamFailure): void {
    this.abandon()
    this.backend.gate.failed(this.startedAt)
    const call = this.#call
    if (this.#relay.isHeadSent || this.#tunnel !== null) return call.breakOff(outcome)
    call.refuse(outcome, UPSTREAM_DETAILS[outcome])
  }

  /** Ends the call because the gateway has no connection for it, or needs its connection for another call. */
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

  #refuseSlowBody(): void {
    const call = this.#call
    this.abandon()
    if (this.#relay.isHeadSent) return call.breakOff('request_timeout')
    call.flags &= ~FLAG_FORWARDED
    refuseSlowBody(call)
  }

  #settle(): void {
    this.#isSettled = true
    noteSettled(this.#call)
    this.#relay.stop()
    this.#tunnel?.abandon()
    if (this.body instanceof RequestBody) {
      this.#call.isBodyRead = this.body.isComplete
      if (!this.body.isComplete) this.body.stop()
    }
    this.leaveTarget()
  }
}
