/**
 * Event-time windows of line items.
 *
 * Times are whole milliseconds since the epoch, and their names end in `Ms`. A window contains its start and not its end, so
 * that no record belongs to two windows.
 */

export interface Window {
  readonly startMs: number
  readonly endMs: number
}

/** Line items are sums over windows of this length. */
export const LINE_ITEM_WINDOW_MS = 10_000
