/** The monotonic clock of the process, in milliseconds. */

/**
 * Returns a clock that has the same time on all threads of the process, to about a millisecond. `performance.now()` is faster than
 * `process.hrtime` and reads the same clock, but begins anew in each thread.
 */
export function createMonotonicClock(): () => number {
  const aheadMs = Number(process.hrtime.bigint()) / 1e6 - performance.now()
  return () => performance.now() + aheadMs
}
