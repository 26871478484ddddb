/**
 * Last stages of a call: validates its parameters and its body, and forwards it.
 *
 * Reads a body completely if it is validated, or if it is short and its length is known. A slow client then holds no
 * connection to the backend. Other bodies are streamed.
 */

import type { ProblemCode } from '../../foundation/domain/problem.ts'
import type { BodyBuffers, BodyReader } from './body-buffers.ts'
import type { Call } from '../call/call.ts'
import { toHeaderLines } from '../connection/header-lines.ts'
import { inOnePiece } from '../../foundation/runtime/one-piece.ts'
import type { DriftWatch } from './drift-watch.ts'
import { Forwarding } from './forward.ts'
import { isIdempotent } from './idempotent.ts'
import { valuesOf } from '../routing/operation-request.ts'
import { rewriteTarget } from '../routing/path-rewrite.ts'
import { editHeaders } from '../headers/header-edit.ts'
import type { ResponseRules } from '../headers/header-rules.ts'
import { toTraceLines } from '../tracing/tracer.ts'
import { createForwarded, createTraceLines, type ToForwardedLines } from '../headers/identity-headers.ts'
import type { LoopDetection } from '../headers/loop-detection.ts'
import { refuseSlowBody, refuseUnavailable, type RoutedCall } from '../call/routed-call.ts'
import type { ReaderWatch } from '../connection/reader-watch.ts'
import type { ClientAddress } from '../../foundation/runtime/client-address.ts'
import type { CountEvent } from '../../foundation/runtime/event-reasons.ts'
import type { TurnEnd } from '../../foundation/runtime/turn-end.ts'
import type { UploadWatch } from '../connection/upload-watch.ts'
import { dropHopByHop, type RequestHeaders } from '../headers/upstream-request.ts'
import { toMeteredHeaders } from '../headers/metered-request.ts'
import type { WarnOfUsage } from '../messages/usage-warnings.ts'
import { readHandshake, withoutHandshake, type Handshake } from '../websocket/handshake.ts'
import type { WebSockets } from '../websocket/web-sockets.ts'
import type { UnitsPlan } from '../../boundary/plan/route-plan.ts'
import { startMeter, type UsageFault, type UsageMeter } from './usage-meter.ts'
import type { ValidationFailure } from '../validation/validate.ts'

export interface SendCallOptions {
  readonly responseRules: ResponseRules
  readonly turnEnd: TurnEnd
  readonly drift: DriftWatch
  readonly loops: LoopDetection
  readonly uploads: UploadWatch
  readonly readers: Pick<ReaderWatch, 'enter' | 'leave'>
  readonly bodies: BodyBuffers
  readonly nowMs: () => number
  readonly isAccepting: () => boolean
  readonly count: CountEvent
  /** Reports a response whose units could not be read. */
  readonly warnOfUsage: WarnOfUsage
  readonly webSockets: WebSockets
  /** Null: the address of the connection is that of the client. */
  readonly clientAddress: ClientAddress | null
}

/** Bodies of a known length up to this are read before they are forwarded. */
const SHORT_BODY_BYTES = 65_536
/** Methods whose body has no meaning unless the operation declares one (RFC 9110, 9.3). */
const BODILESS: ReadonlySet<string> = new Set(['GET', 'HEAD', 'OPTIONS'])

export function createSendCall(options: SendCallOptions): (routed: RoutedCall) => void {
  const sender = new CallSender(options)
  return (routed) => sender.validate(routed)
}

type BodyCheck = (body: Buffer) => ValidationFailure | null

/** Each method is a stage, which ends by calling the next one or by refusing the call. */
class CallSender {
  readonly #options: SendCallOptions
  readonly #toForwardedLines: ToForwardedLines
  readonly #toNewTraceLines = createTraceLines()

  constructor(options: SendCallOptions) {
    this.#options = options
    this.#toForwardedLines = createForwarded(options.clientAddress)
  }

