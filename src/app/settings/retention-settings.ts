/** Reads for how long everything is kept. */

import { RETENTION, type RetentionBounds, type RetentionDays } from '../../storage/store/retention.ts'
import { whole, type Read } from '../../foundation/settings/setting-values.ts'

type Name = 'RETENTION_LINE_ITEMS_DAYS' | 'RETENTION_SUMS_DAYS' | 'RETENTION_RISKS_DAYS' | 'RETENTION_REQUESTS_DAYS'
type Setting = (name: Name, fallback: number, read: Read<number>) => number

export function readRetention(setting: Setting, wrong: string[]): RetentionDays {
  const days = (name: Name, { min, max, fallback }: RetentionBounds): number =>
    setting(name, fallback, whole(min, max, ' of days'))
  const before = wrong.length
  const lineItems = days('RETENTION_LINE_ITEMS_DAYS', RETENTION.lineItems)
  const sums = days('RETENTION_SUMS_DAYS', RETENTION.sums)
  if (lineItems > sums && wrong.length === before)
    wrong.push(`RETENTION_SUMS_DAYS (${sums}) is below RETENTION_LINE_ITEMS_DAYS (${lineItems})`)
  const risks = days('RETENTION_RISKS_DAYS', RETENTION.risks)
  return { lineItems, sums, risks, requests: days('RETENTION_REQUESTS_DAYS', RETENTION.requests) }
}
