/** Time as a dependency: the only module that reads the system clock and starts timers. */

export interface Clock {
  /** Milliseconds since the epoch. */
  nowMs(): number
  /** Runs `task` once after `delayMs`. Returns a function that cancels it. */
  after(delayMs: number, task: () => void): () => void
  /** Runs `task` every `periodMs`. Returns a function that stops it. */
  every(periodMs: number, task: () => void): () => void
}

/** How far apart the clocks of two nodes may be: tokens of one are judged by the clock of the other. */
export const CLOCK_MARGIN_MS = 600_000

export const systemClock: Clock = {
  nowMs: () => Date.now(),
  after(delayMs, task) {
    const timer = setTimeout(task, delayMs)
    return () => clearTimeout(timer)
  },
  every(periodMs, task) {
    const timer = setInterval(task, periodMs)
    return () => clearInterval(timer)
  },
}
