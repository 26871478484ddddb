/**
 * Idempotency keys of several nodes.
 *
 * The node of a running request holds its key until a time by PostgreSQL's clock, and prolongs it. The first commit of the request to
 * the registry marks the key in its own transaction. If the node dies, the mark decides: a key without one had no effect and is free
 * after its time; a key with one counts as interrupted, and is never executed again. A node that was only slow cannot commit once
 * another has claimed the key.
 *
 * Results that PostgreSQL does not accept stay in memory until it does.
 */

import { randomUUID } from 'node:crypto'
import type pg from 'pg'
import type { Clock } from '../../../foundation/runtime/clock.ts'
import type { IdempotencyStore, StoredRequest } from '../idempotency-store.ts'
import { withRegistryErrors } from './connection.ts'
import type { RunningRequests } from './running-request.ts'

export interface PostgresIdempotencyOptions {
  readonly pool: pg.Pool
  readonly clock: Pick<Clock, 'every'>
  readonly requests: RunningRequests
  /** The keys of running requests could not be prolonged, or results could not be stored; both are repeated. */
  readonly onFailed: (cause: unknown) => void
  /** Seconds for which a key is held without being prolonged. */
  readonly heldSeconds?: number | undefined
}

const HELD_SECONDS = 30
const PROLONG_EVERY_MS = 5_000
/** Number of expired keys that each claim deletes: more than one, so that they decrease. */
const DELETED_PER_CLAIM = 4
/** Maximum number of results in memory; above it, keys remain claimed until their time. */
const UNSTORED_MAX = 1_000
/** A key may expire between the attempt to claim it and the look at it. */
const ATTEMPTS = 3

interface Running {
  readonly claimId: string
  readonly requestHash: string
}

interface KeyRow {
  readonly request_hash: string
  readonly answer: string | null
  readonly has_effect: boolean
  readonly is_held: boolean
}

export function createPostgresIdempotencyStore(options: PostgresIdempotencyOptions): IdempotencyStore {
  const store = new Store(options)
  const stop = options.clock.every(PROLONG_EVERY_MS, () => void store.prolong())
  return {
    claim: (key, requestHash) => store.claim(key, requestHash),
    runClaimed: (key, work) => store.runClaimed(key, work),
    finish: (key, answer) => store.end(key, answer),
    release: (key) => store.end(key, null),
    async close() {
      stop()
      await store.close()
    },
  }
}

class Store {
  readonly #options: PostgresIdempotencyOptions
  readonly #heldSeconds: number
  /** Keys whose requests run in this process. */
  readonly #running = new Map<string, Running>()
  /** Results by id of the claim; null: the key is to be released. */
  readonly #unstored = new Map<string, { readonly key: string; readonly answer: string | null }>()

  constructor(options: PostgresIdempotencyOptions) {
    this.#options = options
    this.#heldSeconds = options.heldSeconds ?? HELD_SECONDS
  }

