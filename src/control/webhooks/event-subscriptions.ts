/** Event subscriptions: the URL of a receiver, the event types that it gets, and the secret that signs them. */

import { Problem } from '../../foundation/domain/problem.ts'
import type { Clock } from '../../foundation/runtime/clock.ts'
import type { Labelled } from '../../storage/store/labels.ts'
import type { Author, Document, Registry } from '../../storage/store/registry.ts'
import { commit, find, invalidAt, notFound } from '../command/commands.ts'
import type { Secrets } from '../access/credential-document.ts'
import {
  EVENT_SUBSCRIPTION_KIND,
  eventSubscriptionWrite,
  freshEventSubscription,
  secretContext,
  showEventSubscription,
  stateOfSubscription,
  transitionSubscription,
  type EventSubscription,
  type EventSubscriptionBody,
} from './event-subscription-document.ts'
import type { EventType } from '../command/event-outbox.ts'
import { listPage, type Page, type PageQuery } from '../command/page.ts'
import type { KeyedMutex } from '../command/keyed-mutex.ts'
import { makeSecret, checkSecret } from './webhook-secret.ts'

export interface EventSubscriptionInput extends Labelled {
  readonly url: string
  readonly events?: readonly EventType[]
  readonly secret?: string
}

export interface EventSubscriptionChange extends Labelled {
  readonly url?: string
  readonly events?: readonly EventType[] | null
  readonly state?: 'active' | 'disabled'
}

/** The only response that contains the secret. */
export type WithSecret = EventSubscription & { readonly secret: string }

export interface EventSubscriptions {
  /** With `consumer`, only events that concern that consumer are delivered. */
  create(author: Author, input: EventSubscriptionInput, consumer?: string | null): Promise<WithSecret>
  get(tenant: string, id: string): Promise<EventSubscription>
  list(tenant: string, query: PageQuery & { readonly consumer?: string }): Promise<Page<EventSubscription>>
  /** Throws `Problem('not_found')` unless the event subscription belongs to the consumer. */
  checkOwner(tenant: string, id: string, consumer: string): Promise<void>
  update(author: Author, id: string, change: EventSubscriptionChange): Promise<EventSubscription>
  remove(author: Author, id: string): Promise<void>
  /** Creates a new secret; the previous one keeps signing for a day. */
  rotateSecret(author: Author, id: string): Promise<WithSecret>
}

export interface EventSubscriptionsOptions extends Secrets {
  readonly registry: Registry
  readonly clock: Pick<Clock, 'nowMs'>
  /** Keyed by event subscription. */
  readonly mutex: KeyedMutex
  /** Returns why a URL may not be a target, or null. */
  readonly refuseTarget: (url: string) => Promise<string | null>
}

const RECEIVERS_OF_TENANT_MAX = 100
const RECEIVERS_OF_CONSUMER_MAX = 5
const RECEIVERS_OF_CONSUMERS_MAX = 900
/** All receivers of a tenant: an event is compared with each. */
export const RECEIVERS_MAX = RECEIVERS_OF_TENANT_MAX + RECEIVERS_OF_CONSUMERS_MAX
const OVERLAP_MS = 86_400_000
/** Includes the newest secret. */
const SECRETS_MAX = 3

export function createEventSubscriptions(options: EventSubscriptionsOptions): EventSubscriptions {
  const { registry, vault, randomBytes, clock, mutex } = options

  return {
    create: (author, input, consumer = null) => create(options, author, input, consumer),
    async checkOwner(tenant, id, consumer) {
      const { body } = await read(registry, tenant, id)
      if (body.consumer !== consumer) throw notFound(EVENT_SUBSCRIPTION_KIND, id)
    },
    get: async (tenant, id) => showEventSubscription(await read(registry, tenant, id)),
    list: (tenant, query) =>
      listPage({
        registry,
        kind: EVENT_SUBSCRIPTION_KIND,
        tenant,
        query,
        where: { consumer: query.consumer },
        show: showEventSubscription,
      }),
    async update(author, id, { url, events, state, labels }) {
      await read(registry, author.tenant, id)
      if (url !== undefined) await checkTarget(options, url)
      return change(options, author, id, 'event_subscription.update', (body) => {
        const wanted = state === undefined ? null : state === 'active' ? 'enabled' : 'disabled'
        return {
          ...body,
          ...(url !== undefined && { url }),
          ...(events !== undefined && { events }),
          ...(labels !== undefined && { labels }),
          ...(wanted !== null && { actor: transitionSubscription(body, { type: wanted }) }),
        }
      })
    },
    async remove(author, id) {
      await mutex.runExclusive([id], async () => {
        const { tenant, revision } = await read(registry, author.tenant, id)
        await commit(registry, author, 'event_subscription.remove', [
          { kind: EVENT_SUBSCRIPTION_KIND, id, tenant, expected: revision, body: null },
        ])
      })
    },
    async rotateSecret(author, id) {
      const secret = makeSecret(randomBytes)
      const untilMs = clock.nowMs() + OVERLAP_MS
      const shown = await change(options, author, id, 'event_subscription.rotate', (body) => {
        const before = body.secrets
          .filter((each) => each.untilMs === null || each.untilMs > clock.nowMs())
          .map((each) => ({ ...each, untilMs: each.untilMs ?? untilMs }))
        return { ...body, secrets: [toStored(vault, id, secret), ...before].slice(0, SECRETS_MAX) }
      })
      return { ...shown, secret }
    },
  }
}

