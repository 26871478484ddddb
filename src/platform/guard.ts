/**
 * Who may call the platform API, and that every call of it is limited and recorded: the same credentials,
 * scopes, limits, refusals and records as at the gateway.
 *
 * The answer of a call leaves when its record is safe; if it cannot be recorded the caller gets 503,
 * and that answer is not recorded again. Public operations and paths that do not exist leave no record.
 *
 * While the disk refuses records, commands are refused before they do anything, and reads are answered and
 * counted as unrecorded (ADR 9): an operator has to see what is wrong. So is a command that was done when the
 * disk began to refuse: its caller must not believe otherwise.
 */

import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import type { Caller } from '../plan/caller.ts'
import type { Grant } from '../plan/grant.ts'
import type { Explanation } from '../domain/explanation.ts'
import { Problem } from '../domain/problem.ts'
import type { Clock } from '../runtime/clock.ts'
import type { Log } from '../runtime/log.ts'
import { eachHeader, type AdmittedCall, type CallLimits, type CallTerms } from './call-limits.ts'
import { toProblem, writeProblem } from './problems.ts'

export interface PlatformRefusal {
  readonly code: 'credential_missing' | 'credential_invalid' | 'subscription_required' | 'unavailable'
  readonly grant: Grant | null
  readonly detail: string
}

export interface PlatformCall {
  readonly operationId: string
  readonly caller: Caller | null
  /** The known party behind a refused credential. */
  readonly grant: Grant | null
  readonly status: number
  /** The code of a refusal; `served` else. */
  readonly code: string
  readonly startedMs: number
  readonly requestId: string
  /** Why it was refused; null for a call that was served. */
  readonly explanation: Explanation | null
  /** Null: it was refused before its limits were looked at, or by them. */
  readonly terms: CallTerms | null
}

export interface GuardOptions {
  readonly authenticate: (
    authorization: string | undefined,
    apiKey: string | undefined,
  ) => Promise<Caller | PlatformRefusal>
  readonly limits: CallLimits
  /** Resolves when the record is safe. */
  readonly record: (call: PlatformCall) => Promise<void>
  /** Why the disk refuses records; null while it takes them. */
  readonly cannotRecord: () => string | null
  /** Called for each call that was served without a record. */
  readonly onUnrecorded: () => void
  readonly clock: Clock
  readonly log: Log
}

declare module 'fastify' {
  interface FastifyRequest {
    /** Null on public routes, and until the credential has been verified. */
    caller: Caller | null
    /** Records the call before its answer begins; for answers that do not end. */
    recordNow: () => Promise<void>
    /** Whether the credential still opens the operation, as far as can be told; for answers that do not end. */
    isStillOpen: () => Promise<boolean>
  }
}

/** What the guard knows of one call. */
interface Passage {
  readonly startedMs: number
  refusal: { readonly code: string; readonly grant: Grant | null; readonly explanation: Explanation } | null
  /** What the call holds of limits and units. */
  admitted: AdmittedCall | null
}

const READS: ReadonlySet<string> = new Set(['GET', 'HEAD'])
/** Refusals that are events of the security stage or of validation; what else fails was still served. */
const VIOLATIONS = new Set(['payload_invalid', 'payload_too_large', 'media_type_unsupported'])

