/**
 * Removes rows whose retention has ended, in the background.
 *
 * Usage is removed by whole months. Before that, the month from which on everything is kept is stored, and reads of earlier times
 * are refused: a sum is exact or not answered. A kill in the middle is finished by the next run, and usage that arrives later for a
 * removed month is removed as well. A longer setting does not bring back what is gone.
 *
 * The line items of a month are removed after its statement was closed. Its corrections are stored before line items or sums go.
 */

import { DAY_MS } from '../../../foundation/domain/calendar.ts'
import { ALL_KEPT, type KeptUsage, type RetentionDays } from '../retention.ts'
import type { ClickHouse } from './client.ts'
import { readKeptUsage, SUBJECTS, writeKeptUsage, type Subject } from './kept-usage.ts'
import { synchronise } from './replicas.ts'
import { inBackground } from './rollup-state.ts'
import { isMonthClosed, keepCorrections, keepRemainder } from './statement-corrections.ts'

export interface Retention {
  /** Moves only forward, before rows are removed. A read that it overtook may lack rows. */
  readonly kept: KeptUsage
  /** Removes what has expired. */
  expire(nowMs: number, options?: ExpireOptions): Promise<void>
}

export interface ExpireOptions {
  readonly signal?: AbortSignal
  /** Called after a partition of a table was removed, with its month or day. */
  readonly onRemoved?: (table: string, period: string) => void
}

export interface RetentionOptions {
  readonly client: ClickHouse
  readonly days: RetentionDays
  /** As read from the store. */
  readonly kept: KeptUsage
}

interface Partition {
  readonly table: string
  /** Such as `202611` or `20261123`. */
  readonly id: string
  readonly startMs: number
  readonly endMs: number
}

const TABLES: Readonly<Record<Subject, readonly string[]>> = {
  line_items: ['line_items'],
  sums: ['usage_monthly', 'usage_daily', 'usage_hourly_by_api', 'line_items_hourly'],
  statements: ['statement_lines', 'statement_corrections'],
}
/** Tables that tell whether rows may go, and which corrections stay. */
const SYNCHRONISED = ['kept_usage', 'statement_lines', 'statement_corrections', 'line_items', 'line_items_hourly']
/** Ten years, or as long as sums. */
const STATEMENT_DAYS = 3_660
/** Other services of the same server refuse reads of removed months when they have read the record of it, every ten minutes. */
const SERVER_DELAY_MS = 20 * 60_000

export function createRetention(options: RetentionOptions): Retention {
  return new StoredRetention(options)
}

class StoredRetention implements Retention {
  kept: KeptUsage
  readonly #client: ClickHouse
  readonly #days: RetentionDays

  constructor({ client, days, kept }: RetentionOptions) {
    this.#client = client
    this.#days = days
    this.kept = kept
  }

