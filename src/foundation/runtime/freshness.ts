/**
 * Until when this process may serve calls without having read the registry, as two deadlines in memory that all threads share.
 *
 * A thread compares them with its own clocks, so that a main thread that is blocked cannot prolong anything. The monotonic clock
 * stands still while a machine is suspended, and the system clock can be set back: the earlier deadline counts. Memory that was never
 * written is stale.
 */

import { offsetOfThread } from './monotonic.ts'

/** A moment on both clocks, in milliseconds. */
export interface Moment {
  /** `performance.now()` of the thread that took it. */
  readonly monotonicMs: number
  readonly systemMs: number
}

export type ReadMoment = () => Moment

export const readMoment: ReadMoment = () => ({ monotonicMs: performance.now(), systemMs: Date.now() })

export interface Freshness {
  isStale(): boolean
  /** As `isStale`, for a caller that has read `performance.now()`, so that a call reads no clock twice. */
  isStaleAt(monotonicMs: number): boolean
  /** Allows to serve for the given time from a moment on, which this thread took. A deadline never moves back. */
  extend(since: Moment, forMs: number): void
}

const MONOTONIC = 0
const SYSTEM = 1

export function createFreshnessMemory(): SharedArrayBuffer {
  return new SharedArrayBuffer(2 * Float64Array.BYTES_PER_ELEMENT)
}

export function openFreshness(memory: SharedArrayBuffer, read: ReadMoment = readMoment): Freshness {
  // Engines write an aligned float in one piece on all 64-bit machines. `Atomics` has no floats, and 32 bits of milliseconds repeat.
  const deadlines = new Float64Array(memory)
  const offsetMs = offsetOfThread()
  const isOver = (monotonicMs: number, systemMs: number): boolean =>
    monotonicMs + offsetMs >= deadlines[MONOTONIC]! || systemMs >= deadlines[SYSTEM]!
  return {
    isStale() {
      const { monotonicMs, systemMs } = read()
      return isOver(monotonicMs, systemMs)
    },
    isStaleAt: (monotonicMs) => isOver(monotonicMs, Date.now()),
    extend({ monotonicMs, systemMs }, forMs) {
      deadlines[MONOTONIC] = Math.max(deadlines[MONOTONIC]!, monotonicMs + offsetMs + forMs)
      // This one may move back with its clock; the other one bounds it.
      deadlines[SYSTEM] = systemMs + forMs
    },
  }
}
