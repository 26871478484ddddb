/**
 * The last stages of a call: validates its parameters and its body, and forwards it.
 *
 * Bodies that are validated, and short ones of a known length, are read whole before the backend is
 * involved: a slow client holds no connection to it. Longer ones stream.
 */

import type { ProblemCode } from '../../domain/problem.ts'
import type { BodyBuffers, BodyReader } from './body-buffers.ts'
import type { Call } from '../call/call.ts'
import type { DriftWatch } from './drift-watch.ts'
import { Forwarding } from './forward.ts'
import type { HeaderRules } from '../headers/header-rules.ts'
import { createForwarded, toTraceparent } from '../headers/identity-headers.ts'
import type { LoopDetection } from '../headers/loop-detection.ts'
import { unavailable, type RoutedCall } from '../call/routed-call.ts'
import type { ReaderWatch } from '../connection/reader-watch.ts'
import type { TurnEnd } from '../../runtime/turn-end.ts'
import type { UploadWatch } from '../connection/upload-watch.ts'
import { dropHopByHop, type RequestHeaders } from '../headers/upstream-request.ts'
import type { ValidationFailure } from '../validation/validate.ts'

export interface SendCallOptions {
  readonly responseRules: HeaderRules
  readonly turnEnd: TurnEnd
  readonly drift: DriftWatch
  readonly loops: LoopDetection
  readonly uploads: UploadWatch
  readonly readers: Pick<ReaderWatch, 'enter' | 'leave'>
  readonly bodies: BodyBuffers
  readonly nowMs: () => number
  readonly isAccepting: () => boolean
  readonly count: (reason: string) => void
}

/** Bodies of a known length up to this are read before they are forwarded. */
const SHORT_BODY_BYTES = 65_536
/** Methods whose body has no meaning unless it is declared (RFC 9110, 9.3). */
const BODILESS: ReadonlySet<string> = new Set(['GET', 'HEAD', 'OPTIONS'])

export function createSendCall(options: SendCallOptions): (routed: RoutedCall) => void {
  const { responseRules, turnEnd, drift, loops, uploads, readers, bodies, nowMs, count } = options
  const pushForwarded = createForwarded()

  function validate(routed: RoutedCall): void {
    const { call, operation, match, headers, queryAt } = routed
    const { validators } = operation
    if (validators.parameters !== null) {
      const failure = validators.parameters(match, call.request, queryAt)
      if (failure !== null) return refuseInvalid(call, failure)
    }
    const has = hasBody(headers)
    if (validators.body === null) return has ? sendUndeclared(routed) : forward(routed, null)
    const encoding = call.request.headers['content-encoding']
    const plan = validators.body.accepts(headers.contentType, has, encoding)
    if ('code' in plan) return refuseInvalid(call, plan)
    if (plan.mode === 'none') return forward(routed, null)
    if (plan.mode === 'stream') return sendUnread(routed)
    if (headers.contentLength > plan.bytesMax) return tooLarge(call, plan.bytesMax)
    bodies.read(call, plan.bytesMax, new CompleteBody(routed, plan.bytesMax, plan.check))
  }

  function sendUndeclared(routed: RoutedCall): void {
    if (!BODILESS.has(routed.call.request.method ?? '')) return sendUnread(routed)
    count('body_dropped')
    forward(routed, null)
  }

  function sendUnread(routed: RoutedCall): void {
    const { call, headers } = routed
    if (headers.isChunked || headers.contentLength > SHORT_BODY_BYTES) return forward(routed, call.request)
    bodies.read(call, SHORT_BODY_BYTES, new CompleteBody(routed, SHORT_BODY_BYTES, null))
  }

  class CompleteBody implements BodyReader {
    readonly #routed: RoutedCall
    readonly #bytesMax: number
    readonly #check: ((body: Buffer) => ValidationFailure | null) | null

    constructor(routed: RoutedCall, bytesMax: number, check: ((body: Buffer) => ValidationFailure | null) | null) {
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
      if (failure === null) forward(this.#routed, body)
      else refuseInvalid(call, failure)
    }

    onTooLarge(): void {
      const { call } = this.#routed
      if (!call.isOver) tooLarge(call, this.#bytesMax)
    }

    onSlow(): void {
      const { call } = this.#routed
      if (!call.isOver) call.refuseSlowBody()
    }

    onNoRoom(): void {
      const { call } = this.#routed
      if (!call.isOver) unavailable(call, 'The gateway is holding too many request bodies at the moment.', 'validate')
    }
  }

  function forward(routed: RoutedCall, body: Buffer | Call['request'] | null): void {
    const { call, revision, operation, headers, target, callerContext } = routed
    const { backend } = revision
    if (backend === null) return call.refuse('not_found', `${revision.plan.api} is not served by this gateway.`)
    const waitMs = backend.gate.waitMs(nowMs())
    if (waitMs > 0) {
      const headers = ['Retry-After', String(Math.ceil(waitMs / 1_000))]
      return call.refuse('upstream_unhealthy', 'The backend of this API is down.', { headers })
    }
    if (callerContext === null && !options.isAccepting())
      return unavailable(call, 'Calls cannot be recorded at the moment.')
    const upstream = toUpstreamHeaders(routed)
    if (body === call.request && !headers.isChunked) upstream.push('content-length', String(headers.contentLength))
    new Forwarding(call, {
      backend,
      holder: call.attribution.subscription,
      responseRules,
      turnEnd,
      drift,
      uploads,
      readers,
      operation,
      path: backend.plan.basePath + target,
      headers: upstream,
      body,
    }).start()
  }

  function toUpstreamHeaders({ call, operation, headers, callerContext }: RoutedCall): string[] {
    const upstream = headers.forward
    if (headers.overrides !== null) pushAllowed(upstream, headers.overrides, operation.plan.passHeaders ?? [])
    if (headers.hopByHop !== null) dropHopByHop(upstream, headers.hopByHop, operation.validatedHeaders)
    pushForwarded(upstream, call.socket, headers.host)
    loops.pushTo(upstream, headers)
    upstream.push('X-Request-Id', call.requestId, 'traceparent', toTraceparent(call.requestId))
    if (callerContext !== null) for (const part of callerContext.identityHeaders) upstream.push(part)
    return upstream
  }

  return validate
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

function tooLarge(call: Call, bytesMax: number): void {
  call.refuse('payload_too_large', `The request body is larger than the limit of ${bytesMax} bytes.`)
}
