/**
 * Divides long work of a thread into slices, between which the thread serves calls.
 *
 * A call needs several turns of the event loop. If each of them waited for a slice, the call would be late by all of them: so
 * while calls are in flight, the work pauses after each slice for a multiple of the time that the slice took.
 *
 * One pace belongs to work that runs one piece after the other. Two of them at the same time would leave the calls no turn.
 */

import { setImmediate as nextTurn } from 'node:timers/promises'
import type { Clock } from './clock.ts'

/** Awaited between two steps of the work; resolves at once while the slice lasts. */
export type Pace = () => Promise<void>

export interface PaceOptions {
  /** Returns whether the thread has calls in flight. */
  readonly isBusy: () => boolean
  readonly clock: Pick<Clock, 'after'>
  /** How long a pause is in relation to the slice before it; default: 3. */
  readonly pausePerSlice?: number
  /** A monotonic time in milliseconds. */
  readonly elapsedMs?: () => number
}

const SLICE_MS = 2
const PAUSE_PER_SLICE = 3
const PAUSE_MS_MAX = 50

/** Work without a thread to share, such as in a test or a tool, yields one turn after each slice. */
export function createPace(options: Partial<PaceOptions> = {}): Pace {
  const { isBusy, clock, pausePerSlice = PAUSE_PER_SLICE, elapsedMs = now } = options
  let startedMs = elapsedMs()

  return async () => {
    const ranMs = elapsedMs() - startedMs
    if (ranMs < SLICE_MS) return
    if (clock !== undefined && isBusy?.() === true) await pause(clock, Math.min(ranMs * pausePerSlice, PAUSE_MS_MAX))
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
