/**
 * The stages of a call: route → authenticate → authorise → limit and quota → validate → forward → record.
 *
 * Each function below is one stage and ends by calling the next one or by refusing; `send-call.ts` contains the last stages. A
 * stage runs in the same turn of the event loop, unless the call must wait for the main thread or for its body. A stage that
 * resumes first checks whether the call is over.
 */

import type { Caller } from '../boundary/plan/caller.ts'
import { FLAG_APPROACHING_LIMIT, FLAG_PAST_RETIREMENT } from '../storage/spool/call-record.ts'
import { LEASES_CLOSED, NEEDS_LEASE, type Admissions } from './admission.ts'
import type { Authenticator, Refusal } from './authentication/authenticate.ts'
import { authorise } from './authentication/authorise.ts'
import type { Call } from './call/call.ts'
import type { DriftWatch } from './forwarding/drift-watch.ts'
import type { LoopDetection } from './headers/loop-detection.ts'
import { refuseStale, refuseTwoCredentials, refuseUnavailable, type RoutedCall } from './call/routed-call.ts'
import { apiLinesFor, type CompiledRevision } from './call/revision.ts'
import { toAttribution, withRoute } from './call/call-attribution.ts'
import { findCertificateFault } from './call/certificate-check.ts'
import { attributionOf, type CallerContext } from './call/caller-context.ts'
import type { CallerContexts } from './call/caller-contexts.ts'
import type { RequestHeaders } from './headers/upstream-request.ts'
import { REPEATED_CONTENT_TYPE } from './validation/validation-failure.ts'

export interface HandleCallOptions {
  readonly authenticator: Authenticator
  readonly callerContexts: CallerContexts
  readonly admissions: Admissions
  readonly loops: LoopDetection
  readonly drift: DriftWatch
  readonly nowMs: () => number
  readonly servesWithoutLeases: boolean
  /** Whether refusals name paths that no operation has; missing: they do not, because a path may have secrets. */
  readonly namesPaths?: boolean
  /** Whether this process has lost the registry for too long to serve calls, at a time of `performance.now()`. */
  readonly isStaleAt: (monotonicMs: number) => boolean
  /** Returns false while the spool does not accept records. */
  readonly isAccepting: () => boolean
  /** Validates and forwards an admitted call. */
  readonly send: (routed: RoutedCall) => void
}

export const PATH_SHOWN_MAX = 200
/** Bounds the exchanges with the grantor for one call: leases can be taken by other calls again and again. */
const LEASE_ROUNDS_MAX = 20

export interface HandleCall {
  /**
   * Handles a call of a published API. The path of the operation starts at `pathFrom` in the request target. `refusal`: of
   * the credential, if it was verified already.
   */
  (
    call: Call,
    headers: RequestHeaders,
    revision: CompiledRevision,
    pathFrom: number,
    queryAt: number,
    refusal: Refusal | null,
  ): void
}

export function createHandleCall(options: HandleCallOptions): HandleCall {
  return (call, headers, revision, pathFrom, queryAt, refusal) =>
    route(options, call, headers, revision, pathFrom, queryAt, refusal)
}

function route(
  options: HandleCallOptions,
  call: Call,
  headers: RequestHeaders,
  revision: CompiledRevision,
  pathFrom: number,
  queryAt: number,
  refusal: Refusal | null,
): void {
  call.attribution = revision.unrouted
  call.apiLines = apiLinesFor(revision, headers.origin)
  call.readBytesPerSecondMin = revision.readBytesPerSecondMin
  const { plan, routes, operations } = revision
  if (plan.state === 'Retired') return call.refuse('api_retired', `${plan.api} is retired.`)
  if (plan.state === 'Withheld') {
    const detail = `This node cannot serve the active revision of ${plan.api}.`
    return call.refuse('revision_unavailable', detail, { headers: ['Retry-After', '5'] })
  }
  const url = call.request.url ?? ''
  const match = routes.find(call.request.method ?? '', url, pathFrom, queryAt)
  if (match === null || 'allowed' in match) {
    const path = options.namesPaths === true ? url.slice(pathFrom, queryAt).slice(0, PATH_SHOWN_MAX) : null
    return refuseUnknown(options, call, headers, revision, match, path, refusal)
  }
  const operation = operations[match.operation]!
  call.attribution = operation.anonymous
  if (headers.isAmbiguous) return refuseTwoCredentials(call)
  if (options.loops.isLoop(headers)) {
    return call.refuse('loop_detected', 'Via or CDN-Loop shows that the call has passed through this gateway before.')
  }
  const target = url.slice(pathFrom)
  const { request } = call
  const routed: RoutedCall = {
    call,
    revision,
    operation,
    match,
    request,
    headers,
    credentials: headers,
    target,
    queryAt,
    body: null,
    fault: headers.repeatsContentType ? REPEATED_CONTENT_TYPE : null,
    receiver: null,
    callerContext: null,
  }
  authenticate(options, routed, refusal)
}