  async claim(key: string, requestHash: string): Promise<StoredRequest | null> {
    const { pool } = this.#options
    const running = this.#running.get(key)
    if (running !== undefined) return { requestHash: running.requestHash, state: 'running', answer: null }
    const claimId = randomUUID()
    try {
      return await withRegistryErrors(async () => {
        await pool.query(DELETE_EXPIRED, [DELETED_PER_CLAIM])
        for (let attempt = 1; ; attempt++) {
          const { rowCount } = await pool.query(CLAIM, [key, requestHash, claimId, this.#heldSeconds])
          if (rowCount === 1) {
            this.#running.set(key, { claimId, requestHash })
            return null
          }
          const { rows } = await pool.query<KeyRow>(FIND, [key])
          const found = rows[0] === undefined ? null : toStoredRequest(rows[0])
          if (found !== null) return found
          if (attempt === ATTEMPTS) throw new Error('an idempotency key changes faster than it can be read')
        }
      })
    } catch (cause) {
      // The key may have been claimed nevertheless.
      this.#keep(claimId, { key, answer: null })
      throw cause
    }
  }

  runClaimed<Result>(key: string, work: () => Promise<Result>): Promise<Result> {
    const claimId = this.#running.get(key)?.claimId
    if (claimId === undefined) throw new Error('the work of an idempotency key runs without a claim')
    return this.#options.requests.run({ key, claimId }, work)
  }

  async end(key: string, answer: string | null): Promise<void> {
    const claimId = this.#running.get(key)?.claimId
    if (claimId === undefined) return
    try {
      await this.#store(claimId, { key, answer })
    } catch (cause) {
      this.#options.onFailed(cause)
      this.#keep(claimId, { key, answer })
    }
    this.#running.delete(key)
  }

  /** Prolongs the keys of running requests, and stores results that were not accepted before. Never rejects. */
  async prolong(): Promise<void> {
    try {
      const held = [
        ...[...this.#running].map(([key, { claimId }]) => ({ key, claimId })),
        ...[...this.#unstored].map(([claimId, { key }]) => ({ key, claimId })),
      ]
      if (held.length === 0) return
      const columns = [held.map(({ key }) => key), held.map(({ claimId }) => claimId)]
      await this.#options.pool.query(PROLONG, [...columns, this.#heldSeconds])
      await this.#storeKept()
    } catch (cause) {
      this.#options.onFailed(cause)
    }
  }

  async close(): Promise<void> {
    await this.#storeKept().catch((cause: unknown) => this.#options.onFailed(cause))
  }

  async #storeKept(): Promise<void> {
    for (const [claimId, result] of this.#unstored) {
      await this.#store(claimId, result)
      this.#unstored.delete(claimId)
    }
  }

  async #store(
    claimId: string,
    { key, answer }: { readonly key: string; readonly answer: string | null },
  ): Promise<void> {
    const { pool } = this.#options
    await (answer === null ? pool.query(RELEASE, [key, claimId]) : pool.query(FINISH, [key, claimId, answer]))
  }

  #keep(claimId: string, result: { readonly key: string; readonly answer: string | null }): void {
    if (this.#unstored.size < UNSTORED_MAX) this.#unstored.set(claimId, result)
  }
}

/** Returns null if the key is free. */
function toStoredRequest({ request_hash, answer, has_effect, is_held }: KeyRow): StoredRequest | null {
  if (answer !== null) return { requestHash: request_hash, state: 'done', answer }
  if (is_held) return { requestHash: request_hash, state: 'running', answer }
  return has_effect ? { requestHash: request_hash, state: 'cut_off', answer } : null
}

/** Takes over a key that is a day old, or whose request ended without an effect. */
const CLAIM = `INSERT INTO idempotency_key AS k (key, request_hash, claim_id, claimed_at, held_until)
  VALUES ($1, $2, $3, now(), now() + $4 * interval '1 second')
  ON CONFLICT (key) DO UPDATE
  SET request_hash = $2, claim_id = $3, claimed_at = now(), held_until = excluded.held_until,
    has_effect = false, answer = NULL
  WHERE k.held_until <= now()
    AND (k.claimed_at <= now() - interval '1 day' OR (k.answer IS NULL AND NOT k.has_effect))`
const FIND =
  'SELECT request_hash, answer, has_effect, held_until > now() AS is_held FROM idempotency_key WHERE key = $1'
const FINISH = 'UPDATE idempotency_key SET answer = $3, held_until = now() WHERE key = $1 AND claim_id = $2'
const RELEASE = `WITH freed AS (
    DELETE FROM idempotency_key WHERE key = $1 AND claim_id = $2 AND answer IS NULL AND NOT has_effect
  )
  UPDATE idempotency_key SET held_until = now() WHERE key = $1 AND claim_id = $2 AND has_effect`
const PROLONG = `UPDATE idempotency_key SET held_until = now() + $3 * interval '1 second'
  WHERE answer IS NULL AND (key, claim_id) IN (SELECT * FROM unnest($1::text[], $2::uuid[]))`
const DELETE_EXPIRED = `DELETE FROM idempotency_key WHERE key IN (
    SELECT key FROM idempotency_key WHERE claimed_at <= now() - interval '1 day' AND held_until <= now()
    ORDER BY claimed_at LIMIT $1 FOR UPDATE SKIP LOCKED
  )`