export function installGuard(app: FastifyInstance, options: GuardOptions): void {
  const { authenticate, limits, record, cannotRecord, onUnrecorded, clock, log } = options
  const passages = new WeakMap<FastifyRequest, Passage>()
  app.decorateRequest('caller', null)
  app.decorateRequest('recordNow', function (this: FastifyRequest) {
    return recordServed(this, 200)
  })
  app.decorateRequest('isStillOpen', async function (this: FastifyRequest) {
    const scope = this.routeOptions.config.operation?.scope ?? ''
    const result = await authenticateRequest(this)
    return 'code' in result ? result.code === 'unavailable' : result.scopes.has(scope)
  })

  function authenticateRequest({ headers }: FastifyRequest): Promise<Caller | PlatformRefusal> {
    const key = headers['x-api-key']
    return authenticate(headers.authorization, Array.isArray(key) ? key.join() : key)
  }

  async function recordCall(request: FastifyRequest, status: number): Promise<void> {
    const operation = request.routeOptions.config.operation
    const passage = passages.get(request)
    if (operation === undefined || passage === undefined) return
    const { refusal, startedMs, admitted } = passage
    // As at the gateway: what was refused or failed on our side costs no units.
    const isServed = refusal === null && status < 500
    if (!isServed) admitted?.giveBack()
    const terms = admitted === null || isServed ? admitted?.terms : { ...admitted.terms, unitsMicro: 0 }
    await record({
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

  /** Throws if a call may not be answered, because it has no record. */
  async function recordServed(request: FastifyRequest, status: number): Promise<void> {
    try {
      await recordCall(request, status)
    } catch (cause) {
      const passage = passages.get(request)
      const isServed = passage !== undefined && passage.refusal === null && status < 500
      if (!isServed || cannotRecord() === null) throw cause
      onUnrecorded()
    }
  }

  function refuseUnrecorded({ method }: FastifyRequest): void {
    const reason = READS.has(method) ? null : cannotRecord()
    if (reason === null) return
    throw new Problem(
      'unavailable',
      `Changes are refused at the moment because the disk cannot be written (${reason}). Retry later.`,
    )
  }

  app.addHook('onRequest', async (request, reply) => {
    void reply.header('X-Request-Id', request.id).header('X-Content-Type-Options', 'nosniff')
    const operation = request.routeOptions.config.operation
    if (operation === undefined || operation.scope === null) return
    const passage: Passage = { startedMs: clock.nowMs(), refusal: null, admitted: null }
    passages.set(request, passage)
    const result = await authenticateRequest(request)
    if ('code' in result) {
      passage.refusal = { code: result.code, grant: result.grant, explanation: { detail: result.detail } }
      challenge(reply, result.code)
      throw new Problem(result.code, result.detail)
    }
    request.caller = result
    if (!result.scopes.has(operation.scope)) {
      const detail = `This operation requires the scope ${operation.scope}.`
      passage.refusal = { code: 'operation_forbidden', grant: result.grant, explanation: { detail } }
      void reply.header('WWW-Authenticate', `Bearer error="insufficient_scope", scope="${operation.scope}"`)
      throw new Problem('operation_forbidden', detail)
    }
    admit(passage, result, operation.operationId, reply)
    refuseUnrecorded(request)
  })

  function admit(passage: Passage, caller: Caller, operationId: string, reply: FastifyReply): void {
    const result = limits.admit(caller, operationId)
    eachHeader(result.headers, (name, value) => reply.header(name, value))
    if ('code' in result) {
      const { code, detail, limit } = result
      passage.refusal = { code, grant: caller.grant, explanation: { detail, limit } }
      throw new Problem(result.code, result.detail, { extensions: result.extensions })
    }
    passage.admitted = result
    // Comes also when the client leaves, which may have been before; `finish` does not.
    if (reply.raw.closed) result.end()
    else reply.raw.once('close', result.end)
  }

  app.addHook('onResponse', async (request) => passages.get(request)?.admitted?.end())

  app.addHook('onSend', async (request, reply, payload) => {
    try {
      await recordServed(request, reply.statusCode)
      return payload
    } catch (cause) {
      // Made here and not thrown: what is thrown comes by here again, to be recorded again.
      log.error({ err: cause, requestId: request.id }, 'platform call could not be recorded; it is answered 503')
      passages.get(request)?.admitted?.giveBack()
      reply.removeHeader('WWW-Authenticate')
      return writeProblem(request, reply, toProblem(cause instanceof Error ? cause : new Error(String(cause))))
    }
  })

  /** A body that breaks the contract is a Protection Violation here as at the gateway. */
  app.addHook('onError', async (request, _reply, error) => {
    const passage = passages.get(request)
    if (passage === undefined || passage.refusal !== null || request.caller === null) return
    const { code, message: detail, errors } = toProblem(error)
    if (VIOLATIONS.has(code)) passage.refusal = { code, grant: request.caller.grant, explanation: { detail, errors } }
  })
}

function challenge(reply: FastifyReply, code: string): void {
  if (code === 'credential_missing') void reply.header('WWW-Authenticate', 'Bearer')
  if (code === 'credential_invalid') void reply.header('WWW-Authenticate', 'Bearer error="invalid_token"')
}
