/**
 * The flush log in ClickHouse.
 *
 * Totals add up over flushes, so the last note alone gives the rows that must be there. The first flush of a data folder on a store that
 * already has rows (of versions before this table, or of other data folders) is preceded by a note of those rows: the baseline.
 */

import type { PendingFlush } from '../checkpoint.ts'
import type { FlushLog, FlushNote, FlushTotals, HeldFlush } from '../flush-log.ts'
import { within, type ClickHouse } from './client.ts'
import { countRows, lastNotes, noteOf, subtract, sumOf, writeNote } from './flush-notes.ts'
import { readHeldFlush } from './held-flush.ts'

export interface FlushLogOptions {
  readonly client: ClickHouse
  /** False: the store is a server, which may still execute an insert of a process that has ended. */
  readonly isEmbedded: boolean
  readonly instance: () => string
  readonly nowMs: () => number
  readonly registryEnd: () => Promise<number>
}

/** Notes are kept for some days of constant traffic: a checkpoint that is older is not repaired automatically. */
const KEPT = 300_000
const FORGOTTEN_EVERY = 100_000

export function createFlushLog({ client, isEmbedded, instance, nowMs, registryEnd }: FlushLogOptions): FlushLog {
  let before: FlushNote | null = null

  async function precedingOf({ number, from }: PendingFlush): Promise<FlushNote> {
    const isPreceding = before?.instance === instance() && before.number === number - 1
    const found = isPreceding ? before : await noteOf(client, instance(), number - 1)
    if (found !== null) return (before = found)
    const notes = await lastNotes(client)
    const others = sumOf(notes.filter((note) => note.instance !== instance()).map(({ totals }) => totals))
    const totals = subtract(await countRows(client), others)
    return (before = await writeNote(client, {
      instance: instance(),
      number: number - 1,
      from,
      to: from,
      isDone: true,
      atMs: nowMs(),
      totals,
      registryEnd: 0,
    }))
  }

  async function note(flush: PendingFlush, rows: FlushTotals, isDone: boolean, signal?: AbortSignal) {
    const { totals } = await precedingOf(flush)
    const made: FlushNote = {
      instance: instance(),
      number: flush.number,
      from: flush.from,
      to: flush.to,
      isDone,
      atMs: nowMs(),
      totals: sumOf([totals, rows]),
      registryEnd: await registryEnd(),
    }
    return writeNote(client, made, signal)
  }

  return {
    async held(flush) {
      const held = await readHeldFlush(client, instance(), flush)
      return held === null || isEmbedded ? held : withoutAbsent(held)
    },
    repairs: () => client.newParts.repairs,
    begin: async (flush, rows, signal) => void (await note(flush, rows, false, signal)),
    async done(flush, rows, signal) {
      before = await note(flush, rows, true, signal)
      if (flush.number % FORGOTTEN_EVERY === 0) await forget(client, instance(), flush.number - KEPT)
      return before.registryEnd
    },
  }
}

/** Rows that are absent may still be on their way to a server, so the tokens decide. */
function withoutAbsent(held: HeldFlush): HeldFlush {
  const items = held.items === 'there' ? 'there' : 'unknown'
  return { ...held, items, levels: held.levels === 'there' ? 'there' : 'unknown' }
}

/** The table removes them in the background. */
async function forget(client: ClickHouse, instance: string, before: number): Promise<void> {
  if (before <= 0) return
  await client.command({
    query: 'ALTER TABLE flushes DELETE WHERE instance = {instance:String} AND number < {before:UInt64}',
    query_params: { instance, before },
    abort_signal: within(undefined),
  })
}
