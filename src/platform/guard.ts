/**
 * Guards the platform API: authenticates, authorises, limits and records each call by the same rules as the gateway.
 *
 * An answer leaves after its record is safe. If the record cannot be written, the caller gets 503 instead, and that answer is not
 * recorded again. Public operations and unknown paths leave no record.
 *
 * While the disk refuses records, commands are refused before they have an effect. Reads are answered and counted as unrecorded
 * (ADR 9), so that an operator can see what is wrong. A command that took effect before the disk failed is also answered and
 * counted: a 503 would be a false report.
 */

import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import type { Entitlements } from '../access/people/entitlements.ts'
import type { Caller } from '../plan/caller.ts'
import type { Grant } from '../plan/grant.ts'
import type { Explanation } from '../domain/explanation.ts'
import { Problem } from '../domain/problem.ts'
import { isOwnScope } from '../domain/scope-width.ts'
import type { Clock } from '../runtime/clock.ts'
import type { Log } from '../runtime/log.ts'
import { CONSUMER_HEADER, ownerOf } from './caller-owner.ts'
import { eachHeader, type AdmittedCall, type CallLimits, type CallTerms } from './call-limits.ts'
import { toProblem, writeProblem } from './problems.ts'
import { RESOURCE_METADATA_PATH, type PublicAddresses } from './protected-resource.ts'
import { alternativesOf } from './scope-widths.ts'

export interface PlatformRefusal {
  readonly code: 'credential_missing' | 'credential_invalid' | 'subscription_required' | 'unavailable'
  readonly grant: Grant | null
  readonly detail: string
}

export interface PlatformCall {
  readonly operationId: string
  readonly caller: Caller | null
  /** The grant of a refused credential, if it is known. */
  readonly grant: Grant | null
  readonly status: number
  /** The code of a refusal, else `served`. */
  readonly code: string
  readonly startedMs: number
  readonly requestId: string
  /** The reason of a refusal; null for a call that was served. */
  readonly explanation: Explanation | null
  /** Null if the call was refused by its limits or before they were checked. */
  readonly terms: CallTerms | null
}

export interface GuardOptions {
  readonly authenticate: (
    authorization: string | undefined,
    apiKey: string | undefined,
  ) => Promise<Caller | PlatformRefusal>
  readonly entitlements: Pick<Entitlements, 'ofUser'>
  readonly limits: CallLimits
  /** Resolves when the record is safe. */
  readonly record: (call: PlatformCall) => Promise<void>
  /** Returns why the disk refuses records, or null. */
  readonly cannotRecord: () => string | null
  /** Called for each call that was served without a record. */
  readonly onUnrecorded: () => void
  /** Returns the public addresses; called once they are known. */
  readonly addresses: () => Pick<PublicAddresses, 'baseUrl'>
  readonly clock: Clock
  readonly log: Log
}

declare module 'fastify' {
  interface FastifyRequest {
    /** Null on public routes, and until the credential has been verified. */
    caller: Caller | null
    /** The consumer of the caller if it has only the own width of the scope. */
    owner: string | null
    /** Records the call before its answer begins; for answers without an end. */
    recordNow: () => Promise<void>
    /** Whether the credential still grants the operation, or cannot be checked; for answers without an end. */
    isStillOpen: () => Promise<boolean>
  }
}

interface Guard {
  readonly options: GuardOptions
  readonly calls: WeakMap<FastifyRequest, GuardedCall>
}

/** The state of one call between the hooks. */
interface GuardedCall {
  readonly startedMs: number
  refusal: { readonly code: string; readonly grant: Grant | null; readonly explanation: Explanation } | null
  /** The call's share of its limits and units. */
  admitted: AdmittedCall | null
}

const READS: ReadonlySet<string> = new Set(['GET', 'HEAD'])
/** Errors that are recorded as refusals. A call with any other error is recorded as served. */
const VIOLATIONS = new Set(['payload_invalid', 'payload_too_large', 'media_type_unsupported'])

export function installGuard(app: FastifyInstance, options: GuardOptions): void {
  const guard: Guard = { options, calls: new WeakMap() }
  app.decorateRequest('caller', null)
  app.decorateRequest('owner', null)
  app.decorateRequest('recordNow', function (this: FastifyRequest) {
    return recordServed(guard, this, 200)
  })
  app.decorateRequest('isStillOpen', async function (this: FastifyRequest) {
    const { operation } = this.routeOptions.config
    const result = await authenticateRequest(guard, this)
    if ('code' in result) return result.code === 'unavailable'
    // A stream continues with what it began with, so a caller that is left with the own width must open it again.
    const wanted = operation === undefined ? [] : alternativesOf(operation)
    return (this.owner === null ? wanted.slice(0, 1) : wanted).some((scope) => result.scopes.has(scope))
  })
  app.addHook('onRequest', (request, reply) => admitCall(guard, request, reply))
  app.addHook('onError', async (request, _reply, error) => noteViolation(guard, request, error))
  app.addHook('onSend', (request, reply, payload) => recordAnswer(guard, request, reply, payload))
  app.addHook('onResponse', async (request) => guard.calls.get(request)?.admitted?.end())
}

