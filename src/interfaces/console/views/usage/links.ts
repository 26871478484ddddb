/** Addresses that lead from usage to what it consists of: an interval, a line item, its calls. The filters stay. */

import { BASE, query } from '../../router.ts'
import { endOf, type Range } from './time-range.ts'

export const FILTERS = ['api', 'customer', 'subscription', 'operation'] as const

/** One total for each currency. The client leaves out values that are empty, and the API trims this one. */
export const TOTAL = ' '

const WINDOW_MS = 10_000

/** The filters that the address has. */
export function filtersOf(): Readonly<Record<string, string>> {
  const pairs = FILTERS.map((name) => [name, query.value.get(name) ?? ''] as const)
  return Object.fromEntries(pairs.filter(([, value]) => value !== ''))
}

/** An address below the console with the parameters of this one, changed. An empty value removes one. */
export function linkTo(path: string, changes: Readonly<Record<string, string>>): string {
  const params = new URLSearchParams(query.value)
  for (const [name, value] of Object.entries({ cursor: '', ...changes })) {
    if (value === '') params.delete(name)
    else params.set(name, value)
  }
  return `${BASE}${path}?${params.toString()}`
}

const FINER = { month: 'day', day: 'hour' } as const

/** An interval leads to the finer ones in it, and an hour to its line items. */
export function drillDown(interval: string, from: string, to: string): string {
  const at = { range: '', from, to }
  if (interval === 'month' || interval === 'day') return linkTo('usage', { ...at, interval: FINER[interval] })
  return linkTo('usage/items', { ...at, interval: '', groupBy: '', metric: '', currency: '' })
}

/** The calls of one line item. */
export function callsOf(item: { readonly api: string; readonly customer: string; readonly time: string }): string {
  const toMs = Date.parse(item.time) + WINDOW_MS
  const params = new URLSearchParams({ api: item.api, from: item.time, to: new Date(toMs).toISOString() })
  if (item.customer !== '') params.set('customer', item.customer)
  return `${BASE}requests?${params.toString()}`
}

/** Returns the name of a file. */
export function nameOf(kind: string, range: Range): string {
  return `${kind} ${range.from.slice(0, 10)} ${new Date(endOf(range)).toISOString().slice(0, 10)}.csv`
}
