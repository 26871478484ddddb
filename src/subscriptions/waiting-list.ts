/**
 * The waiting list for capacity, first come first served: subscriptions, and tier changes that were approved.
 *
 * Watches every change that may free capacity (subscriptions that end, are suspended or change; declarations; products)
 * and admits waiting claims while they fit. A claim that does not fit at an API blocks the later claims there; otherwise a
 * large claim could wait forever.
 */

import { step } from '../command/persisted-machine.ts'
import { subscription as machine } from './document/subscription-machine.ts'
import type { CountEvent } from '../runtime/event-reasons.ts'
import type { Log } from '../runtime/log.ts'
import type { Clock } from '../runtime/clock.ts'
import type { CreateId } from '../runtime/ids.ts'
import {
  isOfKind,
  type DocumentKind,
  RevisionConflict,
  type Change,
  type Document,
  type Registry,
  type Write,
} from '../store/registry.ts'
import { APPROVAL_KIND, movedFlow, stepFlow, type ApprovalFlowBody } from '../approvals/approval-document.ts'
import { apisOf, WAITING, type Capacity, type Claim } from './capacity.ts'
import type { Credentials } from '../access/credentials.ts'
import { SUBSCRIPTION_KIND, subscriptionWrite, type SubscriptionBody } from './document/subscription-document.ts'
import { tierClaim, tierWrites } from './tier-changes.ts'
import { OPENSLA_SPEC_KIND } from '../publishing/specifications.ts'
import { PRODUCT_KIND } from '../publishing/products.ts'

export interface WaitingList {
  /** Admits the claims that fit now and follows the change feed. */
  start(): Promise<void>
  /** Resolves when all changes so far are processed. */
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
  readonly count: CountEvent
}

interface WaitingClaim {
  readonly tenant: string
  readonly subscription: string
  readonly claim: Claim
  readonly action: string
  readonly admit: () => Promise<readonly Write[]>
}

const PAGE = 500
/** States of a subscription that neither reserve nor free capacity. */
const NEUTRAL_STATES = ['Pending', 'Rejected', WAITING]

/** Kinds whose every change may free capacity. */
const FREEING_KINDS: readonly string[] = [OPENSLA_SPEC_KIND, PRODUCT_KIND, APPROVAL_KIND]

/** Not split: its functions are small and share the state at the top of the closure. */
export function createWaitingList(options: WaitingListOptions): WaitingList {
  const { registry, capacity, credentials, createId, clock, log, count } = options
  /** Tenants to process; several changes of a tenant coalesce. */
  const scheduled = new Set<string>()
  let working: Promise<void> = Promise.resolve()
  let unwatch = (): void => {}
  let isStopped = false

  function schedule(tenant: string): void {
    if (isStopped || scheduled.has(tenant)) return
    scheduled.add(tenant)
    working = working.then(async () => {
      scheduled.delete(tenant)
      if (isStopped) return
      try {
        await capacity.runExclusive(tenant, () => admitAll(tenant))
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
    const blocked = new Set<string>()
    for await (const waiting of claimsOf(tenant)) {
      if (isStopped) return
      const apis = await apisOf(registry, waiting.claim)
      if (apis.length > 0 && apis.every((api) => blocked.has(api))) continue
      const places = await capacity.places(waiting.claim)
      if (places.every(({ api, fits }) => fits && !blocked.has(api))) await admit(waiting)
      else for (const { api } of places) blocked.add(api)
    }
  }

  async function admit({ tenant, subscription, action, admit: writesOf }: WaitingClaim): Promise<void> {
    try {
      await registry.commit({ tenant, consumer: 'system' }, action, await writesOf())
    } catch (cause) {
      // The subscription has just been cancelled.
      if (cause instanceof RevisionConflict) return
      throw cause
    }
    await credentials.announce(tenant, subscription)
  }

  /** Merges subscriptions and tier changes by the time in their ids. */
  async function* claimsOf(tenant: string): AsyncGenerator<WaitingClaim> {
    const subscriptions = pagesOf(tenant, SUBSCRIPTION_KIND, WAITING)
    const flows = pagesOf(tenant, APPROVAL_KIND, 'Approved')
    let [subscription, flow] = [await first(subscriptions), await first(flows)]
    while (subscription !== null || flow !== null) {
      if (flow !== null && (subscription === null || timeOf(flow.id) < timeOf(subscription.id))) {
        const waiting = await tierChangeClaim(flow)
        if (waiting !== null) yield waiting
        flow = await first(flows)
      } else if (subscription !== null) {
        yield subscriptionClaim(subscription)
        subscription = await first(subscriptions)
      }
    }
  }

  /** Reads the documents of one tenant, or of all if it is null. */
  async function* pagesOf<Body>(
    tenant: string | null,
    kind: DocumentKind<Body>,
    state: string,
  ): AsyncGenerator<Document<Body>> {
    for (let after = ''; ;) {
      const of = { where: { state }, after, limit: PAGE, ...(tenant !== null && { tenant }) }
      const page = await registry.list(kind, of)
      yield* page
      if (page.length < PAGE) return
      after = page.at(-1)?.id ?? ''
    }
  }

  function subscriptionClaim({ id, tenant, revision, body }: Document<SubscriptionBody>): WaitingClaim {
    return {
      tenant,
      subscription: id,
      claim: body,
      action: 'subscription.capacity.freed',
      async admit() {
        const result = step(machine, body.actor, { type: 'capacity.freed' })
        if ('refused' in result) throw new Error(`${id} is on the waiting list but cannot become active`)
        return [subscriptionWrite(id, tenant, revision, { ...body, actor: result.next })]
      },
    }
  }

  async function tierChangeClaim(flow: Document<ApprovalFlowBody>): Promise<WaitingClaim | null> {
    const { tenant } = flow
    const { slaVariant } = flow.body
    const subscription = await registry.get(SUBSCRIPTION_KIND, flow.body.subscription)
    if (subscription === null || slaVariant === null) return null
    return {
      tenant,
      subscription: subscription.id,
      claim: tierClaim(subscription.body, slaVariant),
      action: 'tierChange.capacity.freed',
      async admit() {
        const body = { ...flow.body, actor: stepFlow(flow.body, { type: 'completed' }) }
        return [
          ...(await movedFlow(registry, flow, body, clock.nowMs())),
          ...tierWrites(createId, subscription, slaVariant),
        ]
      },
    }
  }

  function onChange({ document }: Change): void {
    if (mayFree(document)) schedule(document.tenant)
  }

  return {
    async start() {
      unwatch = registry.watch(await registry.end(), onChange)
      const waiting = [pagesOf(null, SUBSCRIPTION_KIND, WAITING), pagesOf(null, APPROVAL_KIND, 'Approved')]
      for (const documents of waiting) for await (const { tenant } of documents) schedule(tenant)
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

function mayFree(document: Document): boolean {
  if (isOfKind(document, SUBSCRIPTION_KIND)) {
    return document.revision > 1 && !NEUTRAL_STATES.includes(String(document.body.actor.value))
  }
  return FREEING_KINDS.includes(document.kind)
}

function timeOf(id: string): string {
  return id.slice(id.indexOf('_') + 1)
}
