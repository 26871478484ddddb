/** A risk as callers see it: times in RFC 3339, the tenant left out (it is the reader's own). */

import type { RiskEvent } from '../domain/risk.ts'

export interface ShownRisk extends Omit<RiskEvent, 'tenant' | 'firstSeenMs' | 'lastSeenMs'> {
  readonly firstSeen: string
  readonly lastSeen: string
}

export function showRisk({ tenant: _, firstSeenMs, lastSeenMs, ...event }: RiskEvent): ShownRisk {
  return { ...event, firstSeen: new Date(firstSeenMs).toISOString(), lastSeen: new Date(lastSeenMs).toISOString() }
}
