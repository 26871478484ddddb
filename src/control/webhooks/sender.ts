/**
 * One delivery attempt: reads the event, signs it, sends it, and stores the result.
 *
 * The attempt is complete only when its result is committed. After a crash or a failure before that, the delivery is sent again with
 * the same message id.
 */

import { isDisabled } from '../access/platform-access.ts'
import {
  deliveryWrite,
  DELIVERY_KIND,
  stateOfDelivery,
  transitionDelivery,
  triesOf,
  withAttempt,
  type DeliveryAttempt,
  type DeliveryBody,
} from './delivery-document.ts'
import {
  eventSubscriptionWrite,
  EVENT_SUBSCRIPTION_KIND,
  stateOfSubscription,
  transitionSubscription,
  validSecrets,
  type EventSubscriptionBody,
} from './event-subscription-document.ts'
import type { EventSubscriptionEvent } from './event-subscription-machine.ts'
import { OUTBOX_EVENT_KIND, type DataForConsumer, type EventBody } from '../command/event-outbox.ts'
import type { KeyedMutex } from '../command/keyed-mutex.ts'
import type { GuardedFetch, OutboundResult } from '../../foundation/outbound/guarded-fetch.ts'
import type { CountEvent } from '../../foundation/runtime/event-reasons.ts'
import type { Clock } from '../../foundation/runtime/clock.ts'
import type { Vault } from '../../foundation/runtime/vault.ts'
import type { Document, Registry, Write } from '../../storage/store/registry.ts'
import { createCommitGroup, type CommitGroup } from './commit-group.ts'
import { retryDelayMs } from './retry-schedule.ts'
import { signedHeaders } from './sign.ts'

export interface SenderOptions {
  readonly registry: Registry
  readonly vault: Pick<Vault, 'decrypt'>
  readonly outbound: Pick<GuardedFetch, 'fetch'>
  readonly clock: Pick<Clock, 'nowMs'>
  /** Returns a number in [0, 1). */
  readonly random: () => number
  readonly dataForConsumer: DataForConsumer
  /** Keyed by event subscription. */
  readonly mutex: KeyedMutex
  /** Counts attempts, abandoned deliveries and changes of receiver states. */
  readonly count: CountEvent
}

interface Sender extends SenderOptions {
  readonly commits: CommitGroup
}

const TIMEOUT_MS = 15_000
const RESPONSE_BYTES_MAX = 64 * 1024
const RESPONSE_BYTES_STORED = 1_024
const GONE = 410

/**
 * Creates a function that attempts one delivery. It resolves with whether the receiver accepted it, or with null if there is nothing to
 * send. It rejects if the delivery could not be read or its result not stored; then the delivery is pending and must be attempted again.
 */
export function createSender(options: SenderOptions): (id: string) => Promise<boolean | null> {
  const sender: Sender = { ...options, commits: createCommitGroup(options) }
  return (id) => send(sender, id)
}

async function send(sender: Sender, id: string): Promise<boolean | null> {
  const { registry, mutex, count, clock } = sender
  const delivery = await registry.get(DELIVERY_KIND, id)
  if (delivery === null || stateOfDelivery(delivery.body) !== 'pending') return null
  const subscription = await registry.get(EVENT_SUBSCRIPTION_KIND, delivery.body.subscription)
  const body = subscription === null ? null : await messageOf(sender, delivery, subscription.body)
  if (subscription === null || body === null) {
    count('webhook_abandoned')
    await abandon(sender, delivery)
    return null
  }
  // The delivery stays pending until the subscription or the tenant is enabled again.
  if (stateOfSubscription(subscription.body) === 'disabled' || (await isDisabled(registry, delivery.tenant)))
    return null
  const startedMs = clock.nowMs()
  const result = await request(sender, subscription, delivery.body.event, body, startedMs)
  const nowMs = clock.nowMs()
  const attempt = toAttempt(result, startedMs, nowMs)
  const isAccepted = attempt.status !== null && attempt.status >= 200 && attempt.status < 300
  count(isAccepted ? 'webhook_delivered' : `webhook_${result.kind === 'failed' ? result.reason : 'refused'}`)
  await mutex.runExclusive([subscription.id], () =>
    storeResult(sender, delivery, attempt, isAccepted, retryAfterOf(result), nowMs),
  )
  return isAccepted
}

