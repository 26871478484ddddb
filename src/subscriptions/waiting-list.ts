/**
 * Who waits for capacity, first come first served: subscriptions, and changes of tier that were approved.
 *
 * It hears of every change that may free some (subscriptions that end, rest or change, declarations,
 * products), and lets in whoever waits longest for as long as there is room. Whoever does not fit at an API
 * holds up those behind him there: a large one would otherwise wait for ever.
 */

import { step } from '../command/persisted-machine.ts'
import { subscription as machine } from './document/subscription-machine.ts'
import type { Log } from '../runtime/log.ts'
import type { Clock } from '../runtime/clock.ts'
import type { CreateId } from '../runtime/ids.ts'
import { RevisionConflict, type Change, type Document, type Registry, type Write } from '../store/registry.ts'
import { APPROVAL_KIND, movedFlow, tellFlow, type ApprovalFlowBody } from '../approvals/approval-document.ts'
import { apisOf, WAITING, type Capacity, type Claim } from './capacity.ts'
import type { Credentials } from '../access/credentials.ts'
import { subscriptionWrite, type SubscriptionBody } from './document/subscription-document.ts'
import { tierClaim, tierWrites } from './tier-changes.ts'

export interface WaitingList {
  /** Lets in who fits now, and goes on by itself. */
  start(): Promise<void>
  /** Resolves when what was heard of so far is done. */
  settled(): Promise<void>
  stop(): void
}

export interface WaitingListOptions {
  readonly registry: Registry
  readonly capacity: Capacity
  readonly credentials: Pick<Credentials, 'announce'>
  readonly createId: CreateId
  readonly clock: Pick<Clock, 'nowMs'>
  readonly log: Pick<Log, 'error'>
  readonly count: (reason: string) => void
}

interface Waiter {
  readonly tenant: string
  readonly subscription: string
  readonly claim: Claim
  readonly action: string
  readonly admit: () => Promise<readonly Write[]>
}

const PAGE = 500
/** States of a subscription that take capacity from nobody, and leave none behind. */
const IDLE = ['Pending', 'Rejected', WAITING]

export function createWaitingList(options: WaitingListOptions): WaitingList {
  const { registry, capacity, credentials, createId, clock, log, count } = options
  /** Tenants that are to be looked at; each once, however much is heard of it. */
  const asked = new Set<string>()
  let working: Promise<void> = Promise.resolve()
  let unwatch = (): void => {}
  let isStopped = false

  function ask(tenant: string): void {
    if (isStopped || asked.has(tenant)) return
    asked.add(tenant)
    working = working.then(async () => {
      asked.delete(tenant)
      if (isStopped) return
      try {
        await capacity.inTurn(tenant, () => admitAll(tenant))
      } catch (cause) {
        count('waiting_list_failed')
        log.error(
          { err: cause, tenant },
          'waiting list of the tenant could not be processed; the next change processes it again',
        )
      }
    })
  }

  async function admitAll(tenant: string): Promise<void> {
    const heldUp = new Set<string>()
    for await (const waiter of waitersOf(tenant)) {
      if (isStopped) return
      const apis = await apisOf(registry, waiter.claim)
      if (apis.length > 0 && apis.every((api) => heldUp.has(api))) continue
      const places = await capacity.places(waiter.claim)
      if (places.every(({ api, fits }) => fits && !heldUp.has(api))) await admit(waiter)
      else for (const { api } of places) heldUp.add(api)
    }
  }

  async function admit({ tenant, subscription, action, admit: writesOf }: Waiter): Promise<void> {
    try {
      await registry.commit({ tenant, consumer: 'system' }, action, await writesOf())
    } catch (cause) {
      // It was cancelled at this moment.
      if (cause instanceof RevisionConflict) return
      throw cause
    }
    await credentials.announce(tenant, subscription)
  }

  /** Of both kinds, in the order in which they came: what follows the prefix of an id is its time. */
  async function* waitersOf(tenant: string): AsyncGenerator<Waiter> {
    const subscriptions = pagesOf<SubscriptionBody>(tenant, 'subscription', WAITING)
    const flows = pagesOf<ApprovalFlowBody>(tenant, APPROVAL_KIND, 'Approved')
    let [subscription, flow] = [await first(subscriptions), await first(flows)]
    while (subscription !== null || flow !== null) {
      if (flow !== null && (subscription === null || timeOf(flow.id) < timeOf(subscription.id))) {
        const waiter = await tierChange(flow)
        if (waiter !== null) yield waiter
        flow = await first(flows)
      } else if (subscription !== null) {
        yield subscriber(subscription)
        subscription = await first(subscriptions)
      }
    }
  }

  /** Of all tenants where none is given. */
  async function* pagesOf<Body>(tenant: string | null, kind: string, state: string): AsyncGenerator<Document<Body>> {
    for (let after = ''; ;) {
      const of = { where: { state }, after, limit: PAGE, ...(tenant !== null && { tenant }) }
      const page = await registry.list<Body>(kind, of)
      yield* page
      if (page.length < PAGE) return
      after = page.at(-1)?.id ?? ''
    }
  }

  function subscriber({ id, tenant, revision, body }: Document<SubscriptionBody>): Waiter {
    return {
      tenant,
      subscription: id,
      claim: body,
      action: 'subscription.capacity.freed',
      async admit() {
        const result = step(machine, body.actor, { type: 'capacity.freed' })
        if ('refused' in result) throw new Error(`${id} waits and takes no capacity`)
        return [subscriptionWrite(id, tenant, revision, { ...body, actor: result.next })]
      },
    }
  }

  async function tierChange(flow: Document<ApprovalFlowBody>): Promise<Waiter | null> {
    const { tenant } = flow
    const { slaVariant } = flow.body
    const subscription = await registry.get<SubscriptionBody>('subscription', flow.body.subscription)
    if (subscription === null || slaVariant === null) return null
    return {
      tenant,
      subscription: subscription.id,
      claim: tierClaim(subscription.body, slaVariant),
      action: 'tierChange.capacity.freed',
      async admit() {
        const body = { ...flow.body, actor: tellFlow(flow.body, { type: 'completed' }) }
        return [
          ...(await movedFlow(registry, flow, body, clock.nowMs())),
          ...tierWrites(createId, subscription, slaVariant),
        ]
      },
    }
  }

  function hear({ document }: Change): void {
    if (mayFree(document)) ask(document.tenant)
  }

  return {
    async start() {
      unwatch = registry.watch(await registry.end(), hear)
      const waiting = [pagesOf(null, 'subscription', WAITING), pagesOf(null, APPROVAL_KIND, 'Approved')]
      for (const documents of waiting) for await (const { tenant } of documents) ask(tenant)
      await working
    },
    async settled() {
      for (let last: Promise<void> | null = null; last !== working;) {
        last = working
        await last
      }
    },
    stop() {
      isStopped = true
      unwatch()
    },
  }
}

async function first<T>(from: AsyncGenerator<T>): Promise<T | null> {
  const { done, value } = await from.next()
  return done === true ? null : value
}

function mayFree({ kind, revision, body }: Document): boolean {
  if (kind !== 'subscription') return kind === 'openslaspec' || kind === 'product' || kind === APPROVAL_KIND
  return revision > 1 && !IDLE.includes(String((body as SubscriptionBody).actor.value))
}

function timeOf(id: string): string {
  return id.slice(id.indexOf('_') + 1)
}
