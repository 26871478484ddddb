/**
 * The way of a call: route → authenticate → authorise → limit and quota → validate → forward → record.
 *
 * Each function below is one station and ends by calling the next, or by refusing. What is at hand is
 * used in the same turn; only a caller seen for the first time, and a body that is validated, make a
 * call wait. Whoever comes back from waiting first asks whether the call is over.
 */

import type { Caller } from '../catalogue/caller.ts'
import type { Stage } from '../domain/explanation.ts'
import type { ProblemCode } from '../domain/problem.ts'
import type { Outcome } from '../record/call-record.ts'
import { FLAG_APPROACHING_LIMIT, FLAG_PAST_RETIREMENT } from '../record/call-record.ts'
import type { Admissions } from './admission.ts'
import type { Authenticator, Refusal } from './authenticate.ts'
import { authorise } from './authorise.ts'
import { readBody, type BodyReader } from './body.ts'
import type { Call } from './call.ts'
import type { DriftWatch } from './drift-watch.ts'
import { Forwarding, type TurnEnd } from './forward.ts'
import type { HeaderRules } from './header-rules.ts'
import { createForwarded, toTraceparent } from './identity-headers.ts'
import type { CompiledOperation, CompiledRevision } from './revision.ts'
import type { RouteMatch } from './routing/route-table.ts'
import { toAttribution } from './call-attribution.ts'
import { attributionOf, type Seat } from './seat.ts'
import type { Seats } from './seats.ts'
import { readRequestHeaders, type RequestHeaders } from './upstream-request.ts'
import type { ValidationFailure } from './validation/validate.ts'

export interface HandleCallOptions {
  readonly authenticator: Authenticator
  readonly seats: Seats
  readonly admissions: Admissions
  readonly requestRules: HeaderRules
  readonly responseRules: HeaderRules
  readonly turnEnd: TurnEnd
  readonly drift: DriftWatch
  readonly nowMs: () => number
  /** False while calls cannot be recorded. */
  readonly isAccepting: () => boolean
}

/** What a call carries from station to station. */
interface Passage {
  readonly call: Call
  readonly revision: CompiledRevision
  readonly operation: CompiledOperation
  readonly match: RouteMatch
  readonly headers: RequestHeaders
  /** Request target behind the technical name, as it came. */
  readonly target: string
  readonly queryAt: number
  seat: Seat | null
}

export interface HandleCall {
  /** Takes over a call whose API and revision are known. `pathFrom` is where the operation's path begins in the target. */
  (call: Call, revision: CompiledRevision, pathFrom: number, queryAt: number): void
}