/**
 * Refuses a call of an operation that the API does not publish, and reports it as drift if its caller is authenticated: the
 * published document may lack an operation that the backend has.
 */
function refuseUnknown(
  { authenticator, drift, isStaleAt, nowMs }: HandleCallOptions,
  call: Call,
  { authorization, apiKey, isAmbiguous }: RequestHeaders,
  revision: CompiledRevision,
  match: { allowed: readonly string[] } | null,
  path: string | null,
  refusal: Refusal | null,
): void {
  const { plan } = revision
  if (isAmbiguous || (authorization === undefined && apiKey === undefined)) return refuse(null)
  const result = refusal ?? authenticator.authenticate(authorization, apiKey, plan.api)
  if (result instanceof Promise) resume(isStaleAt, call, result, refuse)
  else refuse(result)

  function refuse(result: Caller | Refusal | null): void {
    const isAuthenticated = result !== null && !('code' in result)
    if (isAuthenticated) call.attribution = toAttribution(plan, '', result, null)
    const allowed = match?.allowed.join(', ')
    const at = path === null ? 'this path' : `${call.request.method} ${path}`
    if (allowed === undefined) call.refuse('not_found', `${plan.api} has no operation at ${at}.`)
    else
      call.refuse('method_not_allowed', `${path ?? 'This path'} accepts ${allowed}.`, { headers: ['Allow', allowed] })
    if (
      isAuthenticated &&
      revision.reportsUndeclaredOperations &&
      findCertificateFault(result, false, call.socket, nowMs()) === null
    )
      drift.reportOperation(call)
  }
}

function authenticate(options: HandleCallOptions, routed: RoutedCall, refusal: Refusal | null): void {
  const { headers, operation, revision } = routed
  if (headers.authorization === undefined && headers.apiKey === undefined) {
    const { security, requiresCertificate } = operation.plan
    if (security.length === 0 && requiresCertificate !== true) return options.send(routed)
    return refuseCredential(routed, {
      code: 'credential_missing',
      grant: null,
      person: '',
      detail: 'Send a bearer token in Authorization, or a key in x-api-key.',
    })
  }
  if (refusal !== null) return refuseCredential(routed, refusal)
  const result = options.authenticator.authenticate(headers.authorization, headers.apiKey, revision.plan.api)
  if (result instanceof Promise)
    resume(options.isStaleAt, routed.call, result, (late) => findContext(options, routed, late))
  else findContext(options, routed, result)
}

function findContext(options: HandleCallOptions, routed: RoutedCall, result: Caller | Refusal): void {
  if ('code' in result) return refuseCredential(routed, result)
  const context = options.callerContexts.of(result, routed.revision)
  if (!(context instanceof Promise)) return authoriseCaller(options, routed, context)
  const { call } = routed
  resume(
    options.isStaleAt,
    call,
    context,
    (late) => authenticateAgain(options, routed, late),
    () => refuseUnavailable(call, 'The limits of this subscription cannot be read at the moment.', 'limit'),
  )
}

/** Authenticates again, because the credential may have been revoked while the call waited for its counters. */
function authenticateAgain(options: HandleCallOptions, routed: RoutedCall, context: CallerContext): void {
  authenticateWaiting(options, routed, (result) => {
    if ('code' in result) refuseCredential(routed, result)
    else authoriseCaller(options, routed, context)
  })
}

/** Authenticates a call that has waited. */
function authenticateWaiting(
  { authenticator, isStaleAt }: HandleCallOptions,
  { call, revision, credentials }: RoutedCall,
  step: (result: Caller | Refusal) => void,
): void {
  const result = authenticator.authenticate(credentials.authorization, credentials.apiKey, revision.plan.api)
  if (result instanceof Promise) resume(isStaleAt, call, result, step)
  else step(result)
}

