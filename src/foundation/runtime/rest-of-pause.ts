/**
 * Returns how long a pause still lasts that ends at a time of the system clock; 0: it is over. It is over, too, if its end is further
 * away than the pause is long: the clock was set back since, and would prolong it by as much.
 */
export function restOfPause(untilMs: number, pauseMs: number, nowMs: number): number {
  const restMs = untilMs - nowMs
  return restMs > pauseMs ? 0 : Math.max(0, restMs)
}
