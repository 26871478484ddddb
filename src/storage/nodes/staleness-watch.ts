/**
 * How long one of several nodes may serve calls without the registry, and what the operator sees of it.
 *
 * A node serves until `MAX_STALENESS_SECONDS` after it sent the last report that found it up to date, less a margin for clocks that run
 * at different speeds. Other nodes wait for the whole time from when that report was received, which is later. So no call is served by
 * an older configuration once they answer.
 */

import type { Clock } from '../../foundation/runtime/clock.ts'
import type { CountEvent } from '../../foundation/runtime/event-reasons.ts'
import {
  createFreshnessMemory,
  openFreshness,
  type Moment,
  type ReadMoment,
} from '../../foundation/runtime/freshness.ts'
import type { Log } from '../../foundation/runtime/log.ts'

export interface StalenessWatch {
  /** For the gateway threads. */
  readonly memory: SharedArrayBuffer
  isStale(): boolean
  /** The node was up to date at this moment. */
  onFresh(since: Moment): void
  /** Reports every change between stale and fresh from now on. Returns a function that ends it. */
  watch(): () => void
}

export interface StalenessWatchOptions {
  readonly maxStalenessMs: number
  readonly clock: Pick<Clock, 'every'>
  readonly log: Pick<Log, 'error' | 'info'>
  readonly count: CountEvent
  readonly read?: ReadMoment
}

const LOOK_EVERY_MS = 250
const MARGIN_MS_MIN = 500
const MARGIN_SHARE = 0.02

export function createStalenessWatch(options: StalenessWatchOptions): StalenessWatch {
  const { maxStalenessMs, clock, log, count, read } = options
  const memory = createFreshnessMemory()
  const freshness = openFreshness(memory, read)
  const servedForMs = maxStalenessMs - Math.max(MARGIN_MS_MIN, maxStalenessMs * MARGIN_SHARE)

  return {
    memory,
    isStale: freshness.isStale,
    onFresh: (since) => freshness.extend(since, servedForMs),
    watch() {
      // A node that starts has reported nothing yet.
      let state: 'starting' | 'fresh' | 'stale' = 'starting'
      return clock.every(LOOK_EVERY_MS, () => {
        if (!freshness.isStale()) {
          if (state === 'stale') log.info('PostgreSQL is read again; calls are served')
          state = 'fresh'
          return
        }
        if (state !== 'fresh') return
        state = 'stale'
        count('node_stale')
        log.error('this node has lost PostgreSQL for MAX_STALENESS_SECONDS; calls get 503 until it is read again')
      })
    },
  }
}
