/**
 * Guards the platform API: authenticates, authorises, limits and records each call by the same rules as the gateway.
 *
 * An answer leaves after its record is safe. If the record cannot be written, the caller gets 503 instead, and that answer is not
 * recorded again. Public operations and unknown paths leave no record.
 *
 * The endpoint for messages (MCP) is guarded without a scope and without limits. A message is recorded without an operation and
 * without units, unless it called operations, which are recorded themselves.
 *
 * While the disk refuses records, commands are refused before they have an effect. Reads are answered and counted as unrecorded
 * (ADR 9), so that an operator can see what is wrong. A command that took effect before the disk failed is also answered and
 * counted: a 503 would be a false report.
 */

import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import type { Entitlements } from '../../control/access/people/entitlements.ts'
import { toParty, type Caller } from '../../boundary/plan/caller.ts'
import { isBound } from '../../boundary/plan/certificate-binding.ts'
import type { Grant } from '../../boundary/plan/grant.ts'
import { Problem, type ProblemCode } from '../../foundation/domain/problem.ts'
import { isOwnScope } from '../../foundation/domain/scope-width.ts'
import type { Clock } from '../../foundation/runtime/clock.ts'
import { CONSUMER_HEADER, ownerOf } from './caller-owner.ts'
import { eachHeader, type Attempt, type CallLimits, type WaitingCall } from './call-limits.ts'
import {
  noteViolation,
  recordAnswer,
  recordServed,
  type GuardedCall,
  type GuardedCalls,
  type RecordOptions,
} from './guarded-calls.ts'
import { RESOURCE_METADATA_PATH, type PublicAddresses } from './protected-resource.ts'
import type { InnerCall, InnerCalls } from './mcp/inner-call.ts'
import { alternativesOf } from './scope-widths.ts'
import type { OperationConfig } from './serve.ts'

export interface PlatformRefusal {
  readonly code: 'credential_missing' | 'credential_invalid' | 'subscription_required' | 'unavailable'
  readonly grant: Grant | null
  /** The person that a verified token names; default: none. */
  readonly person?: string
  readonly detail: string
}

export interface GuardOptions extends RecordOptions {
  readonly authenticate: (
    authorization: string | undefined,
    apiKey: string | undefined,
  ) => Promise<Caller | PlatformRefusal>
  /** Notes that a caller uses its credential. */
  readonly noteUse: (caller: Caller) => void
  readonly entitlements: Pick<Entitlements, 'ofUser'>
  readonly limits: CallLimits
  /** Returns the public addresses; called once they are known. */
  readonly addresses: () => Pick<PublicAddresses, 'baseUrl'>
  readonly clock: Clock
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
    /** Records the call as refused, whatever its answer is. */
    noteRefusal: (code: ProblemCode, detail: string) => void
    /** Leaves the call without a record, because the operations that it called have theirs. */
    skipRecord: () => void
  }
  interface FastifyContextConfig {
    /** The path of an endpoint for messages, which call operations. */
    messages?: string
  }
}

interface Guard extends GuardedCalls {
  readonly options: GuardOptions
  readonly innerCalls: Pick<InnerCalls, 'current'>
}

const READS: ReadonlySet<string> = new Set(['GET', 'HEAD'])
export function installGuard(
  app: FastifyInstance,
  options: GuardOptions,
  innerCalls: Pick<InnerCalls, 'current'>,
): void {
  const guard: Guard = { options, innerCalls, calls: new WeakMap() }
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
  app.decorateRequest('noteRefusal', function (this: FastifyRequest, code, detail) {
    const call = guard.calls.get(this)
    if (call !== undefined) call.refusal ??= { code, explanation: { detail } }
  })
  app.decorateRequest('skipRecord', function (this: FastifyRequest) {
    guard.calls.delete(this)
  })
  app.addHook('onRequest', (request, reply) => admitCall(guard, request, reply))
  app.addHook('onError', async (request, _reply, error) => noteViolation(guard, request, error))
  app.addHook('onSend', (request, reply, payload) => recordAnswer(guard, request, reply, payload))
  app.addHook('onResponse', async (request) => guard.calls.get(request)?.admitted?.end())
}

/** Lets a call pass if its credential, its scope, its limits and the disk permit it; throws a `Problem` otherwise. */
async function admitCall(guard: Guard, request: FastifyRequest, reply: FastifyReply): Promise<void> {
  void reply.header('X-Request-Id', request.id)
  const { operation, messages } = request.routeOptions.config
  const isGuarded = messages !== undefined || (operation !== undefined && operation.scope !== null)
  if (!isGuarded) return
  const inner = guard.innerCalls.current()
  const channel = inner === null && messages === undefined ? 'http' : 'mcp'
  const call: GuardedCall = {
    startedMs: guard.options.clock.nowMs(),
    channel,
    party: null,
    refusal: null,
    admitted: null,
  }
  guard.calls.set(request, call)
  if (inner !== null) inner.isReached = true
  let waiting: WaitingCall | null = null
  do {
    const attempt = await waiting?.wait
    const caller = await admitCaller(guard, request, reply, call)
    if (operation === undefined) return
    await authorise(guard, request, reply, { call, caller, operation })
    waiting = takeLimits(guard, { call, caller, operation }, reply, attempt)
  } while (waiting !== null)
  refuseUnrecorded(guard, request)
  refuseFault(inner, operation)
}

