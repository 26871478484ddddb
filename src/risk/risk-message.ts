/** What is said of an episode, calmly, in one sentence that names the party and the API. */

import type { RiskRule } from './risk-rules.ts'
import type { AttributedTo, Phase } from '../domain/risk.ts'

export interface RiskMessage {
  readonly attributedTo: AttributedTo
  readonly api: string
  readonly phase: Phase
  readonly count: number
  /** Cleared to make room. */
  readonly isEarly: boolean
  readonly rule: Pick<RiskRule, 'phrase' | 'windowSeconds'>
  /** Said in place of the number of events; '' if the number says enough. */
  readonly detail: string
}

export function riskMessage({ attributedTo, api, phase, count, rule, isEarly, detail }: RiskMessage): string {
  const { name, onBehalfOf } = attributedTo
  const who = onBehalfOf === undefined ? name : `${name}, acting for ${onBehalfOf},`
  if (phase === 'cleared' && detail !== '')
    return `${who} ${rule.phrase}: ${detail}. Nothing more was found in five minutes.`
  if (detail !== '') return `${who} ${rule.phrase}: ${detail}.`
  if (phase === 'cleared' && isEarly) return `${who} is quiet at ${api} and gives way to others that are not.`
  if (phase === 'cleared') return `${who} has been quiet at ${api} for five minutes.`
  return `${who} ${rule.phrase} at ${api}: ${count} in the last ${rule.windowSeconds} s.`
}
