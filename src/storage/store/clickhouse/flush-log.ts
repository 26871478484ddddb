/**
 * The flush log in ClickHouse.
 *
 * Totals add up over flushes, so the last note alone gives the rows that must be there. The embedded store is compared as a whole: the
 * first flush of a data folder on a store that already has rows (of versions before this table) is preceded by a note of those rows,
 * the baseline. On a server, which stores rows of others as well, an instance compares its own rows (`own-rows.ts`) and has no baseline.
 */

import type { PendingFlush } from '../checkpoint.ts'
import type { FlushLog, FlushNote, FlushTotals } from '../flush-log.ts'
import { within, type ClickHouse } from './client.ts'
import { countRows, lastNotes, noteOf, subtract, sumOf, writeNote } from './flush-notes.ts'
import { readHeldFlush } from './held-flush.ts'
import { readOwnFlush } from './own-flush.ts'
import { countOwnRows, withOwn } from './own-rows.ts'

export interface FlushLogOptions {
  readonly client: ClickHouse
  /** False: the store is a server, which may still execute an insert of a process that has ended. */
  readonly isEmbedded: boolean
  readonly instance: () => string
  readonly nowMs: () => number
  readonly registryEnd: () => Promise<number>
  /** Completes line items and hourly totals of the embedded store; answers whether they differed. Missing: they are not compared. */
  readonly completeRows?: () => Promise<boolean>
}

type Preceding = Pick<FlushNote, 'instance' | 'number' | 'totals'>

/** Notes are kept for some days of constant traffic: a checkpoint that is older is not repaired automatically. */
const KEPT = 300_000
const EVICT_EVERY = 100_000

export function createFlushLog(options: FlushLogOptions): FlushLog {
  const { client, isEmbedded, instance, nowMs, registryEnd, completeRows = async () => false } = options
  let before: Preceding | null = null
  /** Number of a flush whose stored rows may have no writer. */
  let withoutWriter: number | null = null

  async function precedingOf({ number, from }: PendingFlush): Promise<Preceding> {
    const isPreceding = before?.instance === instance() && before.number === number - 1
    const found = isPreceding ? before : await noteOf(client, instance(), number - 1)
    if (found !== null) return (before = found)
    if (!isEmbedded) return (before = { instance: instance(), number: number - 1, totals: {} })
    const own = { instance: instance(), number: number - 1, totals: {} }
    const totals = await rowsBeyond(client, own)
    const made = { ...own, from, to: from, isDone: true, atMs: nowMs(), totals, registryEnd: 0 }
    return (before = await writeNote(client, made))
  }

  async function note(flush: PendingFlush, rows: FlushTotals, isDone: boolean, signal?: AbortSignal) {
    const { totals } = await precedingOf(flush)
    const added = sumOf([totals, isEmbedded || flush.number === withoutWriter ? rows : withOwn(rows)])
    const own = isDone && flush.number === withoutWriter ? await countOwnRows(client, instance()) : {}
    const made: FlushNote = {
      instance: instance(),
      number: flush.number,
      from: flush.from,
      to: flush.to,
      isDone,
      atMs: nowMs(),
      totals: { ...added, ...own },
      registryEnd: await registryEnd(),
    }
    return writeNote(client, made, signal)
  }

  return {
    async held(flush, quietMs) {
      if (isEmbedded) return readHeldFlush(client, instance(), flush)
      const held = await readOwnFlush(client, { instance: instance(), flush, quietMs })
      if (held?.lacksWriter === true) withoutWriter = flush.number
      return held
    },
    repairs: () => client.newParts.repairs,
    comparesRetries: !isEmbedded,
    begin: async (flush, rows, signal) => void (await note(flush, rows, false, signal)),
    async complete(flush, rows) {
      if (!(await completeRows())) return rows
      return recounted(client, await precedingOf(flush), rows)
    },
    async done(flush, rows, signal) {
      const made = await note(flush, rows, true, signal)
      before = made
      if (flush.number % EVICT_EVERY === 0) await evict(client, instance(), flush.number - KEPT)
      return made.registryEnd
    },
  }
}

/** Returns the rows of the store beyond those of a flush and the ones before it, and of other instances. */
async function rowsBeyond(client: ClickHouse, { instance, totals }: Preceding): Promise<FlushTotals> {
  const others = (await lastNotes(client)).filter((note) => note.instance !== instance)
  return subtract(await countRows(client), sumOf([totals, ...others.map((note) => note.totals)]))
}

/** Returns `rows` with the numbers of line items and calls that are in the store. */
async function recounted(client: ClickHouse, preceding: Preceding, rows: FlushTotals): Promise<FlushTotals> {
  const found = await rowsBeyond(client, preceding)
  const isUsage = (name: string): boolean => name.startsWith('line_items/') || name.startsWith('calls/')
  return { ...rows, ...Object.fromEntries(Object.entries(found).filter(([name]) => isUsage(name) && name in rows)) }
}

/** The table removes them in the background. */
async function evict(client: ClickHouse, instance: string, before: number): Promise<void> {
  if (before <= 0) return
  await client.command({
    query: 'ALTER TABLE flushes DELETE WHERE instance = {instance:String} AND number < {before:UInt64}',
    query_params: { instance, before },
    abort_signal: within(undefined),
  })
}
