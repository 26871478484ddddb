/**
 * The last stages of a call: validates its parameters and its body, and forwards it.
 *
 * Bodies that are validated, and short ones of a known length, are read whole before the backend is
 * involved: a slow client holds no connection to it. Longer ones stream.
 */

import type { ProblemCode } from '../../domain/problem.ts'
import type { BodyBuffers, BodyReader } from './body.ts'
import type { Call } from '../call/call.ts'
import type { DriftWatch } from './drift-watch.ts'
import { Forwarding } from './forward.ts'
import type { HeaderRules } from '../headers/header-rules.ts'
import { createForwarded, toTraceparent } from '../headers/identity-headers.ts'
import type { LoopDetection } from '../headers/loop-detection.ts'
import { unavailable, type Passage } from '../call/passage.ts'
import type { ReaderWatch } from '../connection/reader-watch.ts'
import type { CountEvent } from '../../runtime/event-reasons.ts'
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
  readonly count: CountEvent
}

/** Bodies of a known length up to this are read before they are forwarded. */
const SHORT_BODY_BYTES = 65_536
/** Methods whose body has no meaning unless it is declared (RFC 9110, 9.3). */
const BODILESS: ReadonlySet<string> = new Set(['GET', 'HEAD', 'OPTIONS'])

export function createSendCall(options: SendCallOptions): (passage: Passage) => void {
  const { responseRules, turnEnd, drift, loops, uploads, readers, bodies, nowMs, count } = options
  const pushForwarded = createForwarded()

  function validate(passage: Passage): void {
    const { call, operation, match, headers, queryAt } = passage
    const { validators } = operation
    if (validators.parameters !== null) {
      const failure = validators.parameters(match, call.request, queryAt)
      if (failure !== null) return refuseInvalid(call, failure)
    }
    const has = hasBody(headers)
    if (validators.body === null) return has ? sendUndeclared(passage) : forward(passage, null)
    const encoding = call.request.headers['content-encoding']
    const plan = validators.body.accepts(headers.contentType, has, encoding)
    if ('code' in plan) return refuseInvalid(call, plan)
    if (plan.mode === 'none') return forward(passage, null)
    if (plan.mode === 'stream') return sendUnread(passage)
    if (headers.contentLength > plan.bytesMax) return tooLarge(call, plan.bytesMax)
    bodies.read(call, plan.bytesMax, new CompleteBody(passage, plan.bytesMax, plan.check))
  }

  function sendUndeclared(passage: Passage): void {
    if (!BODILESS.has(passage.call.request.method ?? '')) return sendUnread(passage)
    count('body_dropped')
    forward(passage, null)
  }

  function sendUnread(passage: Passage): void {
    const { call, headers } = passage
    if (headers.isChunked || headers.contentLength > SHORT_BODY_BYTES) return forward(passage, call.request)
    bodies.read(call, SHORT_BODY_BYTES, new CompleteBody(passage, SHORT_BODY_BYTES, null))
  }

  class CompleteBody implements BodyReader {
    readonly #passage: Passage
    readonly #bytesMax: number
    readonly #check: ((body: Buffer) => ValidationFailure | null) | null

    constructor(passage: Passage, bytesMax: number, check: ((body: Buffer) => ValidationFailure | null) | null) {
      this.#passage = passage
      this.#bytesMax = bytesMax
      this.#check = check
    }

    onBody(body: Buffer): void {
      const { call } = this.#passage
      if (call.isOver) return
      call.isBodyRead = true
      call.requestBytes = body.length
      const failure = this.#check === null ? null : this.#check(body)
      if (failure === null) forward(this.#passage, body)
      else refuseInvalid(call, failure)
    }

    onTooLarge(): void {
      const { call } = this.#passage
      if (!call.isOver) tooLarge(call, this.#bytesMax)
    }

    onSlow(): void {
      const { call } = this.#passage
      if (!call.isOver) call.refuseSlowBody()
    }

    onNoRoom(): void {
      const { call } = this.#passage
      if (!call.isOver) unavailable(call, 'The gateway holds too many bodies at the moment.', 'validate')
    }
  }

  function forward(passage: Passage, body: Buffer | Call['request'] | null): void {
    const { call, revision, operation, headers, target, seat } = passage
    const { backend } = revision
    if (backend === null) return call.refuse('not_found', `${revision.plan.api} is not served here.`)
    const waitMs = backend.gate.waitMs(nowMs())
    if (waitMs > 0) {
      const headers = ['Retry-After', String(Math.ceil(waitMs / 1_000))]
      return call.refuse('upstream_unhealthy', 'The backend of this API is known to be down.', { headers })
    }
    if (seat === null && !options.isAccepting()) return unavailable(call, 'Calls cannot be recorded at the moment.')
    const upstream = toUpstreamHeaders(passage)
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

  function toUpstreamHeaders({ call, operation, headers, seat }: Passage): string[] {
    const upstream = headers.forward
    if (headers.overrides !== null) pushAllowed(upstream, headers.overrides, operation.plan.passHeaders ?? [])
    if (headers.hopByHop !== null) dropHopByHop(upstream, headers.hopByHop, operation.validatedHeaders)
    pushForwarded(upstream, call.socket, headers.host)
    loops.pushTo(upstream, headers)
    upstream.push('X-Request-Id', call.requestId, 'traceparent', toTraceparent(call.requestId))
    if (seat !== null) for (const part of seat.identityHeaders) upstream.push(part)
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
  call.refuse('payload_too_large', `The body of this operation takes at most ${bytesMax} bytes.`)
}
