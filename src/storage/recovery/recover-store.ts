/** Accepts the loss of rows of the store: records the present totals as the expected totals. */

import type { Clock } from '../../foundation/runtime/clock.ts'
import { StartRefused } from '../../foundation/runtime/start-refused.ts'
import type { ClickHouse } from '../store/clickhouse/client.ts'
import {
  countRows,
  lastNotes,
  notesFrom,
  subtract,
  sumOf,
  tablesOf,
  writeNote,
} from '../store/clickhouse/flush-notes.ts'
import { compareSums } from '../store/clickhouse/compare-sums.ts'
import { completeSums } from '../store/clickhouse/complete-sums.ts'
import { countOwnRows } from '../store/clickhouse/own-rows.ts'
import { migrateStore } from '../store/clickhouse/cluster-migrations.ts'
import type { CheckpointClaims } from '../store/checkpoint.ts'
import type { FlushTotals } from '../store/flush-log.ts'
import { openStore, reasonOf, STORE_FOLDER, type OpenedStore, type OpenStoreOptions } from './open-store.ts'
import { setAside } from './set-aside.ts'
import { comparedSums, TABLES } from './store-claims.ts'

type LostStoreOptions = OpenStoreOptions & { readonly clock: Clock }

/**
 * Opens the store without parts that have damaged files. Moves a store aside that does not open or whose totals cannot be read.
 * Recreates missing tables and drops unreadable flush notes.
 */
export async function openLostStore(options: LostStoreOptions): Promise<OpenedStore> {
  const store = await openOrReplace(options)
  await makeTables(store.client)
  try {
    await lastNotes(store.client).catch(() => store.client.command({ query: 'TRUNCATE TABLE flushes' }))
    await countRows(store.client)
    return store
  } catch (cause) {
    await store.client.close()
    if (options.clickhouseUrl !== null)
      throw new StartRefused(`the store cannot be read: ${reasonOf(cause)}`, { cause })
    return replace(options)
  }
}

async function makeTables(client: ClickHouse): Promise<void> {
  const tables = await tablesOf(client)
  if (TABLES.every((table) => tables.includes(table))) return
  await client.command({ query: 'TRUNCATE TABLE schema_changes' })
  await migrateStore(client)
}

async function openOrReplace(options: LostStoreOptions): Promise<OpenedStore> {
  try {
    return await openStore({ ...options, isLossAccepted: true })
  } catch (cause) {
    if (!(cause instanceof StartRefused) || options.clickhouseUrl !== null) throw cause
    return replace(options)
  }
}

function replace(options: LostStoreOptions): Promise<OpenedStore> {
  setAside(options.dataDir, [STORE_FOLDER], options.clock.nowMs())
  return openStore(options)
}

/** Completes line items and hourly totals from each other. Returns what was made, in words; empty: nothing. */
export async function completeRows(client: ClickHouse, nowMs: number): Promise<string> {
  if (!client.isEmbedded) return ''
  const { isKept, interrupted } = await comparedSums(client, await lastNotes(client), nowMs)
  // Also rows of a flush that was interrupted: `acceptRows` counts it as stored.
  const compared = { isKept, expected: interrupted.expected, interrupted: null }
  const differing = await compareSums(client, compared)
  const { itemCalls, hourlyCalls } = await completeSums(client, {
    months: differing.map(({ month }) => month),
    lacking: differing.filter(({ lacksCalls }) => lacksCalls).map(({ month }) => month),
  })
  return [
    ...(hourlyCalls > 0 ? [`hourly totals of ${hourlyCalls} calls were made again from line items`] : []),
    ...(itemCalls > 0
      ? [`line items of ${itemCalls} calls were made again from the hourly totals, with their time to the hour`]
      : []),
  ].join('; ')
}

/** Writes the totals of the present rows as notes. Excludes a pending flush, whose rows may exist or may still be inserted. */
export async function acceptRows(
  client: ClickHouse,
  { instance, flushes, position }: Pick<CheckpointClaims, 'instance' | 'flushes' | 'position'>,
  { registryEnd, nowMs }: { readonly registryEnd: number; readonly nowMs: number },
): Promise<void> {
  const notes = await lastNotes(client)
  const others = sumOf(notes.filter((note) => note.instance !== instance).map(({ totals }) => totals))
  const found = await notesFrom(client, instance, flushes, 2)
  const current = found.find(({ number }) => number === flushes)
  const next = found.find(({ number }) => number === flushes + 1)
  const pending = next === undefined ? {} : subtract(next.totals, current?.totals ?? {})
  // The base is below zero if rows of the pending flush were lost; base plus pending then equals the present rows.
  const own = client.isEmbedded ? {} : await countOwnRows(client, instance)
  const base = difference({ ...subtract(await countRows(client), others), ...own }, pending)
  // A later note of the same flush replaces the earlier one.
  const atMs = Math.max(nowMs, (current?.atMs ?? 0) + 1, (next?.atMs ?? 0) + 1)
  await writeNote(client, {
    instance,
    number: flushes,
    from: current?.from ?? position,
    to: position,
    isDone: true,
    atMs,
    totals: base,
    registryEnd,
  })
  if (next !== undefined) await writeNote(client, { ...next, atMs, totals: sumOf([base, pending]), registryEnd })
}

function difference(totals: FlushTotals, others: FlushTotals): FlushTotals {
  const negative = Object.fromEntries(Object.entries(others).map(([name, value]) => [name, -value]))
  return sumOf([totals, negative])
}
