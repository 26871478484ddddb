/**
 * The stages of a call: route → authenticate → authorise → limit and quota → validate → forward → record.
 *
 * Each function below is one stage and ends by calling the next, or by refusing; `send-call.ts` has the
 * last ones. A stage runs in the same turn unless the caller is seen for the first time or a body is
 * read; a stage that resumes first checks whether the call is over.
 */

import type { Caller } from '../plan/caller.ts'
import type { Outcome } from '../record/call-record.ts'
import { FLAG_APPROACHING_LIMIT, FLAG_PAST_RETIREMENT } from '../record/call-record.ts'
import type { Admissions } from './admission.ts'
import type { Authenticator, Refusal } from './authentication/authenticate.ts'
import { authorise } from './authentication/authorise.ts'
import type { Call } from './call/call.ts'
import type { DriftWatch } from './forwarding/drift-watch.ts'
import type { LoopDetection } from './headers/loop-detection.ts'
import { unavailable, type RoutedCall } from './call/routed-call.ts'
import type { CompiledRevision } from './call/revision.ts'
import { toAttribution } from './call/call-attribution.ts'
import { attributionOf, type CallerContext } from './call/caller-context.ts'
import type { CallerContexts } from './call/caller-contexts.ts'
import type { RequestHeaders } from './headers/upstream-request.ts'

export interface HandleCallOptions {
  readonly authenticator: Authenticator
  readonly callerContexts: CallerContexts
  readonly admissions: Admissions
  readonly loops: LoopDetection
  readonly drift: DriftWatch
  readonly nowMs: () => number
  /** False while calls cannot be recorded. */
  readonly isAccepting: () => boolean
  /** Validates and forwards a call that may go on. */
  readonly send: (routed: RoutedCall) => void
}

export interface HandleCall {
  /** Takes over a call whose API and revision are known. `pathFrom` is where the operation's path begins in the target. */
  (call: Call, headers: RequestHeaders, revision: CompiledRevision, pathFrom: number, queryAt: number): void
}