  validate(routed: RoutedCall): void {
    const { call, operation, match, request, headers, queryAt } = routed
    const { validators } = operation
    if (routed.fault !== null) return refuseInvalid(call, routed.fault)
    if (validators.parameters !== null) {
      const failure = validators.parameters(match, request, queryAt)
      if (failure !== null) return refuseInvalid(call, failure)
    }
    if (operation.webSocket !== null) return this.#upgrade(routed)
    const has = hasBody(headers)
    if (validators.body === null) return has ? this.#sendUndeclared(routed) : this.forward(routed, null)
    const encodings = valuesOf(request, 'content-encoding')
    const encoding = encodings.length === 0 ? undefined : encodings.join(', ')
    const plan = validators.body.accepts(headers.contentType, has, encoding)
    if ('code' in plan) return refuseInvalid(call, plan)
    if (plan.mode === 'none') return this.forward(routed, null)
    if (plan.mode === 'stream') return this.#sendUnread(routed)
    if (headers.contentLength > plan.bytesMax) return refuseTooLarge(call, plan.bytesMax)
    const reader = new CompleteBody(this, routed, plan.bytesMax, plan.check)
    if (routed.body === null) this.#options.bodies.read(call, plan.bytesMax, reader)
    else reader.onBody(routed.body)
  }

  /** Asks the backend for a WebSocket. */
  #upgrade(routed: RoutedCall): void {
    const { call, headers } = routed
    const handshake = readHandshake(call.request, headers)
    if ('code' in handshake) return call.refuse(handshake.code, handshake.detail, { headers: handshake.headers })
    if (call.response.switchProtocols === undefined)
      return refuseUnavailable(call, 'This gateway cannot serve WebSockets.', 'forward')
    this.forward(routed, null, handshake)
  }

  /** Drops a body that has no meaning for the method. */
  #sendUndeclared(routed: RoutedCall): void {
    if (!BODILESS.has(routed.request.method ?? '')) return this.#sendUnread(routed)
    this.#options.count('body_dropped')
    this.forward(routed, null)
  }

  /** Sends a body that is not validated: reads it first if it is short, otherwise streams it. */
  #sendUnread(routed: RoutedCall): void {
    const { call, headers, body } = routed
    if (body !== null) return this.forward(routed, body)
    if (headers.isChunked || headers.contentLength > SHORT_BODY_BYTES) return this.forward(routed, call.request)
    this.#options.bodies.read(call, SHORT_BODY_BYTES, new CompleteBody(this, routed, SHORT_BODY_BYTES, null))
  }

  forward(routed: RoutedCall, body: Buffer | Call['request'] | null, handshake: Handshake | null = null): void {
    const { call, revision, operation, request, headers, target, receiver, callerContext } = routed
    const { responseRules, turnEnd, drift, uploads, readers, webSockets, nowMs, isAccepting, count } = this.#options
    const balancer = revision.backend
    if (balancer === null) return call.refuse('not_found', `${revision.plan.api} is not served by this gateway.`)
    const holder = call.attribution.subscription
    const method = request.method ?? ''
    const backend = balancer.only ?? balancer.choose(holder, isIdempotent(method, handshake !== null), nowMs)
    const waitMs = backend.gate.waitMs(nowMs)
    if (waitMs > 0) return refuseUnhealthy(call, waitMs)
    if (callerContext === null && !isAccepting())
      return refuseUnavailable(call, 'Calls cannot be recorded at the moment.')
    new Forwarding(call, {
      balancer,
      backend,
      nowMs,
      count,
      holder,
      responseRules: revision.cors === null ? responseRules.withoutCors : responseRules.withCors,
      turnEnd,
      drift,
      uploads,
      readers,
      operation,
      responseEdit: revision.responseEdit,
      meter: operation.units === null ? null : this.#startMeter(routed, operation.units),
      receiver,
      method,
      target: operation.rewrite === null ? target : rewriteTarget(operation.rewrite, target),
      lines: editedLines(routed) + this.#ownLines(routed) + (handshake === null ? '' : handshake.lines),
      body,
      bodyBytes: headers.isChunked ? -1 : headers.contentLength,
      upgrade: handshake === null ? null : { webSockets, routed, handshake },
    }).start()
  }

  #startMeter({ call, request, operation: { position } }: RoutedCall, units: UnitsPlan): UsageMeter {
    const declaredMicro = call.sla?.declaredMicro[position] ?? 0
    const onFault = (fault: UsageFault): void => this.#options.warnOfUsage(call.attribution, fault)
    return startMeter(call, units, { method: request.method ?? '', declaredMicro, onFault })
  }

  #ownLines({ call, headers, callerContext }: RoutedCall): string {
    const { trace, requestId } = call
    const lines =
      this.#toForwardedLines(call, headers.host) +
      this.#options.loops.toLines(headers) +
      (trace === null ? this.#toNewTraceLines(requestId) : toTraceLines(requestId, trace))
    return callerContext === null ? lines : lines + callerContext.identityLines
  }
}

