/**
 * The grantor of slices in PostgreSQL: one transaction for each message, in which the pure grantor runs on the stored state.
 *
 * A request takes a connection that commands cannot take, and only one at a time. If it does not succeed in time, its connection is
 * closed; whether it was committed is unknown then, and the next report of the node replaces it. After some failures in a row,
 * messages fail at once.
 */

import { createHash } from 'node:crypto'
import type pg from 'pg'
import { placeOf } from '../../../boundary/leases/grantor-state.ts'
import type { OpenedEpoch } from '../../../boundary/leases/lease-membership.ts'
import type { LeaseItem, LeaseMessage, LeaseReply } from '../../../boundary/leases/lease-messages.ts'
import { SLICE_TIMINGS, type LeaseTimings } from '../../../boundary/leases/lease-timings.ts'
import {
  grantSlices,
  type SliceCounter,
  type SliceGeneration,
  type SliceMoment,
  type SliceRequest,
  type SliceState,
} from '../../../boundary/leases/slice-grantor.ts'
import type { Clock } from '../../../foundation/runtime/clock.ts'
import { createMonotonicClock } from '../../../foundation/runtime/monotonic.ts'
import { CircuitBreaker } from '../circuit-breaker.ts'
import { RegistryUnreachable, toRegistryError, toText } from './connection.ts'
import * as sql from './lease-statements.ts'
import { withClientFor } from './limited-client.ts'

export interface PostgresLeases {
  /** Rejects with an error of the registry. The message may have been executed then. */
  send(message: LeaseMessage): Promise<LeaseReply>
  /** Numbers a new generation, for `LeaseDriver`. */
  openEpoch(above: number): Promise<OpenedEpoch>
  /** Whether messages fail at once at the moment, because the server did not answer before. */
  readonly isOpen: boolean
}

export interface PostgresLeasesOptions {
  /** Its owner ends it. */
  readonly pool: pg.Pool
  /** As in the list of nodes. */
  readonly nodeName: string
  readonly clock: Pick<Clock, 'after'>
  /** Measures pauses. */
  readonly monotonicMs?: () => number
  readonly timings?: LeaseTimings
  /** Tests replace them. */
  readonly statements?: { readonly load: string; readonly store: string }
}

interface Committed extends SliceRequest {
  readonly node: string
}

type Client = Pick<pg.ClientBase, 'query'>

const BREAKER = { failuresMax: 3, pauseMs: 1_000 }
const CLEAN_EVERY_MS = 60_000

export function createPostgresLeases(options: PostgresLeasesOptions): PostgresLeases {
  return new SliceDatabase(options)
}

class SliceDatabase implements PostgresLeases {
  readonly #pool: pg.Pool
  readonly #nodeName: string
  readonly #clock: Pick<Clock, 'after'>
  readonly #monotonicMs: () => number
  readonly #timings: LeaseTimings
  readonly #statements: { readonly load: string; readonly store: string }
  readonly #breaker: CircuitBreaker
  #committed: Committed | null = null
  #cleanDueMs: number

  constructor(options: PostgresLeasesOptions) {
    const { pool, nodeName, clock, timings = SLICE_TIMINGS, statements } = options
    const { monotonicMs = createMonotonicClock() } = options
    this.#pool = pool
    this.#nodeName = toText(nodeName)
    this.#clock = clock
    this.#monotonicMs = monotonicMs
    this.#breaker = new CircuitBreaker({ ...BREAKER, monotonicMs })
    this.#cleanDueMs = monotonicMs() + CLEAN_EVERY_MS
    this.#timings = timings
    this.#statements = statements ?? { load: sql.LOAD, store: sql.STORE }
  }

  get isOpen(): boolean {
    return this.#breaker.isOpen
  }

  async send(message: LeaseMessage): Promise<LeaseReply> {
    const reply = await this.#guarded((client) => this.#execute(client, message))
    if (message.type === 'request' && reply.type === 'granted') this.#committed = message
    return reply
  }

