/** Advice that a subscription's own history gives: who is over its limits again and again needs another tier. */

import { toTime } from '../command/commands.ts'

export interface Recommendation {
  readonly kind: 'TierChange'
  readonly api: string
  readonly message: string
  /** When the breaches began that it is given for. */
  readonly breaches: readonly string[]
}

/** In 30 days. */
const BREACHES_FROM = 3

export function recommendTier(api: string, breachesMs: readonly number[]): readonly Recommendation[] {
  if (breachesMs.length < BREACHES_FROM) return []
  const message = `The subscription exceeded its limits at ${api} ${breachesMs.length} times in 30 days. Consider a higher tier.`
  return [{ kind: 'TierChange', api, message, breaches: breachesMs.map(toTime) }]
}
