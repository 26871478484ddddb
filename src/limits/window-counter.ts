/** The counter of a window, in three doubles: start of the window, count, warned. Totals and the quota count in windows. */

export const WINDOW_SLOTS = { start: 0, count: 1, warned: 2 } as const
export const WINDOW_COUNTER_SIZE = 3

/** Begins the window at `start` unless the counter is there already. Returns false if the counter is in a later window. */
export function advanceTo(start: number, offset: number, doubles: Float64Array): boolean {
  const stored = doubles[offset + WINDOW_SLOTS.start]!
  if (start > stored) {
    doubles[offset + WINDOW_SLOTS.count] = 0
    doubles[offset + WINDOW_SLOTS.warned] = 0
    doubles[offset + WINDOW_SLOTS.start] = start
  }
  return start >= stored
}

/** Returns the count of the window at `start`, or of a later one that a thread has begun. */
export function countSince(start: number, offset: number, doubles: Float64Array): number {
  return doubles[offset + WINDOW_SLOTS.start]! >= start ? doubles[offset + WINDOW_SLOTS.count]! : 0
}
