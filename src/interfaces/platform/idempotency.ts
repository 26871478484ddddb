/**
 * `Idempotency-Key` (draft-ietf-httpapi-idempotency-key-header) on every POST: a duplicate within 24 hours gets the stored answer
 * and has no further effect.
 *
 * A key is scoped to credential, person, the consumer that the person acts for, path and body; another body under the same key is refused. Bodies and answers may contain
 * secrets, so a body is stored as a keyed hash, which prevents guessing from a stolen file, and an answer is encrypted. Server
 * errors are not stored, nor refusals by a limit, which ask for the same request later. If the process dies during the work, the
 * outcome may be unknown; the answer to a duplicate says so.
 */

import type { FastifyReply } from 'fastify'
import { Problem, type ProblemCode, type ProblemPointer } from '../../foundation/domain/problem.ts'
import type { Vault } from '../../foundation/runtime/vault.ts'
import type { IdempotencyStore } from '../../storage/store/idempotency-store.ts'
import type { Call } from './operation.ts'

export const IDEMPOTENCY_HEADER = 'Idempotency-Key'
export const idempotencyKey = {
  type: 'string',
  minLength: 1,
  maxLength: 255,
  pattern: '^[\\x21-\\x7e]+$',
  description: 'Identifies the request. A duplicate within 24 hours gets the same answer and has no further effect.',
} as const

/** Runs `work`, or returns its stored result. */
export type Once = (call: Call, reply: FastifyReply, work: () => Promise<unknown>) => Promise<unknown>

export interface IdempotencyOptions {
  readonly store: IdempotencyStore
  readonly vault: Pick<Vault, 'encrypt' | 'decrypt' | 'keyedHash'>
}

interface Kept {
  readonly value?: unknown
  readonly problem?: {
    readonly code: ProblemCode
    readonly detail: string
    readonly errors: readonly ProblemPointer[]
    readonly extensions: Readonly<Record<string, unknown>>
  }
}

export function createOnce({ store, vault }: IdempotencyOptions): Once {
  async function run(key: string, work: () => Promise<unknown>): Promise<unknown> {
    const keep = (kept: Kept): Promise<void> => store.finish(key, vault.encrypt(JSON.stringify(kept), key))
    try {
      const value = await store.runClaimed(key, work)
      await keep({ value })
      return value
    } catch (cause) {
      if (!(cause instanceof Problem) || cause.status >= 500 || cause.code === 'rate_limited') {
        await store.release(key)
        throw cause
      }
      const { code, message: detail, errors, extensions } = cause
      await keep({ problem: { code, detail, errors, extensions } })
      throw cause
    }
  }

  return async (call, reply, work) => {
    const given = call.request.headers['idempotency-key']
    if (given === undefined) return work()
    const { url, body } = call.request
    const key = vault.keyedHash(JSON.stringify([...partyOf(call), url, given]))
    const requestHash = vault.keyedHash(JSON.stringify(body ?? null))
    const before = await store.claim(key, requestHash)
    if (before === null) return run(key, work)
    if (before.requestHash !== requestHash) {
      throw new Problem(
        'idempotency_mismatch',
        'This `Idempotency-Key` was sent with another body. Send a new key for a new request.',
      )
    }
    if (before.answer === null) throw stillRunning(reply, before.state)
    const { value, problem } = JSON.parse(vault.decrypt(before.answer, key)) as Kept
    // The stored answer may contain a secret.
    void reply.header('Idempotency-Replayed', 'true').header('Cache-Control', 'no-store')
    if (problem === undefined) return value
    throw Problem.restore(problem)
  }
}

/** People who use the same client have keys of their own, and for each consumer that they act for. */
function partyOf({ caller: { person, grant }, owner }: Call): readonly string[] {
  const acting = owner === null || owner === grant.consumer ? [] : [owner]
  return [grant.tenant, grant.credential, ...(person === '' ? [] : [person, ...acting])]
}

function stillRunning(reply: FastifyReply, state: string): Problem {
  if (state === 'cut_off') {
    const detail =
      'The request with this `Idempotency-Key` was interrupted and may have taken effect. Read the resource to find out.'
    return new Problem('state_conflict', detail, { extensions: { state: 'unknown', allowed: [] } })
  }
  void reply.header('Retry-After', '1')
  const detail = 'The request with this `Idempotency-Key` is still running. Retry after the time in `Retry-After`.'
  return new Problem('state_conflict', detail, { extensions: { state: 'running', allowed: [] } })
}