/** Throws a `Problem` unless the credential is valid. */
async function admitCaller(
  guard: Guard,
  request: FastifyRequest,
  reply: FastifyReply,
  call: GuardedCall,
): Promise<Caller> {
  const result = await authenticateRequest(guard, request)
  if ('code' in result) {
    const { messages = '' } = request.routeOptions.config
    call.party = result.grant === null ? null : toParty(result.grant, result.person)
    call.refusal = { code: result.code, explanation: { detail: result.detail } }
    if (result.code === 'credential_missing') challenge(guard, reply, '', messages)
    if (result.code === 'credential_invalid') challenge(guard, reply, 'error="invalid_token"', messages)
    throw new Problem(result.code, result.detail)
  }
  request.caller = result
  call.party = result
  return result
}

interface Wanted {
  readonly call: GuardedCall
  readonly caller: Caller
  readonly operation: OperationConfig
}

/** Throws a `Problem` unless the scopes of the caller permit the operation. */
async function authorise(
  guard: Guard,
  request: FastifyRequest,
  reply: FastifyReply,
  { call, caller: result, operation }: Wanted,
): Promise<void> {
  const alternatives = alternativesOf(operation)
  const opening = alternatives.find((scope) => result.scopes.has(scope))
  if (opening === undefined) {
    const detail = `This operation requires the scope ${alternatives.join(' or ')}.`
    call.refusal = { code: 'operation_forbidden', explanation: { detail } }
    challenge(guard, reply, `error="insufficient_scope", scope="${operation.scope}"`)
    throw new Problem('operation_forbidden', detail)
  }
  if (isOwnScope(opening)) {
    request.owner = await ownerOf(guard.options.entitlements, result, opening, wantedConsumer(request))
    if (request.owner === null) {
      const detail = 'The roles of the person do not cover this consumer.'
      call.refusal = { code: 'operation_forbidden', explanation: { detail } }
      throw new Problem('operation_forbidden', detail)
    }
  }
}

async function authenticateRequest(guard: Guard, { headers }: FastifyRequest): Promise<Caller | PlatformRefusal> {
  const key = headers['x-api-key']
  const result = await guard.options.authenticate(headers.authorization, Array.isArray(key) ? key.join() : key)
  if ('code' in result) return result
  if (isBound(result)) return refuseBound(result)
  guard.options.noteUse(result)
  return result
}

/** The ports of the platform ask for no client certificates. */
function refuseBound({ grant, person }: Caller): PlatformRefusal {
  const detail = 'The credential is bound to a client certificate, which the platform API does not ask for.'
  return { code: 'credential_invalid', grant, person, detail }
}

function wantedConsumer({ headers }: FastifyRequest): string | undefined {
  const wanted = headers[CONSUMER_HEADER.toLowerCase()]
  return Array.isArray(wanted) ? wanted.join() : wanted
}

/** Names the metadata of the platform as a protected resource (RFC 9728, 5.1). */
function challenge({ options }: Guard, reply: FastifyReply, error = '', path = ''): void {
  const metadata = `resource_metadata="${options.addresses().baseUrl}${RESOURCE_METADATA_PATH}${path}"`
  void reply.header('WWW-Authenticate', error === '' ? `Bearer ${metadata}` : `Bearer ${error}, ${metadata}`)
}

/** Returns the call if it has to wait. */
function takeLimits(
  { options }: Guard,
  { call, caller, operation }: Wanted,
  reply: FastifyReply,
  attempt: Attempt | undefined,
): WaitingCall | null {
  const result = options.limits.admit(caller, operation.operationId, attempt)
  if ('wait' in result) return result
  eachHeader(result.headers, (name, value) => reply.header(name, value))
  if ('code' in result) {
    const { code, detail, limit } = result
    call.refusal = { code, explanation: { detail, ...(limit !== undefined && { limit }) } }
    throw new Problem(code, detail, { extensions: result.extensions })
  }
  call.admitted = result
  result.onSlotLost(() => void reply.raw.destroy())
  // `close` is also emitted when the client disconnects, possibly before this line; `finish` is not.
  if (reply.raw.closed) result.end()
  else reply.raw.once('close', result.end)
  return null
}

function refuseUnrecorded({ options }: Guard, { method }: FastifyRequest): void {
  const reason = READS.has(method) ? null : options.cannotRecord()
  if (reason === null) return
  const detail = `Changes are refused at the moment because the disk cannot be written (${reason}). Retry later.`
  throw new Problem('unavailable', detail)
}

/** Refuses an inner call that cannot be sent, or that its arguments would lead to another operation. */
function refuseFault(inner: InnerCall | null, { operationId }: OperationConfig): void {
  if (inner === null) return
  if (inner.fault !== null) throw inner.fault
  if (inner.operationId !== operationId)
    throw new Problem('payload_invalid', 'The arguments lead to another operation.')
}
