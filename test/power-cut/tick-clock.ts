/** A clock that the test advances, with periodic tasks that the test runs. */

import type { Clock } from '../../src/foundation/runtime/clock.ts'

export interface TickClock extends Clock {
  advance(byMs: number): void
  /** Runs every periodic task once. */
  tick(): void
}

export function createTickClock(startMs: number): TickClock {
  let nowMs = startMs
  const tasks = new Set<() => void>()
  return {
    nowMs: () => nowMs,
    after: () => () => {},
    every(_, task) {
      tasks.add(task)
      return () => tasks.delete(task)
    },
    advance: (byMs) => void (nowMs += byMs),
    tick: () => tasks.forEach((task) => task()),
  }
}
