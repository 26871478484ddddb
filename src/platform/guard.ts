/**
 * Who may call the platform API, and that every call of it is recorded: the same credentials, scopes,
 * refusals and records as at the gateway.
 *
 * The answer of a call leaves when its record is safe; where it cannot be recorded the caller gets 503.
 */

import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import type { Caller } from '../catalogue/caller.ts'
import type { Grant } from '../catalogue/grant.ts'
import { Problem } from '../domain/problem.ts'
import type { Clock } from '../runtime/clock.ts'

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
}

export interface GuardOptions {
  readonly authenticate: (
    authorization: string | undefined,
    apiKey: string | undefined,
  ) => Promise<Caller | PlatformRefusal>
  /** Resolves when the record is safe. */
  readonly record: (call: PlatformCall) => Promise<void>
  readonly clock: Clock
}

interface Outcome {
  code: string
  grant: Grant | null
}

export function installGuard(app: FastifyInstance, { authenticate, record, clock }: GuardOptions): void {
  const outcomes = new WeakMap<FastifyRequest, Outcome>()
  app.decorateRequest('caller', null)
  app.decorateRequest('startedMs', 0)
  app.decorateRequest('recordNow', function (this: FastifyRequest) {
    return recordCall(this, 200)
  })

  async function recordCall(request: FastifyRequest, status: number): Promise<void> {
    const declaration = request.routeOptions.config.declaration
    if (declaration === undefined || declaration.scope === null) return
    const outcome = outcomes.get(request)
    await record({
      operationId: declaration.operationId,
      caller: outcome === undefined ? request.caller : null,
      grant: outcome?.grant ?? null,
      status,
      code: outcome?.code ?? 'served',
      startedMs: request.startedMs,
      requestId: request.id,
    })
  }

  app.addHook('onRequest', async (request, reply) => {
    request.startedMs = clock.nowMs()
    void reply.header('X-Request-Id', request.id)
    const declaration = request.routeOptions.config.declaration
    if (declaration === undefined || declaration.scope === null) return
    const key = request.headers['x-api-key']
    const result = await authenticate(request.headers.authorization, Array.isArray(key) ? key.join() : key)
    if ('code' in result) {
      outcomes.set(request, { code: result.code, grant: result.grant })
      challenge(reply, result.code)
      throw new Problem(result.code, result.detail)
    }
    request.caller = result
    if (result.scopes.has(declaration.scope)) return
    outcomes.set(request, { code: 'operation_forbidden', grant: result.grant })
    void reply.header('WWW-Authenticate', `Bearer error="insufficient_scope", scope="${declaration.scope}"`)
    throw new Problem('operation_forbidden', `This operation needs the scope ${declaration.scope}.`)
  })

  app.addHook('onSend', async (request, reply, payload) => {
    await recordCall(request, reply.statusCode)
    return payload
  })

  /** A body that breaks the contract is a Protection Violation here as at the gateway. */
  app.addHook('onError', async (request, _reply, error) => {
    if (outcomes.has(request) || request.caller === null) return
    const code = error instanceof Problem ? error.code : error.validation === undefined ? null : 'payload_invalid'
    if (code === 'payload_invalid' || code === 'payload_too_large' || code === 'media_type_unsupported') {
      outcomes.set(request, { code, grant: request.caller.grant })
    }
  })
}

function challenge(reply: FastifyReply, code: string): void {
  if (code === 'credential_missing') void reply.header('WWW-Authenticate', 'Bearer')
  if (code === 'credential_invalid') void reply.header('WWW-Authenticate', 'Bearer error="invalid_token"')
}
