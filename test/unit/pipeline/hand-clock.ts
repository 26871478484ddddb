/** A clock that stands still until it is moved; timers run in the order of their times. */

import type { Clock } from '../../../src/runtime/clock.ts'

export interface HandClock extends Clock {
  /** Moves time, runs what is due and lets promises settle after each. */
  advance(ms: number): Promise<void>
  /** No timer runs any more, as after the death of a process. */
  kill(): void
}

interface Timer {
  atMs: number
  readonly periodMs: number | null
  readonly task: () => void
}

export function createHandClock(startMs: number): HandClock {
  const timers = new Set<Timer>()
  let timeMs = startMs
  let isDead = false

  function add(atMs: number, periodMs: number | null, task: () => void): () => void {
    const timer = { atMs, periodMs, task }
    timers.add(timer)
    return () => timers.delete(timer)
  }

  function nextDue(untilMs: number): Timer | undefined {
    return [...timers].filter(({ atMs }) => atMs <= untilMs).sort((a, b) => a.atMs - b.atMs)[0]
  }

  return {
    nowMs: () => timeMs,
    after: (delayMs, task) => add(timeMs + delayMs, null, task),
    every: (periodMs, task) => add(timeMs + periodMs, periodMs, task),
    async advance(ms) {
      const untilMs = timeMs + ms
      await settled()
      for (let due = nextDue(untilMs); due !== undefined && !isDead; due = nextDue(untilMs)) {
        timeMs = Math.max(timeMs, due.atMs)
        if (due.periodMs === null) timers.delete(due)
        else due.atMs += due.periodMs
        due.task()
        await settled()
      }
      timeMs = untilMs
    },
    kill() {
      isDead = true
      timers.clear()
    },
  }
}

/** Lets every promise that can settle do so. */
export const settled = (): Promise<void> => new Promise((resolve) => setImmediate(resolve))
