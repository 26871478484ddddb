/**
 * Turns events into deliveries: one per event subscription of the tenant that includes the event type.
 *
 * Events are the outbox: each is committed together with the change that caused it. The position in the change feed is
 * committed together with the deliveries, so a crash neither loses a delivery nor creates it twice. Nor does a node that continues
 * after another one has taken over: a commit is refused if the position is not the one that this node has reached.
 */

import { isDisabled } from '../access/platform-access.ts'
import type { CountEvent } from '../../foundation/runtime/event-reasons.ts'
import { deliveryWrite, freshDelivery, newDelivery, transitionDelivery } from './delivery-document.ts'
import { EVENT_SUBSCRIPTION_KIND, includesType, type EventSubscriptionBody } from './event-subscription-document.ts'
import { isEnabled, RECEIVERS_MAX } from './event-subscriptions.ts'
import { OUTBOX_EVENT_KIND, type DataForConsumer, type EventBody } from '../command/event-outbox.ts'
import type { Clock } from '../../foundation/runtime/clock.ts'
import type { CreateId } from '../../foundation/runtime/ids.ts'
import {
  documentKind,
  isOfKind,
  RevisionConflict,
  type Document,
  type Registry,
  type Write,
} from '../../storage/store/registry.ts'

export interface FanOut {
  /** Resumes from the committed position and follows the change feed. */
  start(): Promise<void>
  /** Commits the position if it can. Never rejects. */
  stop(): Promise<void>
}

export interface FanOutOptions {
  readonly registry: Registry
  readonly createId: CreateId
  readonly clock: Pick<Clock, 'nowMs' | 'after'>
  /** The tenant of the gateway itself, which owns the position. */
  readonly tenant: string
  /** Returns the number of queued deliveries of an event subscription. */
  readonly queuedFor: (subscription: string) => number
  readonly dataForConsumer: DataForConsumer
  readonly count: CountEvent
  readonly log: { error(fields: object, message: string): void }
}

/** A change to process; `event` is null if only the position is to be committed. */
interface PendingChange {
  readonly position: number
  readonly event: Document<EventBody> | null
}

interface State {
  readonly options: FanOutOptions
  pending: PendingChange[]
  work: Promise<void>
  isDraining: boolean
  isStopped: boolean
  /** More changes arrived than `PENDING_MAX`; the feed is read again after the pending ones. */
  isPaused: boolean
  committed: number
  latest: number
  unwatch: () => void
  cancelRetry: () => void
}

const POSITION_KIND = documentKind<{ readonly position: number }>('webhook_position', 'hidden')
const POSITION_ID = 'webhooks'
/** Commits the position after this many changes without an event, to bound what a restart reads again. */
const POSITION_EVERY = 1_000
const RETRY_MS = 5_000
const PENDING_MAX = 1_000
const QUEUED_MAX = 10_000

export function createFanOut(options: FanOutOptions): FanOut {
  const state: State = {
    options,
    pending: [],
    work: Promise.resolve(),
    isDraining: false,
    isStopped: false,
    isPaused: false,
    committed: 0,
    latest: 0,
    unwatch: () => {},
    cancelRetry: () => {},
  }

  return {
    start: () => watch(state),
    async stop() {
      state.isStopped = true
      state.unwatch()
      state.cancelRetry()
      await state.work
      await commitLatest(state)
    },
  }
}

