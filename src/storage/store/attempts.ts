/**
 * Attempts to guess a secret, or to use up a resource, which are counted before they are made.
 *
 * The count decides: an attempt that is not counted must not be made. Attempts that are counted together, also by several nodes, count
 * like consecutive ones. The clock of the store decides when they expire.
 */

import type { Clock } from '../../foundation/runtime/clock.ts'
import { restOfPause } from '../../foundation/runtime/rest-of-pause.ts'

export interface AttemptLimit {
  readonly max: number
  readonly windowMs: number
  /**
   * True: `max` in any span of `windowMs`; each attempt is stored, so that `max` is small. False: `max` in a window that begins with its
   * first attempt.
   */
  readonly isSliding: boolean
}

export interface AttemptStore {
  /**
   * Counts an attempt and returns 0; or returns the milliseconds until the next one is allowed, and counts nothing. `key` is a keyed hash
   * in hex, so that the store holds no names. Throws `StoreUnwritable`.
   */
  take(key: string, limit: AttemptLimit): Promise<number>
  /** Takes the latest attempt back. An attempt that cannot be taken back stays counted. */
  giveBack(key: string, limit: AttemptLimit): Promise<void>
}

interface Window {
  readonly count: number
  readonly endsAtMs: number
}

/** More keys than an attacker can try in a window, so that trying other names does not evict one. */
const KEYS_MAX = 100_000

/** Returns the attempts of a single node, which end with the process. */
export function createLocalAttempts(clock: Pick<Clock, 'nowMs'>): AttemptStore {
  const logs = createSlidingLogs(clock)
  const windows = createWindows(clock)
  return {
    take: async (key, limit) => (limit.isSliding ? logs.take(key, limit) : windows.take(key, limit)),
    async giveBack(key, limit) {
      if (limit.isSliding) logs.giveBack(key, limit)
      else windows.giveBack(key)
    },
  }
}

function createSlidingLogs(clock: Pick<Clock, 'nowMs'>) {
  const logs = new Map<string, readonly number[]>()

  function recent(key: string, { windowMs }: AttemptLimit): readonly number[] {
    const sinceMs = clock.nowMs() - windowMs
    // Later times are from before the clock was set back.
    return (logs.get(key) ?? []).filter((timeMs) => timeMs > sinceMs && timeMs <= sinceMs + windowMs)
  }

  return {
    take(key: string, limit: AttemptLimit): number {
      const times = recent(key, limit)
      const nowMs = clock.nowMs()
      if (times.length >= limit.max) return (times[0] ?? nowMs) + limit.windowMs - nowMs
      setLast(logs, key, [...times, nowMs])
      return 0
    },
    giveBack(key: string, limit: AttemptLimit): void {
      const times = recent(key, limit).slice(0, -1)
      if (times.length === 0) logs.delete(key)
      else logs.set(key, times)
    },
  }
}

function createWindows(clock: Pick<Clock, 'nowMs'>) {
  const windows = new Map<string, Window>()
  return {
    take(key: string, { max, windowMs }: AttemptLimit): number {
      const nowMs = clock.nowMs()
      const known = windows.get(key)
      const isOver = known === undefined || restOfPause(known.endsAtMs, windowMs, nowMs) === 0
      const { count, endsAtMs } = isOver ? { count: 0, endsAtMs: nowMs + windowMs } : known
      if (count >= max) return endsAtMs - nowMs
      setLast(windows, key, { count: count + 1, endsAtMs })
      return 0
    },
    giveBack(key: string): void {
      const known = windows.get(key)
      if (known === undefined) return
      if (known.count <= 1) windows.delete(key)
      else windows.set(key, { ...known, count: known.count - 1 })
    },
  }
}

/** Makes the key the last one that is evicted. */
function setLast<Value>(values: Map<string, Value>, key: string, value: Value): void {
  values.delete(key)
  values.set(key, value)
  const oldest = values.keys().next().value
  if (values.size > KEYS_MAX && oldest !== undefined) values.delete(oldest)
}
