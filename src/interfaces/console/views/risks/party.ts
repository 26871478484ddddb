/** The types of episodes and their parties, and the key by which mutes know a party. */

import type { Answer, Item } from '../../api/operations.ts'

export type Risk = Item<'/v1/risks'>
/** An episode with its timeline. */
export type Timeline = Answer<'/v1/risks/:riskId'>
export type Subscription = Item<'/v1/subscriptions'>
export type Mute = Item<'/v1/mutes'>
export type Party = Risk['attributedTo']

/** A mute is for the episodes with its key. */
export function keyOf({ type, api, attributedTo }: Pick<Risk, 'type' | 'api' | 'attributedTo'>): string {
  const { kind, id, consumer = '', onBehalfOf = '' } = attributedTo
  return JSON.stringify([type, api, kind, id, consumer, onBehalfOf])
}

export function addressOf(riskId: string): string {
  return `risks/${encodeURIComponent(riskId)}`
}
