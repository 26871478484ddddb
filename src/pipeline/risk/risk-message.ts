/** Renders the message of a risk event: one sentence that names the party and the API. */

import type { RiskRule } from './risk-rules.ts'
import type { AttributedTo, Phase } from '../../foundation/domain/risk.ts'

export interface RiskMessage {
  readonly attributedTo: AttributedTo
  readonly api: string
  readonly phase: Phase
  readonly count: number
  /** Whether the episode was cleared before its quiet time was over, to make room for another. */
  readonly isEvicted: boolean
  readonly rule: Pick<RiskRule, 'phrase' | 'clearedPhrase' | 'windowSeconds'>
  /** Replaces the number of events; empty if the number is enough. */
  readonly detail: string
  /** Calls that a node reported late. */
  readonly late: number
}

export function riskMessage(message: RiskMessage): string {
  const { phase, late } = message
  return phase === 'cleared' || late === 0 ? sentenceOf(message) : `${sentenceOf(message)} ${late} reported late.`
}

function sentenceOf({ attributedTo, api, phase, count, rule, isEvicted, detail }: RiskMessage): string {
  const { name, onBehalfOf } = attributedTo
  const who = onBehalfOf === undefined ? name : `${name}, acting for ${onBehalfOf},`
  if (phase === 'cleared' && detail !== '')
    return `${who} ${rule.phrase}: ${detail}. ${rule.clearedPhrase ?? ''}`.trimEnd()
  if (detail !== '') return `${who} ${rule.phrase}: ${detail}.`
  if (phase === 'cleared' && isEvicted)
    return `${who} is quiet at ${api}; this risk was closed early to make room for others.`
  if (phase === 'cleared') return `${who} has been quiet at ${api} for five minutes.`
  return `${who} ${rule.phrase} at ${api}: ${count} in the last ${rule.windowSeconds} s.`
}
