/** Replaces the name of a consumer in stored episodes. */

import { consumerOf, type RiskEvent } from '../../foundation/domain/risk.ts'
import type { SavedEpisode } from './risk-checkpoint.ts'

/** Returns the episodes that name the consumer otherwise, with the new name. */
export function renameEpisodes(
  episodes: readonly SavedEpisode[],
  consumer: string,
  name: string,
): readonly SavedEpisode[] {
  return episodes
    .filter(({ event }) => isNamed(event, consumer, name))
    .map((episode) => ({ ...episode, event: renamed(episode.event, name) }))
}

/** Whether the party is the consumer, under another name. */
function isNamed({ attributedTo: party }: RiskEvent, consumer: string, name: string): boolean {
  return party.id === consumer && consumerOf(party) === consumer && party.name !== name
}

/** The message of an event begins with the name of its party. */
function renamed({ attributedTo, message, ...event }: RiskEvent, name: string): RiskEvent {
  const rest = message.startsWith(attributedTo.name) ? message.slice(attributedTo.name.length) : ''
  return { ...event, attributedTo: { ...attributedTo, name }, message: `${name}${rest}` }
}
