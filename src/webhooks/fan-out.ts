/**
 * From events to deliveries: one for each registration of the tenant that asked for the kind.
 *
 * Events are the outbox: each was committed with the change that caused it. How far they were dealt with is
 * kept in the same commit as the deliveries that they became, so that a process that dies in the middle
 * neither loses one nor makes it twice.
 */

import { deliveryWrite, freshDelivery, newDelivery, transitionDelivery } from './delivery-document.ts'
import { EVENT_SUBSCRIPTION_KIND, takes, type EventSubscriptionBody } from './event-subscription-document.ts'
import { isOn, SUBSCRIPTIONS_OF_TENANT_MAX } from './event-subscriptions.ts'
import type { EventBody } from '../command/event-outbox.ts'
import type { Clock } from '../runtime/clock.ts'
import type { CreateId } from '../runtime/ids.ts'
import type { Document, Registry, Write } from '../store/registry.ts'

export interface FanOut {
  /** Takes up what was left, and goes on by itself. */
  start(): Promise<void>
  stop(): Promise<void>
}

export interface FanOutOptions {
  readonly registry: Registry
  readonly createId: CreateId
  readonly clock: Pick<Clock, 'nowMs' | 'after'>
  /** Of the gateway itself: whose the position is. */
  readonly tenant: string
  /** How many deliveries wait for a registration. */
  readonly waitingFor: (subscription: string) => number
  readonly count: (reason: string) => void
  readonly log: { error(fields: object, message: string): void }
}

const POSITION_KIND = 'webhook_position'
const POSITION_ID = 'webhooks'
/** Changes without an event after which the position is kept all the same: they are read again at a start. */
const KEEP_EVERY = 1_000
const AGAIN_AFTER_MS = 5_000
/** Heard and not dealt with; more are read again from the registry. */
const HEARD_MAX = 1_000
export const WAITING_MAX = 10_000

export function createFanOut(options: FanOutOptions): FanOut {
  const { registry, createId, clock, tenant: own, waitingFor, count, log } = options
  /** Heard and not dealt with; a null event is a position alone. */
  let heard: { readonly position: number; readonly event: Document<EventBody> | null }[] = []
  let work: Promise<void> = Promise.resolve()
  let isWorking = false
  let isStopped = false
  let isCut = false
  let kept = 0
  let latest = 0
  let unwatch = (): void => {}
  let cancel = (): void => {}

  async function listen(): Promise<void> {
    const position = await registry.get<{ readonly position: number }>(POSITION_KIND, POSITION_ID)
    kept = position?.body.position ?? 0
    if (position === null) {
      // Events of before there were registrations concern nobody.
      kept = await registry.end()
      await commit([], kept)
    }
    latest = kept
    isCut = false
    unwatch = registry.watch(kept, ({ position: at, document, removed }) => {
      if (isCut) return
      latest = at
      const isEvent = document.kind === 'event' && !removed
      if (isEvent) heard.push({ position: at, event: document as Document<EventBody> })
      else if (at - kept >= KEEP_EVERY && heard.length === 0) heard.push({ position: at, event: null })
      else return
      if (heard.length >= HEARD_MAX) stopListening()
      goOn()
    })
    // What was heard while it began may have been more than is held.
    if (isCut) unwatch()
  }

  /** Until what was heard is dealt with: the rest stands in the registry. */
  function stopListening(): void {
    isCut = true
    unwatch()
  }

  function goOn(): void {
    if (isWorking || isStopped) return
    isWorking = true
    work = drain()
  }

  async function drain(): Promise<void> {
    try {
      for (let next = heard[0]; next !== undefined && !isStopped; next = heard[0]) {
        await commit(next.event === null ? [] : await deliveriesOf(next.event), next.position)
        heard.shift()
      }
      isWorking = false
      if (isCut && !isStopped) await listen()
    } catch (cause) {
      isWorking = false
      count('webhook_fan_out_failed')
      log.error({ err: cause }, 'webhook deliveries could not be created from new events; retrying')
      unwatch()
      heard = []
      listenAgain()
    }
  }

  function listenAgain(): void {
    if (!isStopped) cancel = clock.after(AGAIN_AFTER_MS, () => void listen().catch(listenAgain))
  }

  async function deliveriesOf({ id, tenant, body }: Document<EventBody>): Promise<Write[]> {
    const { type } = body
    const subscriptions = await registry.list<EventSubscriptionBody>(EVENT_SUBSCRIPTION_KIND, {
      tenant,
      limit: SUBSCRIPTIONS_OF_TENANT_MAX,
    })
    return subscriptions
      .filter((each) => isOn(each.body) && takes(each.body, type))
      .map((each) => {
        const delivery = freshDelivery(each.id, { id, type }, clock.nowMs())
        const made = newDelivery(createId, tenant, delivery)
        if (waitingFor(each.id) < WAITING_MAX) return made.write
        // It stands as failed, to be asked for again: nothing vanishes.
        count('webhook_overflow')
        return deliveryWrite(made.id, tenant, 0, { ...delivery, actor: transitionDelivery(delivery, 'abandoned') })
      })
  }

  async function commit(writes: readonly Write[], position: number): Promise<void> {
    const before = await registry.get(POSITION_KIND, POSITION_ID)
    const expected = before?.revision ?? 0
    const write = { kind: POSITION_KIND, id: POSITION_ID, tenant: before?.tenant ?? own, expected, body: { position } }
    await registry.commit({ tenant: own, consumer: 'system' }, 'webhooks.deliver', [...writes, write])
    kept = position
  }

  return {
    start: listen,
    async stop() {
      isStopped = true
      unwatch()
      cancel()
      await work
      if (heard.length === 0 && latest > kept) await commit([], latest)
    },
  }
}
