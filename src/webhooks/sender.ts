/**
 * One attempt to deliver: read what is to be sent, sign it, send it, write down what came of it.
 *
 * What came of it is committed before anything else follows: a process that dies before that sends the same
 * message again, under the same id.
 */

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
import type { EventBody } from '../command/event-outbox.ts'
import type { KeyedMutex } from '../command/keyed-mutex.ts'
import type { GuardedFetch, OutboundResult } from '../outbound/guarded-fetch.ts'
import type { Clock } from '../runtime/clock.ts'
import type { Vault } from '../runtime/vault.ts'
import type { Document, Registry, Write } from '../store/registry.ts'
import { createCommitGroup } from './commit-group.ts'
import { retryDelayMs } from './retry-schedule.ts'
import { signedHeaders } from './sign.ts'

export interface SenderOptions {
  readonly registry: Registry
  readonly vault: Pick<Vault, 'decrypt'>
  readonly outbound: Pick<GuardedFetch, 'fetch'>
  readonly clock: Pick<Clock, 'nowMs'>
  /** From 0 up to 1. */
  readonly random: () => number
  /** By registration. */
  readonly mutex: KeyedMutex
  /** An attempt and how it ended. */
  readonly count: (reason: string) => void
  readonly log: { error(fields: object, message: string): void }
  /** What came of it could not be written down: it has to be sent again. */
  readonly onTrouble: (id: string, tenant: string, subscription: string) => void
}

const WITHIN_MS = 15_000
const ANSWER_BYTES_MAX = 64 * 1024
const RESPONSE_KEPT = 1_024
const GONE = 410

/** Whether the receiver answered well; null where it was not asked. Never rejects. */
export function createSender(options: SenderOptions): (id: string) => Promise<boolean | null> {
  const { registry, vault, outbound, clock, random, mutex, count, log, onTrouble } = options
  const commits = createCommitGroup({ registry })

  async function send(id: string): Promise<boolean | null> {
    const delivery = await registry.get<DeliveryBody>(DELIVERY_KIND, id)
    if (delivery === null || stateOfDelivery(delivery.body) !== 'pending') return null
    const subscription = await registry.get<EventSubscriptionBody>(EVENT_SUBSCRIPTION_KIND, delivery.body.subscription)
    const body = await messageOf(delivery)
    if (subscription === null || body === null) {
      count('webhook_abandoned')
      await abandon(delivery)
      return null
    }
    // What waits for a registration that is off waits until it is on again.
    if (stateOfSubscription(subscription.body) === 'disabled') return null
    const startedMs = clock.nowMs()
    const secrets = validSecrets(vault, subscription, startedMs)
    const signed = signedHeaders(delivery.body.event, Math.floor(startedMs / 1_000), body, secrets)
    const result = await outbound.fetch({
      url: subscription.body.url,
      method: 'POST',
      headers: { ...signed, 'content-type': 'application/json', 'user-agent': 'tollgate-webhooks/1' },
      body,
      timeoutMs: WITHIN_MS,
      bytesMax: ANSWER_BYTES_MAX,
      allowTruncated: true,
    })
    const nowMs = clock.nowMs()
    const attempt = describe(result, startedMs, nowMs)
    const isGood = attempt.status !== null && attempt.status >= 200 && attempt.status < 300
    count(isGood ? 'webhook_delivered' : `webhook_${result.kind === 'failed' ? result.reason : 'refused'}`)
    try {
      await mutex.runExclusive([subscription.id], () => note(delivery, attempt, isGood, retryAfterOf(result), nowMs))
    } catch (cause) {
      onTrouble(id, subscription.tenant, subscription.id)
      throw cause
    }
    return isGood
  }

  async function messageOf({ body, createdAtMs }: Document<DeliveryBody>): Promise<string | null> {
    const { event, type, sample } = body
    if (sample !== null) return toMessage(type, createdAtMs, sample)
    const document = await registry.get<EventBody>('event', event)
    return document === null ? null : toMessage(type, document.createdAtMs, document.body.data)
  }

  function abandon({ id, tenant, revision, body }: Document<DeliveryBody>): Promise<void> {
    const next = { ...body, actor: transitionDelivery(body, 'abandoned') }
    return registry.commit({ tenant, consumer: 'system' }, 'webhook.abandoned', [
      deliveryWrite(id, tenant, revision, next),
    ])
  }

  async function note(
    { id, tenant, revision, body }: Document<DeliveryBody>,
    attempt: DeliveryAttempt,
    isGood: boolean,
    retryAfter: string | undefined,
    nowMs: number,
  ): Promise<void> {
    const actor = transitionDelivery(body, isGood ? 'succeeded' : 'failed')
    const nextAtMs = nowMs + retryDelayMs(triesOf({ actor }), random(), retryAfter, nowMs)
    const next = { ...body, actor, nextAtMs, attempts: withAttempt(body, attempt) }
    const event: EventSubscriptionEvent = isGood
      ? { type: 'delivered' }
      : attempt.status === GONE
        ? { type: 'gone' }
        : { type: 'failed', atMs: nowMs }
    await commits.add({
      author: { tenant, consumer: 'system' },
      action: `webhook.${isGood ? 'delivered' : 'failed'}`,
      writes: [deliveryWrite(id, tenant, revision, next), ...(await moved(body.subscription, event))],
    })
  }

  /** Of the registration as it is now; nothing where nothing changes. */
  async function moved(id: string, event: EventSubscriptionEvent): Promise<Write[]> {
    const subscription = await registry.get<EventSubscriptionBody>(EVENT_SUBSCRIPTION_KIND, id)
    if (subscription === null || stateOfSubscription(subscription.body) === 'disabled') return []
    const { tenant, revision, body } = subscription
    const next = { ...body, actor: transitionSubscription(body, event) }
    if (stateOfSubscription(next) === stateOfSubscription(body)) return []
    count(`webhook_receiver_${stateOfSubscription(next)}`)
    return [eventSubscriptionWrite(id, tenant, revision, next)]
  }

  return (id) =>
    send(id).catch((cause: unknown) => {
      // It stands as pending, and goes out again.
      count('webhook_not_noted')
      log.error(
        { err: cause, delivery: id },
        'result of a webhook delivery could not be stored; it stays pending and is sent again',
      )
      return null
    })
}

/** The same bytes at every attempt. */
function toMessage(type: string, atMs: number, data: EventBody['data']): string {
  return JSON.stringify({ type, timestamp: new Date(atMs).toISOString(), data })
}

function describe(result: OutboundResult, startedMs: number, nowMs: number): DeliveryAttempt {
  const shared = { time: new Date(startedMs).toISOString(), durationMs: Math.max(0, nowMs - startedMs) }
  if (result.kind === 'failed') return { ...shared, status: null, response: result.detail }
  const response = result.body.toString('utf8', 0, RESPONSE_KEPT).replaceAll(/[\p{Cc}\p{Cs}]/gu, ' ')
  return { ...shared, status: result.status, response }
}

function retryAfterOf(result: OutboundResult): string | undefined {
  const given = result.kind === 'answered' ? result.headers['retry-after'] : undefined
  return typeof given === 'string' ? given : undefined
}