  async expire(nowMs: number, options: ExpireOptions = {}): Promise<void> {
    const { lineItems, sums, risks, requests } = this.#days
    await synchronise(this.#client, SYNCHRONISED, options.signal)
    // Another service of the same server may have removed usage.
    this.#raise(await readKeptUsage(this.#client))
    await this.#removeRows('request_log', startOfDay(nowMs - requests * DAY_MS), options)
    await this.#removeRows('risk_events', startOfDay(nowMs - risks * DAY_MS), options)
    await this.#removeUsage('line_items', startOfMonth(nowMs - lineItems * DAY_MS), nowMs, options)
    const sumsMs = Math.min(startOfMonth(nowMs - sums * DAY_MS), this.kept.lineItemsFromMs)
    await this.#removeUsage('sums', sumsMs, nowMs, options)
    const statementsMs = Math.min(startOfMonth(nowMs - STATEMENT_DAYS * DAY_MS), this.kept.sumsFromMs)
    await this.#removeUsage('statements', statementsMs, nowMs, options)
  }

  /** Removes the months before `dueMs`. */
  async #removeUsage(subject: Subject, dueMs: number, nowMs: number, options: ExpireOptions): Promise<void> {
    const { signal } = options
    const floor = SUBJECTS[subject]
    const fromMs = this.kept[floor]
    const found = await this.#partitionsOf(TABLES[subject], signal)
    const months = found.map(({ startMs }) => startMs).filter((startMs) => startMs >= fromMs && startMs < dueMs)
    const reachedMs = await this.#prepare(subject, [...new Set(months)], dueMs, signal)
    if (months.some((monthMs) => monthMs < reachedMs)) {
      await writeKeptUsage(this.#client, { subject, fromMs: reachedMs, nowMs }, signal)
      this.#raise({ ...ALL_KEPT, [floor]: reachedMs })
    }
    const keptMs = this.#client.isEmbedded
      ? this.kept[floor]
      : (await readKeptUsage(this.#client, nowMs - SERVER_DELAY_MS))[floor]
    for (const partition of found.filter(({ startMs }) => startMs < keptMs)) await this.#drop(partition, options)
  }

  /** Stores the corrections of these months, the oldest first. Returns the time up to which rows can be removed. */
  async #prepare(subject: Subject, monthsMs: readonly number[], dueMs: number, signal?: AbortSignal): Promise<number> {
    if (subject === 'statements') return dueMs
    for (const monthMs of monthsMs) {
      if (subject === 'sums') await keepRemainder(this.#client, monthMs, signal)
      else if (await isMonthClosed(this.#client, monthMs, signal)) await keepCorrections(this.#client, monthMs, signal)
      else return monthMs
    }
    return dueMs
  }

  /** Removes the rows before a day: partitions as a whole, and the days of a month in which it ends. */
  async #removeRows(table: 'request_log' | 'risk_events', beforeMs: number, options: ExpireOptions): Promise<void> {
    const { signal } = options
    const found = await this.#partitionsOf([table], signal)
    for (const partition of found.filter(({ endMs }) => endMs <= beforeMs)) await this.#drop(partition, options)
    if (!found.some(({ startMs, endMs }) => startMs < beforeMs && endMs > beforeMs)) return
    const condition = `at < toDateTime64(${beforeMs / 1_000}, 3, 'UTC')`
    const [row] = await this.#select<{ rows: string }>(
      `SELECT toString(count()) AS rows FROM ${table} WHERE ${condition}`,
      signal,
    )
    if (row === undefined || row.rows === '0') return
    const query = `ALTER TABLE ${table} DELETE WHERE ${condition} SETTINGS mutations_sync = 1`
    await this.#client.newParts.verified(async () => {
      await this.#client.command({ query, abort_signal: inBackground(signal) })
    })
    options.onRemoved?.(table, `before ${new Date(beforeMs).toISOString().slice(0, 10)}`)
  }

  async #drop({ table, id }: Partition, { signal, onRemoved }: ExpireOptions): Promise<void> {
    signal?.throwIfAborted()
    // A partition of any size.
    const query = `ALTER TABLE ${table} DROP PARTITION ID '${id}' SETTINGS max_partition_size_to_drop = 0`
    await this.#client.command({ query, abort_signal: inBackground(signal) })
    onRemoved?.(table, toPeriod(id))
  }

  async #partitionsOf(tables: readonly string[], signal?: AbortSignal): Promise<readonly Partition[]> {
    const rows = await this.#select<{ table: string; id: string }>(
      `SELECT DISTINCT table, partition_id AS id FROM system.parts
       WHERE active AND rows > 0 AND database = currentDatabase() AND table IN ('${tables.join("', '")}') ORDER BY id, table`,
      signal,
    )
    return rows.map(({ table, id }) => {
      const [year, month, day] = [Number(id.slice(0, 4)), Number(id.slice(4, 6)) - 1, Number(id.slice(6))]
      return day === 0
        ? { table, id, startMs: Date.UTC(year, month), endMs: Date.UTC(year, month + 1) }
        : { table, id, startMs: Date.UTC(year, month, day), endMs: Date.UTC(year, month, day + 1) }
    })
  }

  async #select<Row>(query: string, signal?: AbortSignal): Promise<readonly Row[]> {
    const options = { query, format: 'JSONEachRow', abort_signal: inBackground(signal) } as const
    return (await this.#client.query(options)).json<Row>()
  }

  #raise({ lineItemsFromMs, sumsFromMs, statementsFromMs }: KeptUsage): void {
    const raised = {
      lineItemsFromMs: Math.max(this.kept.lineItemsFromMs, lineItemsFromMs),
      sumsFromMs: Math.max(this.kept.sumsFromMs, sumsFromMs),
      statementsFromMs: Math.max(this.kept.statementsFromMs, statementsFromMs),
    }
    if (JSON.stringify(raised) !== JSON.stringify(this.kept)) this.kept = raised
  }
}

function startOfDay(timeMs: number): number {
  return Math.max(0, Math.floor(timeMs / DAY_MS) * DAY_MS)
}

function startOfMonth(timeMs: number): number {
  const time = new Date(Math.max(0, timeMs))
  return Date.UTC(time.getUTCFullYear(), time.getUTCMonth())
}

/** Returns `2026-11` or `2026-11-23`. */
function toPeriod(id: string): string {
  return [id.slice(0, 4), id.slice(4, 6), id.slice(6)].filter((part) => part !== '').join('-')
}