async function watch(state: State): Promise<void> {
  const { registry } = state.options
  const position = await registry.get(POSITION_KIND, POSITION_ID)
  state.committed = position?.body.position ?? 0
  if (position === null) {
    // Skips the events from before the first start of webhooks, which have no subscription.
    await commit(state, [], await registry.end())
  }
  if (state.isStopped) return
  state.latest = state.committed
  state.isPaused = false
  state.unwatch = registry.watch(state.committed, ({ position: at, document, removed }) => {
    if (state.isPaused) return
    state.latest = at
    if (isOfKind(document, OUTBOX_EVENT_KIND) && !removed) state.pending.push({ position: at, event: document })
    else if (at - state.committed >= POSITION_EVERY && state.pending.length === 0)
      state.pending.push({ position: at, event: null })
    else return
    if (state.pending.length >= PENDING_MAX) pause(state)
    if (state.isDraining || state.isStopped) return
    state.isDraining = true
    state.work = drain(state)
  })
  // `watch` replays changes before it returns, which may already have been too many.
  if (state.isPaused) state.unwatch()
}

function pause(state: State): void {
  state.isPaused = true
  state.unwatch()
}

async function drain(state: State): Promise<void> {
  const { count, log } = state.options
  try {
    for (let next = state.pending[0]; next !== undefined && !state.isStopped; next = state.pending[0]) {
      await commit(state, next.event === null ? [] : await deliveriesOf(state.options, next.event), next.position)
      state.pending.shift()
    }
    state.isDraining = false
    if (state.isPaused && !state.isStopped) await watch(state)
  } catch (cause) {
    state.isDraining = false
    count('webhook_fan_out_failed')
    log.error({ err: cause }, 'webhook deliveries could not be created from new events; retrying')
    state.unwatch()
    state.pending = []
    // Otherwise a stop would commit a position after events that have no deliveries yet.
    state.latest = state.committed
    watchLater(state)
  }
}

function watchLater(state: State): void {
  if (state.isStopped) return
  const retry = (): void => void watch(state).catch(() => watchLater(state))
  state.cancelRetry = state.options.clock.after(RETRY_MS, retry)
}

/** Spares the next start the changes without an event. */
async function commitLatest(state: State): Promise<void> {
  const { count, log } = state.options
  if (state.pending.length > 0 || state.latest <= state.committed) return
  try {
    await commit(state, [], state.latest)
  } catch (cause) {
    count('webhook_fan_out_failed')
    log.error({ err: cause }, 'webhook position could not be stored; the next start reads the last changes again')
  }
}

async function deliveriesOf(
  { registry, createId, clock, queuedFor, count, dataForConsumer }: FanOutOptions,
  { id, tenant, body }: Document<EventBody>,
): Promise<Write[]> {
  const { type } = body
  if (await isDisabled(registry, tenant)) return []
  const subscriptions = await registry.list(EVENT_SUBSCRIPTION_KIND, {
    tenant,
    limit: RECEIVERS_MAX,
  })
  const receivers: Document<EventSubscriptionBody>[] = []
  for (const each of subscriptions) {
    if (!isEnabled(each.body) || !includesType(each.body, type)) continue
    const { consumer } = each.body
    if (consumer === undefined || (await dataForConsumer(tenant, consumer, body)) !== null) receivers.push(each)
  }
  return receivers.map((each) => {
    const delivery = freshDelivery(each.id, { id, type }, clock.nowMs())
    const made = newDelivery(createId, tenant, delivery)
    if (queuedFor(each.id) < QUEUED_MAX) return made.write
    // The overflow is stored as failed, so that it can be redelivered.
    count('webhook_overflow')
    return deliveryWrite(made.id, tenant, 0, { ...delivery, actor: transitionDelivery(delivery, 'abandoned') })
  })
}

async function commit(state: State, writes: readonly Write[], position: number): Promise<void> {
  const { registry, tenant: own } = state.options
  const before = await registry.get(POSITION_KIND, POSITION_ID)
  if ((before?.body.position ?? 0) !== state.committed)
    throw new RevisionConflict('another node has moved the position')
  const expected = before?.revision ?? 0
  const write = { kind: POSITION_KIND, id: POSITION_ID, tenant: before?.tenant ?? own, expected, body: { position } }
  await registry.commit({ tenant: own, consumer: 'system' }, 'webhooks.deliver', [...writes, write])
  state.committed = position
}