export function createHandleCall(options: HandleCallOptions): HandleCall {
  const { authenticator, seats, admissions, requestRules, responseRules, turnEnd, drift, nowMs } = options
  const pushForwarded = createForwarded()

  function route(call: Call, revision: CompiledRevision, pathFrom: number, queryAt: number): void {
    call.attribution = revision.unrouted
    call.apiHeaders = revision.apiHeaders
    const { plan, routes, operations } = revision
    if (plan.state === 'Retired') return call.refuse('api_retired', `${plan.api} is retired.`)
    const url = call.request.url ?? ''
    const match = routes.find(call.request.method ?? '', url, pathFrom, queryAt)
    if (match === null || 'allowed' in match) return refuseUnknown(call, revision, match)
    const operation = operations[match.operation]!
    call.attribution = operation.anonymous
    const headers = readRequestHeaders(call.request, requestRules)
    call.isBodyRead = headers.contentLength === 0 && !headers.isChunked
    call.requestBytes = headers.contentLength
    if (headers.isAmbiguous) {
      return call.refuse('payload_invalid', 'A header that may come once came twice.', { stage: 'route' })
    }
    authenticate({ call, revision, operation, match, headers, target: url.slice(pathFrom), queryAt, seat: null })
  }

  /** What a known caller asks for in vain is told apart: it may be what the contract has forgotten. */
  function refuseUnknown(call: Call, revision: CompiledRevision, match: { allowed: readonly string[] } | null): void {
    const { plan } = revision
    const { authorization, apiKey, isAmbiguous } = readRequestHeaders(call.request, requestRules)
    if (isAmbiguous || (authorization === undefined && apiKey === undefined)) return refuse(null)
    const result = authenticator.authenticate(authorization, apiKey, plan.api)
    if (result instanceof Promise) void result.then((late) => call.isOver || refuse(late))
    else refuse(result)

    function refuse(result: Caller | Refusal | null): void {
      const isKnown = result !== null && !('code' in result)
      if (isKnown) call.attribution = toAttribution(plan, '', result, null)
      if (match === null) call.refuse('not_found', `${plan.api} has no such path.`)
      else {
        const allowed = match.allowed.join(', ')
        call.refuse('method_not_allowed', `This path takes ${allowed}.`, { headers: ['Allow', allowed] })
      }
      if (isKnown) drift.operation(call)
    }
  }

  function authenticate(passage: Passage): void {
    const { headers, operation, revision } = passage
    if (headers.authorization === undefined && headers.apiKey === undefined) {
      if (operation.plan.security.length === 0) return validate(passage)
      return refuseCredential(passage, {
        code: 'credential_missing',
        grant: null,
        person: '',
        detail: 'Send a bearer token in Authorization, or a key in x-api-key.',
      })
    }
    const result = authenticator.authenticate(headers.authorization, headers.apiKey, revision.plan.api)
    if (result instanceof Promise) {
      void result.then((late) => {
        if (!passage.call.isOver) sit(passage, late)
      })
    } else sit(passage, result)
  }

  function sit(passage: Passage, result: Caller | Refusal): void {
    if ('code' in result) return refuseCredential(passage, result)
    const seat = seats.of(result, passage.revision)
    if (seat instanceof Promise) {
      void seat.then(
        (late) => {
          if (!passage.call.isOver) sitLate(passage, late)
        },
        () => {
          if (!passage.call.isOver)
            unavailable(passage.call, 'The limits of this subscription cannot be read now.', 'limit')
        },
      )
    } else authoriseSeat(passage, seat)
  }

  /** The credential may have been revoked while its counters were looked for. */
  function sitLate(passage: Passage, seat: Seat): void {
    const { headers, revision } = passage
    const again = authenticator.authenticate(headers.authorization, headers.apiKey, revision.plan.api)
    if (!(again instanceof Promise) && 'code' in again) return refuseCredential(passage, again)
    authoriseSeat(passage, seat)
  }

  function authoriseSeat(passage: Passage, seat: Seat): void {
    const { call, revision, operation } = passage
    passage.seat = seat
    call.attribution = attributionOf(seat, operation.position)
    const { deprecation } = revision.plan
    if (deprecation !== undefined && nowMs() >= deprecation.retirementMs) call.flags |= FLAG_PAST_RETIREMENT
    const refused = authorise(operation.plan.security, seat.caller, revision)
    if (refused === null) return limit(passage, seat)
    if (refused === 'operation_forbidden') {
      const needed = operation.plan.security.flatMap(({ tokenScopes }) => tokenScopes ?? [])
      const challenge = `Bearer error="insufficient_scope", scope="${[...new Set(needed)].join(' ')}"`
      return call.refuse(refused, 'The credential does not open this operation.', {
        headers: ['WWW-Authenticate', challenge],
      })
    }
    call.refuse(refused, 'The credential holds no subscription to this API.')
  }

  function limit(passage: Passage, seat: Seat): void {
    const { call, operation } = passage
    if (!options.isAccepting()) return unavailable(call, 'Calls cannot be recorded at the moment.')
    const refusal = admissions.admit(call, seat, operation.position, nowMs())
    if (admissions.isApproaching) call.flags |= FLAG_APPROACHING_LIMIT
    if (refusal === null) return validate(passage)
    call.refuse(refusal.code, refusal.detail, refusal)
  }

  function validate(passage: Passage): void {
    const { call, operation, match, headers, queryAt } = passage
    const { validators } = operation
    if (validators.parameters !== null) {
      const failure = validators.parameters(match, call.request, queryAt)
      if (failure !== null) return refuseInvalid(call, failure)
    }
    if (validators.body === null) return forward(passage, hasBody(headers) ? call.request : null)
    const encoding = call.request.headers['content-encoding']
    const plan = validators.body.accepts(headers.contentType, hasBody(headers), encoding)
    if ('code' in plan) return refuseInvalid(call, plan)
    if (plan.mode === 'none') return forward(passage, null)
    if (plan.mode === 'stream') return forward(passage, call.request)
    if (headers.contentLength > plan.bytesMax) return tooLarge(call, plan.bytesMax)
    readBody(call.request, plan.bytesMax, new Validation(passage, plan.check, plan.bytesMax))
  }

  class Validation implements BodyReader {
    readonly #passage: Passage
    readonly #check: (body: Buffer) => ValidationFailure | null
    readonly #bytesMax: number

    constructor(passage: Passage, check: (body: Buffer) => ValidationFailure | null, bytesMax: number) {
      this.#passage = passage
      this.#check = check
      this.#bytesMax = bytesMax
    }

    onBody(body: Buffer): void {
      const { call } = this.#passage
      if (call.isOver) return
      call.isBodyRead = true
      call.requestBytes = body.length
      const failure = this.#check(body)
      if (failure === null) forward(this.#passage, body)
      else refuseInvalid(call, failure)
    }

    onTooLarge(): void {
      if (!this.#passage.call.isOver) tooLarge(this.#passage.call, this.#bytesMax)
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
    if (backend.isBusy) return unavailable(call, 'The backend has too many calls waiting.', 'forward')
    if (seat === null && !options.isAccepting()) return unavailable(call, 'Calls cannot be recorded at the moment.')
    const upstream = headers.forward
    if (body !== null && body === call.request && !headers.isChunked) {
      upstream.push('content-length', String(headers.contentLength))
    }
    pushForwarded(upstream, call.request.socket, headers.host)
    upstream.push('X-Request-Id', call.requestId, 'traceparent', toTraceparent(call.requestId))
    if (seat !== null) for (const part of seat.identityHeaders) upstream.push(part)
    const path = backend.plan.basePath + target
    new Forwarding(call, { backend, responseRules, turnEnd, drift, operation, path, headers: upstream, body }).start()
  }

  function refuseCredential({ call, revision, operation }: Passage, refusal: Refusal): void {
    const { grant, person } = refusal
    if (grant !== null && grant.tenant === revision.plan.tenant) {
      call.attribution = toAttribution(
        revision.plan,
        operation.plan.operationId,
        { grant, agent: grant.consumerKind === 'agent' ? grant.consumer : '', person },
        null,
      )
    }
    if (refusal.code === 'unavailable') return unavailable(call, refusal.detail, 'authenticate')
    const challenge = CHALLENGES[refusal.code]
    call.refuse(refusal.code, refusal.detail, challenge === null ? {} : { headers: ['WWW-Authenticate', challenge] })
  }

  return route
}

const CHALLENGES = {
  credential_missing: 'Bearer',
  credential_invalid: 'Bearer error="invalid_token"',
  subscription_required: null,
} as const satisfies Partial<Record<Outcome, string | null>>

function hasBody(headers: RequestHeaders): boolean {
  return headers.isChunked || headers.contentLength > 0
}

function refuseInvalid(call: Call, { code, detail, errors }: ValidationFailure): void {
  call.refuse(code satisfies ProblemCode, detail, { errors })
}

function tooLarge(call: Call, bytesMax: number): void {
  call.refuse('payload_too_large', `The body of this operation takes at most ${bytesMax} bytes.`)
}

function unavailable(call: Call, detail: string, stage: Stage = 'record'): void {
  call.refuse('unavailable', detail, { headers: ['Retry-After', '1'], stage })
}
