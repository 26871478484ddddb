/**
 * Stores metered rows exactly once.
 *
 * A flush has four steps: it notes the range of the spool on disk and in the store, inserts the rows under a token derived from the
 * range, notes in the store that they are inserted, and advances the position. After a crash at any step, the same range produces the
 * same rows and the same token, so the store drops duplicates. While the store is unavailable, the flush is retried with back-off.
 * Metering stops when too many rows are waiting, and the records stay in the spool.
 */

import type { SpoolReader } from '../../storage/spool/spool-reader.ts'
import type { CountEvent } from '../../foundation/runtime/event-reasons.ts'
import { scheduledDelayMs } from '../../foundation/runtime/backoff.ts'
import type { Clock } from '../../foundation/runtime/clock.ts'
import type { Log } from '../../foundation/runtime/log.ts'
import { createMonotonicClock } from '../../foundation/runtime/monotonic.ts'
import type { PendingFlush, SpoolPosition } from '../../storage/store/checkpoint.ts'
import type { RequestLogMode } from './request-log.ts'
import {
  insertFlush,
  needsNewTokens,
  NOTHING_STORED,
  readStoredRows,
  type FlushTargets,
  type Insertion,
  type StoredRows,
} from './insert-flush.ts'
import { createMetering, type Metered, type Metering } from './metering.ts'
import { readRange } from '../../storage/spool/read-range.ts'

export interface FlushOptions extends FlushTargets {
  readonly requestLog: RequestLogMode
  readonly clock: Clock
  /** Measures how long no insert has begun: a step of the system clock must not make one that runs look settled. */
  readonly monotonicMs?: () => number
  readonly log: Log
  readonly count: CountEvent
}

export interface Flusher {
  /** Position at which metering continues: everything before it is stored or in flight. */
  readonly to: SpoolPosition
  /** Finishes the flush that an earlier process began; resolves when it is stored, however long that takes. */
  resume(reader: Pick<SpoolReader, 'read'>): Promise<void>
  /** Stores the rows metered from the spool up to `to`; resolves when they are stored, however long that takes. */
  flush(to: SpoolPosition, metered: Metered): Promise<void>
  /** Stops retrying; the next start finishes the pending flush. */
  stop(): void
}

/** Even the longest delay is short, so that flushing resumes within seconds after a full disk has space again. */
const RETRY_DELAYS_MS = [100, 300, 1_000, 3_000] as const

export function createFlusher(options: FlushOptions): Flusher {
  const { checkpoint, flushLog, clock, log, count } = options
  const stopping = new AbortController()
  const interrupted = checkpoint.pending()
  let nextFrom = interrupted?.to ?? checkpoint.position()
  const inserts = createInserts(options)

  function begin(begun: PendingFlush | null, to: SpoolPosition, stored: StoredRows): PendingFlush {
    if (begun === null) return checkpoint.begin(to)
    // Rows are missing, but the store may still remember their tokens, and would drop the rows as duplicates.
    return needsNewTokens(stored) ? checkpoint.beginAgain(begun, clock.nowMs()) : begun
  }

  /** Retries until the rows are stored. A failure in any step neither loses nor duplicates rows. */
  async function store(interruptedFlush: PendingFlush | null, to: SpoolPosition, make: () => Metered): Promise<void> {
    let flush = interruptedFlush
    let metered: Metered | null = null
    const repairs = flushLog.repairs()
    for (let attempt = 0; !stopping.signal.aborted; attempt++) {
      try {
        // Before each attempt, because the previous one may have stored some rows.
        const mustCompare = interruptedFlush !== null || flushLog.comparesRetries || flushLog.repairs() !== repairs
        const stored =
          flush !== null && mustCompare ? await readStoredRows(flushLog, flush, inserts.quietMs()) : NOTHING_STORED
        if (flush !== null && stored.isDone) return checkpoint.commit(flush, stored.registryEnd)
        metered ??= make()
        flush = begin(flush, to, stored)
        checkpoint.commit(flush, await inserts.run({ flush, metered, stored }, stopping.signal))
        return
      } catch (cause) {
        if (stopping.signal.aborted) break
        count('flush_failed')
        log.warn(
          { err: cause, attempt, items: metered?.items.length },
          'usage flush failed; records stay in the spool, retrying',
        )
        await pause(clock, scheduledDelayMs(attempt + 1, RETRY_DELAYS_MS), stopping.signal)
      }
    }
    throw new FlushAborted()
  }

  return {
    get to() {
      return nextFrom
    },
    async resume(reader) {
      if (interrupted === null) return
      log.info({ flush: interrupted.number }, 'finishing the flush that the previous process did not complete')
      await store(interrupted, interrupted.to, () => meterRange(reader, interrupted, createMetering(options)))
    },
    flush(to, metered) {
      nextFrom = to
      return store(null, to, () => metered)
    },
    stop: () => stopping.abort(),
  }
}

/** Runs inserts one at a time. `quietMs`: for how long none can have begun, of this process or of an earlier one. */
function createInserts(options: FlushOptions) {
  const { monotonicMs = createMonotonicClock() } = options
  let lastMs = monotonicMs()
  return {
    quietMs: () => monotonicMs() - lastMs,
    async run(insertion: Insertion, signal: AbortSignal): Promise<number | undefined> {
      try {
        return await insertFlush(options, insertion, signal)
      } finally {
        lastMs = monotonicMs()
      }
    },
  }
}

function pause(clock: Clock, delayMs: number, signal: AbortSignal): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>()
  const cancel = clock.after(delayMs, resolve)
  signal.addEventListener('abort', () => resolve(), { once: true })
  return promise.finally(cancel)
}

function meterRange(reader: Pick<SpoolReader, 'read'>, { from, to }: PendingFlush, metering: Metering): Metered {
  readRange(reader, from, to, metering.add)
  return metering.take()
}

/** Thrown if the pipeline stops before the rows are stored. The flush stays pending, and the next start finishes it. */
export class FlushAborted extends Error {
  override readonly name = 'FlushAborted'
}