/** Lets a call pass if its credential, its scope, its limits and the disk permit it; throws a `Problem` otherwise. */
async function admitCall(guard: Guard, request: FastifyRequest, reply: FastifyReply): Promise<void> {
  void reply.header('X-Request-Id', request.id).header('X-Content-Type-Options', 'nosniff')
  const operation = request.routeOptions.config.operation
  if (operation === undefined || operation.scope === null) return
  const call: GuardedCall = { startedMs: guard.options.clock.nowMs(), refusal: null, admitted: null }
  guard.calls.set(request, call)
  const result = await authenticateRequest(guard, request)
  if ('code' in result) {
    call.refusal = { code: result.code, grant: result.grant, explanation: { detail: result.detail } }
    if (result.code === 'credential_missing') challenge(guard, reply)
    if (result.code === 'credential_invalid') challenge(guard, reply, 'error="invalid_token"')
    throw new Problem(result.code, result.detail)
  }
  request.caller = result
  const alternatives = alternativesOf(operation)
  const opening = alternatives.find((scope) => result.scopes.has(scope))
  if (opening === undefined) {
    const detail = `This operation requires the scope ${alternatives.join(' or ')}.`
    call.refusal = { code: 'operation_forbidden', grant: result.grant, explanation: { detail } }
    challenge(guard, reply, `error="insufficient_scope", scope="${operation.scope}"`)
    throw new Problem('operation_forbidden', detail)
  }
  if (isOwnScope(opening)) {
    request.owner = await ownerOf(guard.options.entitlements, result, opening, wantedConsumer(request))
    if (request.owner === null) {
      const detail = 'The roles of the person do not cover this consumer.'
      call.refusal = { code: 'operation_forbidden', grant: result.grant, explanation: { detail } }
      throw new Problem('operation_forbidden', detail)
    }
  }
  takeLimits(guard, call, result, operation.operationId, reply)
  refuseUnrecorded(guard, request)
}

function authenticateRequest(guard: Guard, { headers }: FastifyRequest): Promise<Caller | PlatformRefusal> {
  const key = headers['x-api-key']
  return guard.options.authenticate(headers.authorization, Array.isArray(key) ? key.join() : key)
}

function wantedConsumer({ headers }: FastifyRequest): string | undefined {
  const wanted = headers[CONSUMER_HEADER.toLowerCase()]
  return Array.isArray(wanted) ? wanted.join() : wanted
}

/** Names the metadata of the platform as a protected resource (RFC 9728, 5.1). */
function challenge({ options }: Guard, reply: FastifyReply, error = ''): void {
  const metadata = `resource_metadata="${options.addresses().baseUrl}${RESOURCE_METADATA_PATH}"`
  void reply.header('WWW-Authenticate', error === '' ? `Bearer ${metadata}` : `Bearer ${error}, ${metadata}`)
}

function takeLimits(
  { options }: Guard,
  call: GuardedCall,
  caller: Caller,
  operationId: string,
  reply: FastifyReply,
): void {
  const result = options.limits.admit(caller, operationId)
  eachHeader(result.headers, (name, value) => reply.header(name, value))
  if ('code' in result) {
    const { code, detail, limit } = result
    call.refusal = { code, grant: caller.grant, explanation: { detail, limit } }
    throw new Problem(code, detail, { extensions: result.extensions })
  }
  call.admitted = result
  // `close` is also emitted when the client disconnects, possibly before this line; `finish` is not.
  if (reply.raw.closed) result.end()
  else reply.raw.once('close', result.end)
}

function refuseUnrecorded({ options }: Guard, { method }: FastifyRequest): void {
  const reason = READS.has(method) ? null : options.cannotRecord()
  if (reason === null) return
  const detail = `Changes are refused at the moment because the disk cannot be written (${reason}). Retry later.`
  throw new Problem('unavailable', detail)
}

/** Marks a call whose body or query breaks the contract as refused, which is a Protection Violation as at the gateway. */
function noteViolation(guard: Guard, request: FastifyRequest, error: Error): void {
  const call = guard.calls.get(request)
  if (call === undefined || call.refusal !== null || request.caller === null) return
  const { code, message: detail, errors } = toProblem(error)
  if (VIOLATIONS.has(code)) call.refusal = { code, grant: request.caller.grant, explanation: { detail, errors } }
}

/** Returns the payload to send: the answer after its record is safe, or a problem document. */
async function recordAnswer(
  guard: Guard,
  request: FastifyRequest,
  reply: FastifyReply,
  payload: unknown,
): Promise<unknown> {
  try {
    await recordServed(guard, request, reply.statusCode)
    return payload
  } catch (cause) {
    // An error thrown here would run this hook again and record the call a second time.
    guard.options.log.error(
      { err: cause, requestId: request.id },
      'platform call could not be recorded; the response is 503',
    )
    guard.calls.get(request)?.admitted?.giveBack()
    reply.removeHeader('WWW-Authenticate')
    return writeProblem(request, reply, toProblem(cause instanceof Error ? cause : new Error(String(cause))))
  }
}

/** Records a call; throws if it has no record and must not be answered. */
async function recordServed(guard: Guard, request: FastifyRequest, status: number): Promise<void> {
  try {
    await recordCall(guard, request, status)
  } catch (cause) {
    const call = guard.calls.get(request)
    const isServed = call !== undefined && call.refusal === null && status < 500
    if (!isServed || guard.options.cannotRecord() === null) throw cause
    guard.options.onUnrecorded()
  }
}

async function recordCall({ options, calls }: Guard, request: FastifyRequest, status: number): Promise<void> {
  const operation = request.routeOptions.config.operation
  const call = calls.get(request)
  if (operation === undefined || call === undefined) return
  const { refusal, startedMs, admitted } = call
  // As at the gateway, a call that was refused or that failed on the server's side costs no units.
  const isServed = refusal === null && status < 500
  if (!isServed) admitted?.giveBack()
  const terms = admitted === null || isServed ? admitted?.terms : { ...admitted.terms, unitsMicro: 0 }
  await options.record({
    terms: terms ?? null,
    operationId: operation.operationId,
    caller: refusal === null ? request.caller : null,
    grant: refusal?.grant ?? null,
    status,
    code: refusal?.code ?? 'served',
    startedMs,
    requestId: request.id,
    explanation: refusal?.explanation ?? null,
  })
}
