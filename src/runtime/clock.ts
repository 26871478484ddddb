/** Time as a dependency: the one place where the process asks what time it is. */

export interface Clock {
  /** Milliseconds since the epoch. */
  nowMs(): number
  /** Runs `task` once after `delayMs`; returns how to cancel. */
  after(delayMs: number, task: () => void): () => void
  /** Runs `task` every `periodMs`; returns how to stop. */
  every(periodMs: number, task: () => void): () => void
}

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