function request(
  { vault, outbound }: Sender,
  subscription: Document<EventSubscriptionBody>,
  event: string,
  body: string,
  nowMs: number,
): Promise<OutboundResult> {
  const secrets = validSecrets(vault, subscription, nowMs)
  const signed = signedHeaders(event, Math.floor(nowMs / 1_000), body, secrets)
  return outbound.fetch({
    url: subscription.body.url,
    method: 'POST',
    headers: { ...signed, 'content-type': 'application/json', 'user-agent': 'tollgate-webhooks/1' },
    body,
    timeoutMs: TIMEOUT_MS,
    bytesMax: RESPONSE_BYTES_MAX,
    allowTruncated: true,
  })
}

async function messageOf(
  { registry, dataForConsumer }: Sender,
  { tenant, body, createdAtMs }: Document<DeliveryBody>,
  { consumer }: EventSubscriptionBody,
): Promise<string | null> {
  const { event, type, sample } = body
  if (sample !== null) return toMessage(type, createdAtMs, sample)
  const document = await registry.get(OUTBOX_EVENT_KIND, event)
  if (document === null) return null
  const data = consumer === undefined ? document.body.data : await dataForConsumer(tenant, consumer, document.body)
  return data === null ? null : toMessage(type, document.createdAtMs, data)
}

function abandon({ registry }: Sender, { id, tenant, revision, body }: Document<DeliveryBody>): Promise<void> {
  const next = { ...body, actor: transitionDelivery(body, 'abandoned') }
  return registry.commit({ tenant, consumer: 'system' }, 'webhook.abandoned', [
    deliveryWrite(id, tenant, revision, next),
  ])
}

async function storeResult(
  sender: Sender,
  { id, tenant, revision, body }: Document<DeliveryBody>,
  attempt: DeliveryAttempt,
  isAccepted: boolean,
  retryAfter: string | undefined,
  nowMs: number,
): Promise<void> {
  const actor = transitionDelivery(body, isAccepted ? 'succeeded' : 'failed')
  const nextAtMs = nowMs + retryDelayMs(triesOf({ actor }), sender.random(), retryAfter, nowMs)
  const next = { ...body, actor, nextAtMs, attempts: withAttempt(body, attempt) }
  const event: EventSubscriptionEvent = isAccepted
    ? { type: 'delivered' }
    : attempt.status === GONE
      ? { type: 'gone' }
      : { type: 'failed', atMs: nowMs }
  await sender.commits.add({
    author: { tenant, consumer: 'system' },
    action: `webhook.${isAccepted ? 'delivered' : 'failed'}`,
    writes: [
      deliveryWrite(id, tenant, revision, next),
      ...(await subscriptionWrites(sender, body.subscription, event)),
    ],
  })
}

/** Returns the write that changes the state of the subscription, or no write if the state does not change. */
async function subscriptionWrites(
  { registry, count }: Sender,
  id: string,
  event: EventSubscriptionEvent,
): Promise<Write[]> {
  const subscription = await registry.get(EVENT_SUBSCRIPTION_KIND, id)
  if (subscription === null || stateOfSubscription(subscription.body) === 'disabled') return []
  const { tenant, revision, body } = subscription
  const next = { ...body, actor: transitionSubscription(body, event) }
  if (stateOfSubscription(next) === stateOfSubscription(body)) return []
  count(`webhook_receiver_${stateOfSubscription(next)}`)
  return [eventSubscriptionWrite(id, tenant, revision, next)]
}

/** Serializes the message. Every attempt must send identical bytes. */
function toMessage(type: string, atMs: number, data: EventBody['data']): string {
  return JSON.stringify({ type, timestamp: new Date(atMs).toISOString(), data })
}

function toAttempt(result: OutboundResult, startedMs: number, nowMs: number): DeliveryAttempt {
  const shared = { time: new Date(startedMs).toISOString(), durationMs: Math.max(0, nowMs - startedMs) }
  if (result.kind === 'failed') return { ...shared, status: null, response: result.detail }
  const response = result.body.toString('utf8', 0, RESPONSE_BYTES_STORED).replaceAll(/[\p{Cc}\p{Cs}]/gu, ' ')
  return { ...shared, status: result.status, response }
}

function retryAfterOf(result: OutboundResult): string | undefined {
  const value = result.kind === 'answered' ? result.headers['retry-after'] : undefined
  return typeof value === 'string' ? value : undefined
}
