/** Reads the claims that wait for capacity, in the order of their requests. */

import { step } from '../command/persisted-machine.ts'
import { listAll } from '../command/page.ts'
import type { Clock } from '../../foundation/runtime/clock.ts'
import type { CreateId } from '../../foundation/runtime/ids.ts'
import type { Document, Registry, Write } from '../../storage/store/registry.ts'
import { APPROVAL_KIND, movedFlow, stepFlow, type ApprovalFlowBody } from '../approvals/approval-document.ts'
import { WAITING, type Claim } from './capacity.ts'
import { SUBSCRIPTION_KIND, subscriptionWrite, type SubscriptionBody } from './document/subscription-document.ts'
import { subscription as machine } from './document/subscription-machine.ts'
import { tierClaim, tierWrites } from './tier-changes.ts'

export interface WaitingClaim {
  readonly tenant: string
  readonly subscription: string
  readonly claim: Claim
  readonly action: string
  /** Returns the writes that grant the claim. */
  readonly admit: () => Promise<readonly Write[]>
}

export interface WaitingClaimsOptions {
  readonly registry: Registry
  readonly createId: CreateId
  readonly clock: Pick<Clock, 'nowMs'>
}

const WAITING_SUBSCRIPTIONS = { state: WAITING }
const WAITING_TIER_CHANGES = { state: 'Approved' }

/** Yields the tenant of each waiting claim, with duplicates. */
export async function* waitingTenants(registry: Pick<Registry, 'list'>): AsyncGenerator<string> {
  for await (const { tenant } of listAll(registry, SUBSCRIPTION_KIND, { where: WAITING_SUBSCRIPTIONS })) yield tenant
  for await (const { tenant } of listAll(registry, APPROVAL_KIND, { where: WAITING_TIER_CHANGES })) yield tenant
}

/** Merges subscriptions and tier changes by the time in their ids. */
export async function* waitingClaims(options: WaitingClaimsOptions, tenant: string): AsyncGenerator<WaitingClaim> {
  const { registry } = options
  const subscriptions = listAll(registry, SUBSCRIPTION_KIND, { tenant, where: WAITING_SUBSCRIPTIONS })
  const flows = listAll(registry, APPROVAL_KIND, { tenant, where: WAITING_TIER_CHANGES })
  let [subscription, flow] = [await next(subscriptions), await next(flows)]
  while (subscription !== null || flow !== null) {
    if (flow !== null && (subscription === null || timeOf(flow.id) < timeOf(subscription.id))) {
      const waiting = await tierChangeClaim(options, flow)
      if (waiting !== null) yield waiting
      flow = await next(flows)
    } else if (subscription !== null) {
      yield subscriptionClaim(subscription)
      subscription = await next(subscriptions)
    }
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

async function tierChangeClaim(
  { registry, createId, clock }: WaitingClaimsOptions,
  flow: Document<ApprovalFlowBody>,
): Promise<WaitingClaim | null> {
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

async function next<T>(from: AsyncGenerator<T>): Promise<T | null> {
  const { done, value } = await from.next()
  return done === true ? null : value
}

function timeOf(id: string): string {
  return id.slice(id.indexOf('_') + 1)
}