async function checkTarget(options: EventSubscriptionsOptions, url: string): Promise<void> {
  const fault = await options.refuseTarget(url)
  if (fault !== null) throw invalidAt('/url', fault)
}

async function create(
  options: EventSubscriptionsOptions,
  author: Author,
  { url, events, secret: given, labels }: EventSubscriptionInput,
  consumer: string | null,
): Promise<WithSecret> {
  const { registry, vault, createId, randomBytes, mutex } = options
  const { tenant } = author
  if (given !== undefined) checkSecret(given)
  await checkTarget(options, url)
  const id = createId('evs')
  const secret = given ?? makeSecret(randomBytes)
  const body: EventSubscriptionBody = {
    ...(consumer !== null && { consumer }),
    url,
    events: events ?? null,
    secrets: [toStored(vault, id, secret)],
    actor: freshEventSubscription(),
    ...(labels !== undefined && { labels }),
  }
  // One at a time per tenant, so that concurrent requests cannot exceed the limit.
  await mutex.runExclusive([`event subscriptions of ${tenant}`], async () => {
    await checkRoom(registry, tenant, consumer)
    await commit(registry, author, 'event_subscription.create', [eventSubscriptionWrite(id, tenant, 0, body)])
  })
  return { ...showEventSubscription(await read(registry, tenant, id)), secret }
}

/** The consumers of a tenant have a limit of their own, so that they cannot exclude the tenant. */
async function checkRoom(registry: Registry, tenant: string, consumer: string | null): Promise<void> {
  const all = await registry.list(EVENT_SUBSCRIPTION_KIND, { tenant, limit: RECEIVERS_MAX })
  const ofTenant = all.filter(({ body }) => body.consumer === undefined)
  const ofConsumer = all.filter(({ body }) => body.consumer === consumer)
  const [count, limit, who] =
    consumer === null
      ? [ofTenant.length, RECEIVERS_OF_TENANT_MAX, 'tenant']
      : [ofConsumer.length, RECEIVERS_OF_CONSUMER_MAX, 'consumer']
  if (count >= limit)
    throw new Problem(
      'state_conflict',
      `A ${who} can register at most ${limit} receivers; remove one that is not used.`,
      { extensions: FULL },
    )
  if (consumer !== null && all.length - ofTenant.length >= RECEIVERS_OF_CONSUMERS_MAX)
    throw new Problem('state_conflict', 'The consumers of this tenant cannot register more receivers.', {
      extensions: FULL,
    })
}

const FULL = { state: 'full', allowed: ['remove'] } as const

async function change(
  options: EventSubscriptionsOptions,
  author: Author,
  id: string,
  action: string,
  changed: (current: EventSubscriptionBody) => EventSubscriptionBody,
): Promise<EventSubscription> {
  const { registry, mutex } = options
  const { tenant } = author
  return mutex.runExclusive([id], async () => {
    const { revision, body } = await read(registry, tenant, id)
    await commit(registry, author, action, [eventSubscriptionWrite(id, tenant, revision, changed(body))])
    return showEventSubscription(await read(registry, tenant, id))
  })
}

function read(registry: Registry, tenant: string, id: string): Promise<Document<EventSubscriptionBody>> {
  return find(registry, tenant, EVENT_SUBSCRIPTION_KIND, id)
}

/** Encrypts a secret that signs from now on. */
function toStored(vault: Secrets['vault'], id: string, secret: string): EventSubscriptionBody['secrets'][number] {
  return { encrypted: vault.encrypt(secret, secretContext(id)), untilMs: null }
}

/** Returns whether events are delivered to the subscription. */
export function isEnabled(body: EventSubscriptionBody): boolean {
  return stateOfSubscription(body) !== 'disabled'
}
