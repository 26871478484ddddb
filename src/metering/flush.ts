/**
 * Takes what was metered to the store, exactly once.
 *
 * A flush is a transaction over a range of the spool: the range is noted on disk and in the store, the rows are
 * inserted under a token that names the range, the store notes that they are there, the position moves. After a crash
 * in between the same range gives the same rows and the same token, and the store drops what it has. While the store is
 * away the same flush is tried again, ever more rarely, and nothing is read beyond a bound: the spool
 * keeps it.
 */

import type { SpoolReader } from '../record/spool-reader.ts'
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
import { totalsOf } from './flush-totals.ts'
import { createMetering, type Metered, type Metering } from './metering.ts'
import { readRange } from '../record/read-range.ts'

export interface FlushOptions {
  readonly checkpoint: Checkpoint & { readonly instance: string }
  readonly usage: Pick<UsageStore, 'insert'>
  readonly levels: Pick<ServiceLevelStore, 'insert'>
  readonly requests: Pick<RequestStore, 'insert'>
  readonly flushLog: FlushLog
  readonly requestLog: RequestLogMode
  readonly clock: Clock
  readonly log: Log
  readonly count: (reason: string, by?: number) => void
}

export interface Flusher {
  /** Where metering goes on: all before it is stored or on its way. */
  readonly to: SpoolPosition
  /** Finishes what an earlier process began; resolves when it is stored, however long that takes. */
  resume(reader: Pick<SpoolReader, 'read'>): Promise<void>
  /** Stores what stands for the spool up to `to`; resolves when it is stored, however long it takes. */
  flush(to: SpoolPosition, metered: Metered): Promise<void>
  /** Gives up waiting for the store; what is pending is found at the next start. */
  stop(): void
}

/** Short at the end, too: a disk that has room again is used within seconds. */
const RETRY_MS = [100, 300, 1_000, 3_000] as const

export function createFlusher(options: FlushOptions): Flusher {
  const { checkpoint, flushLog, clock, log, count, ...stores } = options
  const stopping = new AbortController()
  const cutOff = checkpoint.pending()
  let goOnFrom = cutOff?.to ?? checkpoint.position()

  /** Tries until it is done: whatever fails (reading, noting the range, the insert, the commit) leaves the rows whole. */
  async function store(noted: PendingFlush | null, to: SpoolPosition, make: () => Metered): Promise<void> {
    let flush = noted
    let metered: Metered | null = null
    let held: HeldFlush | null = null
    for (let attempt = 0; !stopping.signal.aborted; attempt++) {
      try {
        if (noted?.tokens === 'range') held ??= await flushLog.held(noted)
        if (noted !== null && held?.isDone === true) return checkpoint.commit(noted, held.registryEnd)
        metered ??= make()
        flush ??= checkpoint.begin(to)
        checkpoint.commit(flush, await insert(flush, metered, held))
        return
      } catch (cause) {
        if (stopping.signal.aborted) break
        count('flush_failed')
        log.warn({ err: cause, attempt, items: metered?.items.length }, 'usage cannot be stored; the spool keeps it')
        await pause(scheduledDelayMs(attempt + 1, RETRY_MS))
      }
    }
    throw new FlushStopped()
  }

  /** Answers the position of the registry that was noted; undefined: an earlier version began the flush, without a note. */
  async function insert(flush: PendingFlush, metered: Metered, held: HeldFlush | null): Promise<number | undefined> {
    const { items, levels, requests } = metered
    const { signal } = stopping
    // The store would drop rows that it lacks under a token that it remembers.
    const token = (table: string, presence: Presence = 'unknown'): string =>
      flushToken(table, checkpoint.instance, flush) + (presence === 'absent' ? '-again' : '')
    const totals = totalsOf({ items, levels })
    if (flush.tokens === 'range') await flushLog.begin(flush, totals, signal)
    if (held?.items !== 'there') await stores.usage.insert(token('usage', held?.items), items, signal)
    if (held?.levels !== 'there') await stores.levels.insert(token('levels', held?.levels), levels, signal)
    await stores.requests.insert(token('requests'), requests, signal)
    return flush.tokens === 'range' ? flushLog.done(flush, totals, signal) : undefined
  }

  function pause(delayMs: number): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>()
    const cancel = clock.after(delayMs, resolve)
    stopping.signal.addEventListener('abort', () => resolve(), { once: true })
    return promise.finally(cancel)
  }

  return {
    get to() {
      return goOnFrom
    },
    async resume(reader) {
      if (cutOff === null) return
      log.info({ flush: cutOff.number }, 'finishing a flush that was cut off')
      await store(cutOff, cutOff.to, () => meterRange(reader, cutOff, createMetering(options)))
    },
    flush(to, metered) {
      goOnFrom = to
      return store(null, to, () => metered)
    },
    stop: () => stopping.abort(),
  }
}

function meterRange(reader: Pick<SpoolReader, 'read'>, { from, to }: PendingFlush, metering: Metering): Metered {
  readRange(reader, from, to, metering.add)
  return metering.take()
}

/** The pipeline is stopping; the flush stays pending. */
export class FlushStopped extends Error {
  override readonly name = 'FlushStopped'
}
