/** Recommends a higher tier to a subscription that exceeds its limits repeatedly. */

import { toTime } from '../command/commands.ts'

export interface Recommendation {
  readonly kind: 'TierChange'
  readonly api: string
  readonly message: string
  /** Start times of the breaches that led to the recommendation. */
  readonly breaches: readonly string[]
}

/** Breaches in 30 days. */
const BREACHES_MIN = 3

export function recommendTier(api: string, breachesMs: readonly number[]): readonly Recommendation[] {
  if (breachesMs.length < BREACHES_MIN) return []
  const message = `The subscription exceeded its limits at ${api} ${breachesMs.length} times in 30 days. Consider a higher tier.`
  return [{ kind: 'TierChange', api, message, breaches: breachesMs.map(toTime) }]
}
