/** The monotonic clock of the process, in milliseconds. */

const SAMPLES = 5

/**
 * Returns a clock that has the same time on all threads of the process, to about a millisecond. `performance.now()` is faster than
 * `process.hrtime` and reads the same clock, but begins anew in each thread.
 */
export function createMonotonicClock(): () => number {
  const aheadMs = offsetOfThread()
  return () => performance.now() + aheadMs
}

/**
 * Returns by how much the clock of the machine is ahead of `performance.now()` in this thread. The smallest of several differences is
 * the one in which the thread was interrupted least.
 */
export function offsetOfThread(): number {
  let offsetMs = Infinity
  for (let sample = 0; sample < SAMPLES; sample++) {
    const threadMs = performance.now()
    offsetMs = Math.min(offsetMs, Number(process.hrtime.bigint()) / 1e6 - threadMs)
  }
  return offsetMs
}
