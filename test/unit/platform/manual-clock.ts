/** Time in the test's hands: timers run when it is moved forward past them, in order. */

import type { Clock } from '../../../src/runtime/clock.ts'

export interface ManualClock extends Clock {
  forward(ms: number): void
  /** Timers that have neither run out nor been stopped. */
  readonly pending: number
}

interface Timer {
  dueMs: number
  readonly periodMs: number | null
  readonly task: () => void
}

export function createManualClock(startMs: number): ManualClock {
  const timers = new Set<Timer>()
  let nowMs = startMs

  function add(delayMs: number, periodMs: number | null, task: () => void): () => void {
    const timer = { dueMs: nowMs + delayMs, periodMs, task }
    timers.add(timer)
    return () => void timers.delete(timer)
  }

  return {
    nowMs: () => nowMs,
    after: (delayMs, task) => add(delayMs, null, task),
    every: (periodMs, task) => add(periodMs, periodMs, task),
    get pending() {
      return timers.size
    },
    forward(ms) {
      const endMs = nowMs + ms
      for (;;) {
        const [next] = [...timers].filter(({ dueMs }) => dueMs <= endMs).sort((a, b) => a.dueMs - b.dueMs)
        if (next === undefined) break
        nowMs = next.dueMs
        if (next.periodMs === null) timers.delete(next)
        else next.dueMs += next.periodMs
        next.task()
      }
      nowMs = endMs
    },
  }
}
