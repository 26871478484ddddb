/** The party of an episode: the consumer behind it, and the key by which mutes know it. */

import type { Answer, Item } from '../../api/operations.ts'

export type Risk = Item<'/v1/risks'>
/** An episode with its timeline. */
export type Timeline = Answer<'/v1/risks/:riskId'>
export type Subscription = Item<'/v1/subscriptions'>
export type Mute = Item<'/v1/mutes'>
export type Party = Risk['attributedTo']

export const SEVERITIES = ['Info', 'Warning', 'Critical'] as const

export const RISK_TYPES = [
  'ProtectionViolation',
  'AuthFailure401',
  'AuthFailure403',
  'ApproachingLimit',
  'RateLimitBreach',
  'RetirementBlocked',
  'SelfApprovalAttempt',
  'ServiceLevelBreach',
  'DesignDrift',
  'ComplianceScoreLow',
  'DeprecatedVersionInUse',
  'SpoolPressure',
  'RecordsDamaged',
] as const satisfies readonly Risk['type'][]

/** The consumer that a party is, or through which an agent calls; `''` if there is none. */
export function consumerOf({ kind, id, consumer }: Party): string {
  if (kind === 'agent') return consumer ?? id
  return kind === 'consumer' ? id : ''
}

/** A mute is for the episodes with its key. */
export function keyOf({ type, api, attributedTo }: Pick<Risk, 'type' | 'api' | 'attributedTo'>): string {
  const { kind, id, consumer = '', onBehalfOf = '' } = attributedTo
  return JSON.stringify([type, api, kind, id, consumer, onBehalfOf])
}

export function addressOf(riskId: string): string {
  return `risks/${encodeURIComponent(riskId)}`
}
