/**
 * How many events fell into the last minute, second by second: a ring that forgets by itself.
 *
 * Time is that of the events; one that comes late by more than the window is counted nowhere.
 */

export interface SlidingCount {
  add(timeMs: number): void
  /** Events in the window that ends with the second of `nowMs`. */
  at(nowMs: number): number
  toJSON(): readonly (readonly [second: number, count: number])[]
}

export function createSlidingCount(
  windowSeconds: number,
  saved: readonly (readonly [number, number])[] = [],
): SlidingCount {
  /** Whole seconds since the epoch, and the events of each, by second modulo the window. */
  const seconds = new Uint32Array(windowSeconds)
  const counts = new Uint32Array(windowSeconds)
  for (const [second, count] of saved) {
    seconds[second % windowSeconds] = second
    counts[second % windowSeconds] = count
  }

  return {
    add(timeMs) {
      const second = Math.floor(timeMs / 1_000)
      const slot = second % windowSeconds
      if (seconds[slot]! > second) return
      if (seconds[slot] !== second) {
        seconds[slot] = second
        counts[slot] = 0
      }
      counts[slot]! += 1
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
