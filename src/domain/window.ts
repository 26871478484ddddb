/**
 * Event-time windows: where an instant falls, and when a window is over.
 *
 * Times are whole milliseconds since the epoch and end in `Ms`. A window holds its start and not
 * its end, so that two neighbours never claim the same record.
 */

export interface Window {
  readonly startMs: number
  readonly endMs: number
}

/** Line items are sums over windows of this length. */
export const LINE_ITEM_WINDOW_MS = 10_000

/** The start of the one window of `sizeMs` that holds `timeMs`. */
export function windowStartMs(timeMs: number, sizeMs: number): number {
  return Math.floor(timeMs / sizeMs) * sizeMs
}