export function createHandleCall(options: HandleCallOptions): HandleCall {
  const { authenticator, callerContexts, admissions, loops, drift, nowMs, send } = options

  function route(
    call: Call,
    headers: RequestHeaders,
    revision: CompiledRevision,
    pathFrom: number,
    queryAt: number,
  ): void {
    call.attribution = revision.unrouted
    call.apiHeaders = revision.apiHeaders
    call.readBytesPerSecondMin = revision.readBytesPerSecondMin
    const { plan, routes, operations } = revision
    if (plan.state === 'Retired') return call.refuse('api_retired', `${plan.api} is retired.`)
    const url = call.request.url ?? ''
    const match = routes.find(call.request.method ?? '', url, pathFrom, queryAt)
    if (match === null || 'allowed' in match) return refuseUnknown(call, headers, revision, match)
    const operation = operations[match.operation]!
    call.attribution = operation.anonymous
    if (headers.isAmbiguous) {
      return call.refuse('payload_invalid', 'A header that may come once came twice.', { stage: 'route' })
    }
    if (loops.isLoop(headers)) return call.refuse('loop_detected', 'The call has come through this gateway before.')
    authenticate({
      call,
      revision,
      operation,
      match,
      headers,
      target: url.slice(pathFrom),
      queryAt,
      callerContext: null,
    })
  }

  /** What a known caller asks for in vain is told apart: it may be what the contract has forgotten. */
  function refuseUnknown(
    call: Call,
    { authorization, apiKey, isAmbiguous }: RequestHeaders,
    revision: CompiledRevision,
    match: { allowed: readonly string[] } | null,
  ): void {
    const { plan } = revision
    if (isAmbiguous || (authorization === undefined && apiKey === undefined)) return refuse(null)
    const result = authenticator.authenticate(authorization, apiKey, plan.api)
    if (result instanceof Promise) resume(call, result, refuse)
    else refuse(result)

    function refuse(result: Caller | Refusal | null): void {
      const isKnown = result !== null && !('code' in result)
      if (isKnown) call.attribution = toAttribution(plan, '', result, null)
      if (match === null) call.refuse('not_found', `${plan.api} has no such path.`)
      else {
        const allowed = match.allowed.join(', ')
        call.refuse('method_not_allowed', `This path takes ${allowed}.`, { headers: ['Allow', allowed] })
      }
      if (isKnown) drift.reportOperation(call)
    }
  }

  function authenticate(routed: RoutedCall): void {
    const { headers, operation, revision } = routed
    if (headers.authorization === undefined && headers.apiKey === undefined) {
      if (operation.plan.security.length === 0) return send(routed)
      return refuseCredential(routed, {
        code: 'credential_missing',
        grant: null,
        person: '',
        detail: 'Send a bearer token in Authorization, or a key in x-api-key.',
      })
    }
    const result = authenticator.authenticate(headers.authorization, headers.apiKey, revision.plan.api)
    if (result instanceof Promise) resume(routed.call, result, (late) => sit(routed, late))
    else sit(routed, result)
  }

  function sit(routed: RoutedCall, result: Caller | Refusal): void {
    if ('code' in result) return refuseCredential(routed, result)
    const callerContext = callerContexts.of(result, routed.revision)
    if (callerContext instanceof Promise) {
      const { call } = routed
      const noSeat = (): void => unavailable(call, 'The limits of this subscription cannot be read now.', 'limit')
      resume(call, callerContext, (late) => sitLate(routed, late), noSeat)
    } else authoriseSeat(routed, callerContext)
  }

  /** The credential may have been revoked while its counters were looked for. */
  function sitLate(routed: RoutedCall, callerContext: CallerContext): void {
    const { headers, revision } = routed
    const again = authenticator.authenticate(headers.authorization, headers.apiKey, revision.plan.api)
    if (!(again instanceof Promise) && 'code' in again) return refuseCredential(routed, again)
    authoriseSeat(routed, callerContext)
  }

  function authoriseSeat(routed: RoutedCall, callerContext: CallerContext): void {
    const { call, revision, operation } = routed
    routed.callerContext = callerContext
    call.attribution = attributionOf(callerContext, operation.position)
    const { deprecation } = revision.plan
    if (deprecation !== undefined && nowMs() >= deprecation.retirementMs) call.flags |= FLAG_PAST_RETIREMENT
    const refused = authorise(operation.plan.security, callerContext.caller, revision)
    if (refused === null) return limit(routed, callerContext)
    if (refused === 'operation_forbidden') {
      const needed = operation.plan.security.flatMap(({ tokenScopes }) => tokenScopes ?? [])
      const challenge = `Bearer error="insufficient_scope", scope="${[...new Set(needed)].join(' ')}"`
      return call.refuse(refused, 'The credential does not open this operation.', {
        headers: ['WWW-Authenticate', challenge],
      })
    }
    call.refuse(refused, 'The credential holds no subscription to this API.')
  }

  function limit(routed: RoutedCall, callerContext: CallerContext): void {
    const { call, operation } = routed
    if (!options.isAccepting()) return unavailable(call, 'Calls cannot be recorded at the moment.')
    const refusal = admissions.admit(call, callerContext, operation.position, nowMs())
    if (admissions.isApproaching) call.flags |= FLAG_APPROACHING_LIMIT
    if (refusal === null) return send(routed)
    call.refuse(refusal.code, refusal.detail, refusal)
  }

  function refuseCredential({ call, revision, operation }: RoutedCall, refusal: Refusal): void {
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

/** Goes on with a call that has waited, unless it is over by then. */
function resume<T>(call: Call, waiting: Promise<T>, step: (value: T) => void, failed?: (cause: unknown) => void): void {
  const onFailure = failed ?? ((cause: unknown) => call.crash(cause))
  void waiting.then(
    (value) => call.isOver || call.attempt(() => step(value)),
    (cause: unknown) => call.isOver || call.attempt(() => onFailure(cause)),
  )
}
