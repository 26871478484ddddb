/**
 * Stores metered rows exactly once.
 *
 * A flush is a transaction over a range of the spool: it records the range on disk and in the store, inserts the rows under a
 * token that names the range, records their presence in the store, and moves the position. After a crash in between, the same
 * range gives the same rows and the same token, and the store drops duplicates. While the store is unavailable, the same flush
 * is retried with back-off; reading for the bill stops at a bound, and the records stay in the spool.
 */

import type { SpoolReader } from '../record/spool-reader.ts'
import type { CountEvent } from '../runtime/event-reasons.ts'
import { scheduledDelayMs } from '../runtime/backoff.ts'
import type { Clock } from '../runtime/clock.ts'
import type { Log } from '../runtime/log.ts'
import type { Checkpoint, PendingFlush, SpoolPosition } from '../store/checkpoint.ts'
import type { FlushLog, HeldFlush, Presence } from '../store/flush-log.ts'
import type { RequestStore } from '../store/request-store.ts'
import type { ServiceLevelStore } from '../store/service-level-store.ts'
import type { UsageStore } from '../store/usage-store.ts'
import type { RequestLogMode } from './request-log.ts'
import { flushToken } from '../store/flush-token.ts'
import { totalsOf, withStored } from './flush-totals.ts'
import { createMetering, type Metered, type Metering } from './metering.ts'
import { readRange } from '../record/read-range.ts'

export interface FlushOptions {
  readonly checkpoint: Checkpoint & { readonly instance: string }
  readonly usage: Pick<UsageStore, 'insert' | 'insertTotals' | 'insertWithoutTotals'>
  readonly levels: Pick<ServiceLevelStore, 'insert'>
  readonly requests: Pick<RequestStore, 'insert'>
  readonly flushLog: FlushLog
  readonly requestLog: RequestLogMode
  readonly clock: Clock
  readonly log: Log
  readonly count: CountEvent
}

export interface Flusher {
  /** Position at which metering continues: everything before it is stored or in flight. */
  readonly to: SpoolPosition
  /** Finishes the flush that an earlier process began; resolves when it is stored, however long that takes. */
  resume(reader: Pick<SpoolReader, 'read'>): Promise<void>
  /** Stores the rows of the spool up to `to`; resolves when they are stored, however long that takes. */
  flush(to: SpoolPosition, metered: Metered): Promise<void>
  /** Stops retrying; the next start finishes the pending flush. */
  stop(): void
}

/** The longest delay is short too: a disk that has room again is used within seconds. */
const RETRY_MS = [100, 300, 1_000, 3_000] as const

export function createFlusher(options: FlushOptions): Flusher {
  const { checkpoint, flushLog, clock, log, count } = options
  const stopping = new AbortController()
  const interrupted = checkpoint.pending()
  let nextFrom = interrupted?.to ?? checkpoint.position()

  /** Retries until the rows are stored. A failure of any step (read, begin, insert, commit) leaves the rows complete. */
  async function store(noted: PendingFlush | null, to: SpoolPosition, make: () => Metered): Promise<void> {
    let flush = noted
    let metered: Metered | null = null
    for (let attempt = 0; !stopping.signal.aborted; attempt++) {
      try {
        // Read on each attempt: the one before may have stored some of the rows.
        const held = noted === null ? NEW : await readHeld(flushLog, noted)
        if (noted !== null && held.isDone) return checkpoint.commit(noted, held.registryEnd)
        metered ??= make()
        flush ??= checkpoint.begin(to)
        checkpoint.commit(flush, await insert(options, { flush, metered, held }, stopping.signal))
        return
      } catch (cause) {
        if (stopping.signal.aborted) break
        count('flush_failed')
        log.warn(
          { err: cause, attempt, items: metered?.items.length },
          'usage flush failed; records stay in the spool, retrying',
        )
        await pause(scheduledDelayMs(attempt + 1, RETRY_MS))
      }
    }
    throw new FlushAborted()
  }

  function pause(delayMs: number): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>()
    const cancel = clock.after(delayMs, resolve)
    stopping.signal.addEventListener('abort', () => resolve(), { once: true })
    return promise.finally(cancel)
  }

  return {
    get to() {
      return nextFrom
    },
    async resume(reader) {
      if (interrupted === null) return
      log.info({ flush: interrupted.number }, 'finishing the flush that the last process did not complete')
      await store(interrupted, interrupted.to, () => meterRange(reader, interrupted, createMetering(options)))
    },
    flush(to, metered) {
      nextFrom = to
      return store(null, to, () => metered)
    },
    stop: () => stopping.abort(),
  }
}

/** What the store has of a flush, with whether it has a note of it. */
type Held = HeldFlush & { readonly isNoted: boolean }

/** A flush that is stored for the first time: the tokens drop what an attempt before has stored. */
const NEW: Held = { isDone: false, isNoted: false, items: 'unknown', levels: 'unknown', stored: {}, registryEnd: 0 }
/** The note precedes the rows, so without it there are none. */
const ABSENT: Held = { ...NEW, items: 'absent', levels: 'absent' }

async function readHeld(flushLog: FlushLog, flush: PendingFlush): Promise<Held> {
  if (flush.tokens !== 'range') return NEW
  const held = await flushLog.held(flush)
  return held === null ? ABSENT : { ...held, isNoted: true }
}

interface Insertion {
  readonly flush: PendingFlush
  readonly metered: Metered
  readonly held: Held
}

/** Returns the recorded position of the registry; undefined if an earlier version began the flush, which recorded none. */
async function insert(
  { checkpoint, flushLog, usage, levels, requests }: FlushOptions,
  { flush, metered, held }: Insertion,
  signal: AbortSignal,
): Promise<number | undefined> {
  const hasNotes = flush.tokens === 'range'
  const token = (table: string, presence: Presence): string => tokenOf(table, checkpoint.instance, flush, presence)
  const totals = withStored(totalsOf(metered), held.stored)
  // The first note is kept: it has the totals of the rows that are there.
  if (hasNotes && !held.isNoted) await flushLog.begin(flush, totals, signal)
  await insertItems(usage, metered.items, held.items, token, signal)
  if (held.levels !== 'there') await levels.insert(token('levels', held.levels), metered.levels, signal)
  await requests.insert(token('requests', 'unknown'), metered.requests, signal)
  return hasNotes ? flushLog.done(flush, totals, signal) : undefined
}

function insertItems(
  usage: FlushOptions['usage'],
  items: Metered['items'],
  presence: HeldFlush['items'],
  token: (table: string, presence: Presence) => string,
  signal: AbortSignal,
): Promise<void> {
  switch (presence) {
    case 'there':
      return Promise.resolve()
    case 'without-totals':
      return usage.insertTotals(token('usage-totals', 'unknown'), items, signal)
    case 'without-line-items':
      return usage.insertWithoutTotals(items, signal)
    case 'absent':
    case 'unknown':
      return usage.insert(token('usage', presence), items, signal)
  }
}

/** Rows that are absent get another token: the store would drop them under one that it remembers. */
function tokenOf(table: string, instance: string, flush: PendingFlush, presence: Presence): string {
  return flushToken(table, instance, flush) + (presence === 'absent' ? '-again' : '')
}

function meterRange(reader: Pick<SpoolReader, 'read'>, { from, to }: PendingFlush, metering: Metering): Metered {
  readRange(reader, from, to, metering.add)
  return metering.take()
}

/** The pipeline stops; the flush stays pending and is finished by the next start. */
export class FlushAborted extends Error {
  override readonly name = 'FlushAborted'
}
