/**
 * Requests and answers of preparations, as rows.
 *
 * Notifications arrive on the connection of the list of nodes, and its report finds what they missed. A node that asks reads the
 * answers once more every 250 ms.
 */

import { randomUUID } from 'node:crypto'
import type pg from 'pg'
import type { Clock } from '../../../foundation/runtime/clock.ts'
import { LIVE_MS } from '../nodes.ts'
import type { Preparations, Prepare, Refusal } from '../preparations.ts'
import { toText, withRegistryErrors } from './connection.ts'
import * as sql from './preparation-statements.ts'

export interface PostgresPreparations extends Preparations {
  /** Another node may have asked. */
  onAsked(): void
  /** Another node may have answered. */
  onAnswered(): void
}

export interface PreparationsOptions {
  readonly pool: Pick<pg.Pool, 'query'>
  readonly clock: Pick<Clock, 'after' | 'every'>
  /** Requests could not be read, or an answer could not be stored; it is tried again. */
  readonly onFailed: (cause: unknown) => void
}

const POLL_EVERY_MS = 250
const NOTHING: Prepare = async () => null

export function createPostgresPreparations(options: PreparationsOptions): PostgresPreparations {
  return new RowsOfPreparations(options)
}

class RowsOfPreparations implements PostgresPreparations {
  readonly #options: PreparationsOptions
  readonly #asking = new Set<() => void>()
  /** Requests that this node prepares, or has answered. */
  readonly #taken = new Set<string>()
  #own: { readonly incarnation: string; prepare: Prepare } | null = null
  #isReading = false
  #isAskedAgain = false

  constructor(options: PreparationsOptions) {
    this.#options = options
  }

  async ask(incarnation: string, body: string): Promise<readonly Refusal[]> {
    const { pool } = this.#options
    const id = randomUUID()
    const { rowCount } = await withRegistryErrors(() => pool.query(sql.ASK, [id, incarnation, toText(body), LIVE_MS]))
    if (rowCount === 0) return []
    try {
      return await this.#answers(id, incarnation)
    } finally {
      // An expired request is removed by the next one.
      pool.query(sql.END, [id]).catch(() => {})
    }
  }

  answer(incarnation: string, prepare: Prepare): () => void {
    const own = { incarnation, prepare }
    this.#own = own
    this.onAsked()
    return () => void (own.prepare = NOTHING)
  }

  onAnswered(): void {
    for (const look of this.#asking) look()
  }

  onAsked(): void {
    this.#isAskedAgain = true
    if (this.#isReading || this.#own === null) return
    this.#isReading = true
    this.#readRequests(this.#own.incarnation).catch(this.#options.onFailed)
  }

  /** Looks at the answers until none is missing, or until the time is over. A read that fails is repeated. */
  #answers(id: string, incarnation: string): Promise<readonly Refusal[]> {
    const { clock, pool } = this.#options
    const { promise, resolve } = Promise.withResolvers<readonly Refusal[]>()
    let isReading = false
    const look = async (): Promise<void> => {
      if (isReading) return
      isReading = true
      try {
        const { rows } = await pool.query<sql.AnswerRow>(sql.ANSWERS, [id, incarnation, LIVE_MS])
        const refusals = rows.flatMap(({ name, reason }) => (reason === null ? [] : [{ node: name, reason }]))
        if (refusals.length > 0 || rows.every(({ awaited }) => !awaited)) resolve(refusals)
      } catch {
      } finally {
        isReading = false
      }
    }
    const onAnswered = (): void => void look()
    this.#asking.add(onAnswered)
    const stopPolling = clock.every(POLL_EVERY_MS, onAnswered)
    const cancel = clock.after(LIVE_MS, () => resolve([]))
    onAnswered()
    return promise.finally(() => {
      this.#asking.delete(onAnswered)
      stopPolling()
      cancel()
    })
  }

  async #readRequests(incarnation: string): Promise<void> {
    try {
      while (this.#isAskedAgain) {
        this.#isAskedAgain = false
        const { rows } = await this.#options.pool.query<sql.RequestRow>(sql.REQUESTS, [incarnation, [...this.#taken]])
        for (const { id, body } of rows) if (!this.#taken.has(id)) void this.#prepare(id, body)
      }
    } finally {
      // In the same turn as the last look at the hint, so that none is missed.
      this.#isReading = false
    }
  }

  async #prepare(id: string, body: string): Promise<void> {
    const { pool, onFailed } = this.#options
    const own = this.#own
    if (own === null) return
    this.#taken.add(id)
    try {
      const reason = await own.prepare(body)
      await pool.query(sql.ANSWER, [id, own.incarnation, reason === null ? null : toText(reason)])
    } catch (cause) {
      onFailed(cause)
    } finally {
      this.#taken.delete(id)
    }
  }
}
