/** The registry document of an event subscription, and its public form. */

import {
  EVENT_SUBSCRIPTION_ACTIONS,
  eventSubscription as machine,
  type EventSubscriptionEvent,
  type EventSubscriptionState,
} from './event-subscription-machine.ts'
import { begin, step, type PersistedActor } from '../command/persisted-machine.ts'
import type { Vault } from '../../foundation/runtime/vault.ts'
import type { Labelled, Labels } from '../../storage/store/labels.ts'
import { documentKind, type Document, type Write } from '../../storage/store/registry.ts'
import { refusedStep, toTime } from '../command/commands.ts'
import type { EventType } from '../command/event-outbox.ts'

export interface EventSubscriptionBody extends Labelled {
  /** The consumer whose events are delivered; missing: all events of the tenant. */
  readonly consumer?: string
  readonly url: string
  /** Null: all types. */
  readonly events: readonly EventType[] | null
  /** Encrypted, the latest first. `untilMs` is null while a secret has no end. */
  readonly secrets: readonly { readonly encrypted: string; readonly untilMs: number | null }[]
  readonly actor: PersistedActor
}

export interface EventSubscription {
  readonly id: string
  readonly consumer: string | null
  readonly url: string
  readonly events: readonly EventType[] | null
  readonly state: EventSubscriptionState
  readonly failingSince: string | null
  readonly labels: Labels
  readonly createdAt: string
}

export const EVENT_SUBSCRIPTION_KIND = documentKind<EventSubscriptionBody>('event_subscription', [
  'consumer',
  'events',
  'state',
  'labels',
])

export const freshEventSubscription = (): PersistedActor => begin(machine, undefined)

export function stateOfSubscription({ actor }: Pick<EventSubscriptionBody, 'actor'>): EventSubscriptionState {
  return actor.value as EventSubscriptionState
}

/** Throws `Problem('state_conflict')` if the state of the subscription does not accept the event. */
export function transitionSubscription(
  { actor }: Pick<EventSubscriptionBody, 'actor'>,
  event: EventSubscriptionEvent,
): PersistedActor {
  const result = step(machine, actor, event)
  if ('refused' in result) throw refusedStep(result.refused, EVENT_SUBSCRIPTION_ACTIONS)
  return result.next
}

export function includesType({ events }: EventSubscriptionBody, type: EventType): boolean {
  return events === null || events.includes(type)
}

/** Encryption context, which binds a secret to its subscription. */
export const secretContext = (id: string): string => `webhook secret ${id}`

/** Decrypts the secrets that sign now, the latest first. */
export function validSecrets(
  vault: Pick<Vault, 'decrypt'>,
  { id, body }: Pick<Document<EventSubscriptionBody>, 'id' | 'body'>,
  nowMs: number,
): readonly string[] {
  return body.secrets
    .filter(({ untilMs }) => untilMs === null || untilMs > nowMs)
    .map(({ encrypted }) => vault.decrypt(encrypted, secretContext(id)))
}

export function eventSubscriptionWrite(
  id: string,
  tenant: string,
  expected: number,
  body: EventSubscriptionBody,
): Write {
  const { consumer } = body
  const keys = { state: stateOfSubscription(body), ...(consumer !== undefined && { consumer }) }
  return { kind: EVENT_SUBSCRIPTION_KIND, id, tenant, expected, body, keys }
}

export function showEventSubscription({ id, body, createdAtMs }: Document<EventSubscriptionBody>): EventSubscription {
  const { consumer = null, url, events, actor } = body
  const { failingSinceMs } = actor.context as { readonly failingSinceMs: number | null }
  return {
    id,
    consumer,
    url,
    events,
    state: stateOfSubscription(body),
    failingSince: failingSinceMs === null ? null : toTime(failingSinceMs),
    labels: body.labels ?? {},
    createdAt: toTime(createdAtMs),
  }
}
