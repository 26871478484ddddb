/**
 * Divides long work of a thread into slices, between which the thread serves calls.
 *
 * A call needs several turns of the event loop. If each of them waited for a slice, the call would be late by all of them: so
 * while calls are in flight, the work pauses after each slice for a multiple of the time that the slice took.
 */

import { setImmediate as nextTurn } from 'node:timers/promises'
import type { Clock } from './clock.ts'

/** Awaited between two steps of the work; resolves at once while the slice lasts. */
export type Pace = () => Promise<void>

export interface PaceOptions {
  /** Returns whether the thread has calls in flight. */
  readonly isBusy: () => boolean
  readonly clock: Pick<Clock, 'after'>
  /** A monotonic time in milliseconds. */
  readonly elapsedMs?: () => number
}

const SLICE_MS = 2
const PAUSE_PER_SLICE = 3
const PAUSE_MS_MAX = 50

/** Work without a thread to share, such as in a test or a tool, yields one turn after each slice. */
export function createPace({ isBusy, clock, elapsedMs = now }: Partial<PaceOptions> = {}): Pace {
  let startedMs = elapsedMs()

  return async () => {
    const ranMs = elapsedMs() - startedMs
    if (ranMs < SLICE_MS) return
    if (clock !== undefined && isBusy?.() === true) await pause(clock, Math.min(ranMs * PAUSE_PER_SLICE, PAUSE_MS_MAX))
    else await nextTurn()
    startedMs = elapsedMs()
  }
}

function pause(clock: Pick<Clock, 'after'>, delayMs: number): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>()
  clock.after(delayMs, resolve)
  return promise
}

function now(): number {
  return performance.now()
}
