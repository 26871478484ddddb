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
import type { PendingFlush, SpoolPosition } from '../store/checkpoint.ts'
import type { RequestLogMode } from './request-log.ts'
import { insertFlush, needsNewTokens, NEW, readHeld, type FlushTargets, type Held } from './insert-flush.ts'
import { createMetering, type Metered, type Metering } from './metering.ts'
import { readRange } from '../record/read-range.ts'

export interface FlushOptions extends FlushTargets {
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

  function begin(noted: PendingFlush | null, to: SpoolPosition, held: Held): PendingFlush {
    if (noted === null) return checkpoint.begin(to)
    // The store would drop absent rows under tokens that it remembers.
    return needsNewTokens(held) ? checkpoint.beginAgain(noted, clock.nowMs()) : noted
  }

  /** Retries until the rows are stored. A failure of any step (read, begin, insert, commit) leaves the rows complete. */
  async function store(noted: PendingFlush | null, to: SpoolPosition, make: () => Metered): Promise<void> {
    let flush: PendingFlush | null = null
    let metered: Metered | null = null
    for (let attempt = 0; !stopping.signal.aborted; attempt++) {
      try {
        // Read on each attempt: the one before may have stored some of the rows.
        const held = noted === null ? NEW : await readHeld(flushLog, noted)
        if (noted !== null && held.isDone) return checkpoint.commit(noted, held.registryEnd)
        metered ??= make()
        flush ??= begin(noted, to, held)
        checkpoint.commit(flush, await insertFlush(options, { flush, metered, held }, stopping.signal))
        return
      } catch (cause) {
        if (stopping.signal.aborted) break
        count('flush_failed')
        log.warn(
          { err: cause, attempt, items: metered?.items.length },
          'usage flush failed; records stay in the spool, retrying',
        )
        await pause(clock, scheduledDelayMs(attempt + 1, RETRY_MS), stopping.signal)
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

/** The pipeline stops; the flush stays pending and is finished by the next start. */
export class FlushAborted extends Error {
  override readonly name = 'FlushAborted'
}
