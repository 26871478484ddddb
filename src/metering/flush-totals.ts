/** Counts the rows and calls of a flush by month, as the store partitions them. */

import type { FlushTotals } from '../store/flush-log.ts'
import type { Metered } from './metering.ts'

export function totalsOf({ items, levels }: Pick<Metered, 'items' | 'levels'>): FlushTotals {
  const totals: Record<string, number> = {}
  const add = (name: string, timeMs: number, by: number): void => {
    const key = `${name}/${monthOf(timeMs)}`
    totals[key] = (totals[key] ?? 0) + by
  }
  for (const { windowStartMs, calls } of items) {
    add('line_items', windowStartMs, 1)
    add('calls', windowStartMs, calls)
  }
  for (const { minuteMs } of levels) add('service_levels', minuteMs, 1)
  return totals
}

/** Returns the partition of the store, such as `202611`, in UTC. */
function monthOf(timeMs: number): string {
  const time = new Date(timeMs)
  return String(time.getUTCFullYear() * 100 + time.getUTCMonth() + 1)
}