  openEpoch(above: number): Promise<OpenedEpoch> {
    return this.#guarded(async (client) => {
      const { rows } = await client.query<{ epoch: number; listed: readonly string[] }>(sql.OPEN_EPOCH)
      const { epoch, listed } = rows[0]!
      return { epoch: Math.max(epoch, above) + 1, isFirst: epoch === 0 && above === 0, members: listed }
    })
  }

  async #guarded<Result>(work: (client: Client) => Promise<Result>): Promise<Result> {
    if (!this.#breaker.allows()) {
      throw new RegistryUnreachable('PostgreSQL did not answer; requests for slices are paused')
    }
    try {
      const result = await withClientFor(
        { pool: this.#pool, clock: this.#clock, limitMs: this.#timings.requestMs },
        work,
      )
      this.#breaker.succeeded()
      return result
    } catch (cause) {
      this.#breaker.failed()
      throw toRegistryError(cause)
    }
  }

  async #execute(client: Client, message: LeaseMessage): Promise<LeaseReply> {
    const { state, moment } = await this.#load(client, message)
    const before = { ...state, counters: new Map(state.counters) }
    const sender = { name: this.#nodeName, committed: this.#isOwn(message) ? this.#committed : null }
    const reply = grantSlices(state, message, moment, sender, this.#timings)
    if (state.generation !== null && state.generation !== before.generation) {
      await this.#store(client, message, before.counters, state)
    }
    await this.#clean(client)
    await client.query('COMMIT')
    return reply
  }

  async #load(client: Client, message: LeaseMessage): Promise<{ state: SliceState; moment: SliceMoment }> {
    const items = message.type === 'request' ? message.items : []
    const identity = message.type === 'request' ? message.node : (this.#committed?.node ?? null)
    const locked = await client.query(sql.beginWithin(this.#timings.requestMs))
    // Several statements in one text have several results.
    const row = (locked as unknown as readonly pg.QueryResult<sql.GenerationRow>[]).at(-1)!.rows[0]!
    const places = [items.map(({ key }) => hashOf(key)), items.map(startOf)]
    const { rows } = await client.query<sql.LoadedRow>(this.#statements.load, [identity, ...places])
    const { now_ms: nowMs, history, listed, last, counters } = rows[0]!
    const stored = new Map(counters.map((counter) => [`${counter.hash} ${counter.start_ms}`, toCounter(counter)]))
    const known = items.flatMap((item) => {
      const counter = stored.get(`${hashOf(item.key)} ${startOf(item)}`)
      return counter === undefined ? [] : [[placeOf(item.key, item.budget), counter] as const]
    })
    const state = { generation: row.epoch === 0 ? null : toGeneration(row), last, counters: new Map(known) }
    return { state, moment: { nowMs, runId: `${history}-${row.table_id}`, listed } }
  }

  async #store(
    client: Client,
    message: LeaseMessage,
    before: ReadonlyMap<string, SliceCounter>,
    { generation, last, counters }: SliceState,
  ): Promise<void> {
    const { epoch, runId, startMs, isFirst, readyMs, confirmations, waiting } = generation!
    const items = message.type === 'request' ? message.items : []
    const rows = items.flatMap((item) => {
      const place = placeOf(item.key, item.budget)
      const counter = counters.get(place)
      return counter === undefined || isEqual(before.get(place), counter, this.#timings) ? [] : [toRow(item, counter)]
    })
    const identity = message.type === 'request' && last !== null ? message.node : null
    await client.query(this.#statements.store, [
      ...[epoch, runId, startMs, isFirst, readyMs, confirmations, JSON.stringify(waiting)],
      ...[identity, this.#nodeName, last?.epoch, last?.session, last?.sequence],
      JSON.stringify([...new Map(rows.map((row) => [`${row.hash} ${row.start_ms}`, row])).values()]),
    ])
  }

  /** A node has one identity as long as it runs. */
  #isOwn(message: LeaseMessage): boolean {
    return message.type !== 'request' || message.node === this.#committed?.node
  }

  async #clean(client: Client): Promise<void> {
    const nowMs = this.#monotonicMs()
    if (nowMs < this.#cleanDueMs) return
    await client.query(sql.DELETE_ENDED)
    await client.query(sql.DELETE_SILENT)
    this.#cleanDueMs = nowMs + CLEAN_EVERY_MS
  }
}

/** Keys contain names of declarations, which may be long, and hold what a text of PostgreSQL cannot. */
function hashOf(key: string): string {
  return createHash('sha256').update(JSON.stringify(key)).digest('base64url')
}

function startOf({ budget }: LeaseItem): number {
  if (budget.kind !== 'total') throw new TypeError('only totals are granted in slices')
  return budget.startMs
}

function toGeneration(row: sql.GenerationRow): SliceGeneration {
  const { epoch, run_id: runId, start_ms: startMs, is_first: isFirst, ready_ms: readyMs, confirmations, waiting } = row
  return { epoch, runId, startMs, isFirst, readyMs, confirmations, waiting }
}

function toCounter(row: sql.CounterRow): SliceCounter {
  const { end_ms: endMs, epoch, version, version_ms: versionMs, value, claims } = row
  return { endMs, epoch, version, versionMs, value, claims }
}

function toRow(item: LeaseItem, { endMs, epoch, version, versionMs, value, claims }: SliceCounter): sql.CounterRow {
  const times = { start_ms: startOf(item), end_ms: endMs, version_ms: versionMs }
  return { hash: hashOf(item.key), ...times, epoch, version, value, claims }
}

function isEqual(a: SliceCounter | undefined, b: SliceCounter, { keepMs }: LeaseTimings): boolean {
  if (a === undefined || a.endMs !== b.endMs || a.epoch !== b.epoch) return false
  // A report that changes nothing else is seldom stored.
  const isOld = b.versionMs - a.versionMs > keepMs / 10
  if (isOld || a.version !== b.version || a.value !== b.value) return false
  const names = Object.keys(b.claims)
  return names.length === Object.keys(a.claims).length && names.every((name) => a.claims[name] === b.claims[name])
}