/** Returns the headers of the client that reach the backend, as the API changes them. */
function editedLines(routed: RoutedCall): string {
  const { requestEdit } = routed.revision
  return requestEdit === null ? clientLines(routed) : editHeaders(requestEdit, clientLines(routed))
}

/** Returns the headers of the client that reach the backend, as lines. */
function clientLines({ operation, headers }: RoutedCall): string {
  const { forward, overrides, hopByHop } = headers
  const { units } = operation
  if (overrides === null && hopByHop === null && units === null)
    return (headers.forwardLines ??= inOnePiece(toHeaderLines(forward)))
  const passed = [...forward]
  if (overrides !== null) pushAllowed(passed, overrides, operation.plan.passHeaders ?? [])
  if (hopByHop !== null) dropHopByHop(passed, hopByHop, operation.validatedHeaders)
  if (operation.webSocket !== null) return toHeaderLines(withoutHandshake(passed))
  return toHeaderLines(units === null ? passed : toMeteredHeaders(passed, units))
}

/** Validates a body that was read completely, and forwards the call. */
class CompleteBody implements BodyReader {
  readonly #sender: CallSender
  readonly #routed: RoutedCall
  readonly #bytesMax: number
  readonly #check: BodyCheck | null

  constructor(sender: CallSender, routed: RoutedCall, bytesMax: number, check: BodyCheck | null) {
    this.#sender = sender
    this.#routed = routed
    this.#bytesMax = bytesMax
    this.#check = check
  }

  onBody(body: Buffer): void {
    const { call } = this.#routed
    if (call.isOver) return
    call.isBodyRead = true
    call.requestBytes = body.length
    const failure = this.#check === null ? null : this.#check(body)
    if (failure === null) this.#sender.forward(this.#routed, body)
    else refuseInvalid(call, failure)
  }

  onTooLarge(): void {
    const { call } = this.#routed
    if (!call.isOver) refuseTooLarge(call, this.#bytesMax)
  }

  onSlow(): void {
    const { call } = this.#routed
    if (!call.isOver) refuseSlowBody(call)
  }

  onNoRoom(): void {
    const { call } = this.#routed
    if (!call.isOver)
      refuseUnavailable(call, 'The gateway is holding too many request bodies at the moment.', 'validate')
  }
}

function pushAllowed(upstream: string[], overrides: readonly string[], allowed: readonly string[]): void {
  for (let index = 0; index < overrides.length; index += 2) {
    const name = overrides[index]!
    if (allowed.includes(name.toLowerCase())) upstream.push(name, overrides[index + 1]!)
  }
}

function hasBody(headers: RequestHeaders): boolean {
  return headers.isChunked || headers.contentLength > 0
}

function refuseInvalid(call: Call, { code, detail, errors }: ValidationFailure): void {
  call.refuse(code satisfies ProblemCode, detail, { errors })
}

function refuseTooLarge(call: Call, bytesMax: number): void {
  call.refuse('payload_too_large', `The request body is larger than the limit of ${bytesMax} bytes.`)
}

function refuseUnhealthy(call: Call, waitMs: number): void {
  const headers = ['Retry-After', String(Math.ceil(waitMs / 1_000))]
  call.refuse('upstream_unhealthy', 'The backend of this API is down.', { headers })
}
