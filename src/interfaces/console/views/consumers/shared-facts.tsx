/** Facts that consumers and subscriptions have in common. */

import type { Fact } from '../../parts/facts.tsx'
import { Labels } from '../../parts/labels.tsx'
import { Time } from '../../parts/values.tsx'
import { texts } from '../../texts.ts'

const words = texts.consumers

export function contactFact(contact: string | null): Fact {
  return [words.contact, contact === null ? <span class="quiet">{words.noContact}</span> : <bdi>{contact}</bdi>]
}

export function labelFacts(labels: Readonly<Record<string, string>>, createdAt: string): readonly Fact[] {
  return [
    [texts.labels.title, <Labels of={labels} />],
    [words.columns.created, <Time at={createdAt} />],
  ]
}
