/** Counts the rows and calls of a flush by month, as the store partitions them. */

import type { FlushTotals } from '../../storage/store/flush-log.ts'
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

/**
 * Returns the totals of a repeated flush. Rows that were stored before count as they were noted: the spool may have lost records since.
 */
export function withStored(totals: FlushTotals, stored: FlushTotals): FlushTotals {
  const tables = new Set(Object.keys(stored).map(tableOf))
  const added = Object.entries(totals).filter(([name]) => !tables.has(tableOf(name)))
  return { ...Object.fromEntries(added), ...stored }
}

function tableOf(name: string): string {
  return name.split('/')[0] ?? ''
}

/** Returns the partition of the store, such as `202611`, in UTC. */
export function monthOf(timeMs: number): string {
  const time = new Date(timeMs)
  return String(time.getUTCFullYear() * 100 + time.getUTCMonth() + 1)
}