function authoriseCaller(options: HandleCallOptions, routed: RoutedCall, context: CallerContext): void {
  const { call, revision, operation } = routed
  routed.callerContext = context
  call.attribution = attributionOf(context, operation.position, call.channel)
  const { deprecation } = revision.plan
  if (deprecation !== undefined && options.nowMs() >= deprecation.retirementMs) call.flags |= FLAG_PAST_RETIREMENT
  if (context.needsCertificate) {
    const isRequired = operation.plan.requiresCertificate === true
    const fault = findCertificateFault(context.caller, isRequired, call.socket, options.nowMs())
    if (fault !== null) return refuseCertificate(routed, fault)
  }
  options.authenticator.noteUse(context.caller)
  const refused = authorise(operation.plan.security, context.caller, revision)
  if (refused === null) return limit(options, routed, context)
  if (refused === 'operation_forbidden') {
    const needed = operation.plan.security.flatMap(({ tokenScopes }) => tokenScopes ?? [])
    const challenge = `Bearer error="insufficient_scope", scope="${[...new Set(needed)].join(' ')}"${revision.challenges.metadata}`
    return call.refuse(refused, 'The credential does not grant access to this operation.', {
      headers: ['WWW-Authenticate', challenge],
    })
  }
  call.refuse(refused, 'The credential has no subscription to this API.')
}

function limit(options: HandleCallOptions, routed: RoutedCall, context: CallerContext): void {
  const { call, operation } = routed
  const { admissions } = options
  if (!options.isAccepting()) return refuseUnavailable(call, 'The gateway cannot record calls at the moment.')
  const refusal = admissions.admit(call, context, operation.position, options.nowMs(), call.countsAlone)
  if (admissions.isApproaching) call.flags |= FLAG_APPROACHING_LIMIT
  if (refusal === null) return options.send(routed)
  if (refusal === NEEDS_LEASE) return waitForLease(options, routed, context)
  // One wait is long enough for nodes that run to report what they hold.
  if (refusal === LEASES_CLOSED && call.leaseRounds === 0) return waitForLease(options, routed, context)
  if (refusal === LEASES_CLOSED) return refuseWithoutLease(call, admissions.closedForMs)
  call.refuse(refusal.code, refusal.detail, refusal)
}

/** Lets the call wait until the node has asked for leases, then decides about it again. */
function waitForLease(options: HandleCallOptions, routed: RoutedCall, context: CallerContext): void {
  const { call } = routed
  if (++call.leaseRounds > LEASE_ROUNDS_MAX) return refuseWithoutLease(call)
  resume(options.isStaleAt, call, options.admissions.wait(context), (isReached) => {
    call.countsAlone = !isReached && options.servesWithoutLeases
    // A part of what the waiting calls need may have been open.
    if (!isReached) call.leaseRounds = LEASE_ROUNDS_MAX
    // Its credential may have been revoked meanwhile, or its limits replaced.
    authenticateWaiting(options, routed, (result) => findContext(options, routed, result))
  })
}

function refuseWithoutLease(call: Call, forMs = 0): void {
  const detail = 'The limits of this subscription are shared by several nodes and cannot be counted at the moment.'
  call.refuse('limits_unavailable', detail, { headers: ['Retry-After', String(Math.max(1, Math.ceil(forMs / 1_000)))] })
}

function refuseCredential({ call, revision, operation }: RoutedCall, refusal: Refusal): void {
  const { grant, person } = refusal
  if (grant !== null && grant.tenant === revision.plan.tenant) {
    const agent = grant.consumerKind === 'agent' ? grant.consumer : ''
    const { operationId } = operation.plan
    call.attribution = withRoute(toAttribution(revision.plan, operationId, { grant, agent, person }, null), operation)
  }
  if (refusal.code === 'unavailable') return refuseUnavailable(call, refusal.detail, 'authenticate')
  const challenge = revision.challenges[refusal.code]
  call.refuse(refusal.code, refusal.detail, challenge === null ? {} : { headers: ['WWW-Authenticate', challenge] })
}

function refuseCertificate({ call, revision }: RoutedCall, detail: string): void {
  const { credential_invalid: challenge } = call.channel === 'mcp' ? revision.mcpChallenges : revision.challenges
  call.refuse('credential_invalid', detail, { headers: ['WWW-Authenticate', challenge] })
}

/** Returns the stages from authorisation on, for a caller that was authenticated elsewhere. */
export function createAdmitCall(options: HandleCallOptions): (routed: RoutedCall, context: CallerContext) => void {
  return (routed, context) => authoriseCaller(options, routed, context)
}

/** Continues a call that has waited, unless the call is over by then, or the registry was lost meanwhile. */
function resume<T>(
  isStaleAt: HandleCallOptions['isStaleAt'],
  call: Call,
  waiting: Promise<T>,
  step: (value: T) => void,
  failed?: (cause: unknown) => void,
): void {
  const onFailure = failed ?? ((cause: unknown) => call.crash(cause))
  const next = (value: T): void => (isStaleAt(performance.now()) ? refuseStale(call) : step(value))
  void waiting.then(
    (value) => call.isOver || call.attempt(() => next(value)),
    (cause: unknown) => call.isOver || call.attempt(() => onFailure(cause)),
  )
}
