/**
 * Number of events in a sliding window, by second, in a ring.
 *
 * Time is the time of the events; an event that is late by more than the window is not counted.
 */

export interface SlidingCount {
  add(timeMs: number, by?: number): void
  /** Returns the number of events in the window that ends with the second of `nowMs`. */
  at(nowMs: number): number
  toJSON(): readonly (readonly [second: number, count: number])[]
}

export function createSlidingCount(
  windowSeconds: number,
  saved: readonly (readonly [number, number])[] = [],
): SlidingCount {
  /** Seconds since the epoch, and the number of events in each, by second modulo the window. */
  const seconds = new Uint32Array(windowSeconds)
  const counts = new Uint32Array(windowSeconds)
  for (const [second, count] of saved) {
    seconds[second % windowSeconds] = second
    counts[second % windowSeconds] = count
  }

  return {
    add(timeMs, by = 1) {
      const second = Math.floor(timeMs / 1_000)
      const slot = second % windowSeconds
      if (seconds[slot]! > second) return
      if (seconds[slot] !== second) {
        seconds[slot] = second
        counts[slot] = 0
      }
      counts[slot]! += by
    },
    at(nowMs) {
      const last = Math.floor(nowMs / 1_000)
      let sum = 0
      for (let slot = 0; slot < windowSeconds; slot++) {
        if (seconds[slot]! > last - windowSeconds && seconds[slot]! <= last) sum += counts[slot]!
      }
      return sum
    },
    toJSON: () =>
      [...seconds].flatMap((second, slot) => (counts[slot] === 0 ? [] : [[second, counts[slot]!] as const])),
  }
}
