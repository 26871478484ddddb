/**
 * Tier changes: requested, decided like a request for access, and in force when there is capacity.
 *
 * The next request of the same requester amends a flow for which an amendment was required. A request of another one ends it and
 * opens a new flow, because a flow compares its decider with its first requester.
 *
 * A variant that needs no more capacity than the current one never waits. A waiting subscription keeps its variant, and
 * its flow stays Approved until the change takes effect.
 */

import type { Clock } from '../../foundation/runtime/clock.ts'
import type { CreateId } from '../../foundation/runtime/ids.ts'
import type { Author, Document, Registry, Write } from '../../storage/store/registry.ts'
import { policyOfSubscribed } from '../publishing/api-policy.ts'
import {
  APPROVAL_KIND,
  approvedFlow,
  deciderOf,
  movedFlow,
  openFlow,
  stepFlow,
  type Approval,
  type ApprovalFlowBody,
  type FlowRequest,
} from '../approvals/approval-document.ts'
import type { Capacity } from './capacity.ts'
import { commit, find, invalidAt, stateConflict, toTime } from '../command/commands.ts'
import type { Credentials } from '../access/credentials.ts'
import { eventWrite, waitlisted } from '../command/event-outbox.ts'
import { SUBSCRIPTION_KIND, subscriptionWrite, type SubscriptionBody } from './document/subscription-document.ts'
import { createSubscriptionTerms } from './subscription-terms.ts'

export interface TierInput {
  /** Null: the default tier. */
  readonly slaVariant: string | null
  readonly reason?: string
}

export interface TierChangesOptions {
  readonly registry: Registry
  readonly credentials: Pick<Credentials, 'announce'>
  readonly createId: CreateId
  readonly clock: Pick<Clock, 'nowMs'>
  readonly capacity: Capacity
}

/** The writes of an approved tier change, and whether it takes effect now. */
export interface GrantedTier {
  readonly isInForce: boolean
  readonly writes: readonly Write[]
}

type Subscription = Document<SubscriptionBody>

/** Grants an approved tier change, or puts it on the waiting list. Call it in `Capacity.runExclusive`. */
export async function grantTier(
  { capacity, createId }: Pick<TierChangesOptions, 'capacity' | 'createId'>,
  subscription: Subscription,
  slaVariant: string,
): Promise<GrantedTier> {
  const { id, tenant, body } = subscription
  if (await capacity.isOpenTo(tenant, tierClaim(body, slaVariant))) {
    return { isInForce: true, writes: tierWrites(createId, subscription, slaVariant) }
  }
  return { isInForce: false, writes: [waitlisted(createId, tenant, id, { ...body, slaVariant })] }
}

/** A suspended subscription reserves no capacity until it is resumed. */
export function tierClaim(body: SubscriptionBody, slaVariant: string) {
  const { api, apiProductId, actor } = body
  const isActive = actor.value === 'Active'
  return { api, apiProductId, slaVariant, instead: isActive ? body.slaVariant : slaVariant }
}

export function tierWrites(createId: CreateId, subscription: Subscription, slaVariant: string): readonly Write[] {
  const { id, tenant, revision, body } = subscription
  return [
    subscriptionWrite(id, tenant, revision, { ...body, slaVariant }),
    eventWrite(createId, tenant, 'SlaChanged', changeOf(subscription, slaVariant)),
  ]
}

/** Returns the data of an event; null is the default tier, as in the answers. */
function changeOf({ id, body }: Subscription, slaVariant: string) {
  return { subscription: id, api: body.api || null, from: body.slaVariant || null, to: slaVariant || null }
}

/** Requests another tier and returns the id of the flow. Call the request in `Capacity.runExclusive`. */
export function createTierRequest(options: TierChangesOptions) {
  const { registry, credentials, createId, clock } = options
  const terms = createSubscriptionTerms({ registry })

  return async (author: Author, id: string, input: TierInput): Promise<string> => {
    const { tenant } = author
    const slaVariant = input.slaVariant ?? ''
    const subscription = await find(registry, tenant, SUBSCRIPTION_KIND, id)
    const { body } = subscription
    if (body.actor.value !== 'Active') throw stateConflict({ state: String(body.actor.value), allowed: [] })
    if (slaVariant === body.slaVariant) throw invalidAt('/slaVariant', 'The subscription already has this variant.')
    await terms.checkVariant(tenant, body, slaVariant)
    const flow = {
      kind: 'tierChange',
      subscription: id,
      requester: deciderOf(author),
      slaVariant,
      reason: input.reason ?? null,
    } as const satisfies FlowRequest
    const data = { ...changeOf(subscription, slaVariant), reason: flow.reason }
    const requested = eventWrite(createId, tenant, 'TierChangeRequested', data)
    const { subscriptionApproval } = await policyOfSubscribed(registry, body)
    const nowMs = clock.nowMs()
    const returned = await returnedFlows(registry, tenant, id)
    if (subscriptionApproval === 'Manual') {
      const { opened, writes } = await toPending(options, tenant, flow, returned)
      await commit(registry, author, 'tierChange.request', [...writes, requested])
      return opened
    }
    const flowId = createId('apf')
    const { isInForce, writes } = await grantTier(options, subscription, slaVariant)
    const comments = 'Approved by the policy of the API.'
    const approval: Approval = { approver: 'system', outcome: 'Approved', comments, time: toTime(nowMs) }
    await commit(registry, author, 'tierChange.request', [
      ...approvedFlow(flowId, tenant, flow, approval, isInForce),
      ...(await endedFlows(registry, returned, nowMs)),
      requested,
      ...writes,
    ])
    if (isInForce) await credentials.announce(id)
    return flowId
  }
}

type Flow = Document<ApprovalFlowBody>

/** Returns the tier changes of a subscription for which an amendment was required. */
async function returnedFlows(registry: Registry, tenant: string, subscription: string): Promise<readonly Flow[]> {
  const where = { subscription, state: 'AmendmentRequired' }
  const flows = await registry.list(APPROVAL_KIND, { tenant, where, limit: 100 })
  return flows.filter(({ body }) => body.kind === 'tierChange')
}

/** Returns a flow that waits for a decision: the one of the requester that was returned, else a new one. */
async function toPending(
  { registry, createId, clock }: TierChangesOptions,
  tenant: string,
  request: FlowRequest,
  returned: readonly Flow[],
): Promise<{ readonly opened: string; readonly writes: readonly Write[] }> {
  const nowMs = clock.nowMs()
  const amended = returned.find(({ body }) => body.requester === request.requester)
  const ended = await endedFlows(
    registry,
    returned.filter((flow) => flow !== amended),
    nowMs,
  )
  if (amended === undefined) {
    const opened = createId('apf')
    return { opened, writes: [...openFlow(opened, tenant, request, nowMs), ...ended] }
  }
  const body = { ...amended.body, ...request, actor: stepFlow(amended.body, { type: 'resubmitted' }) }
  return { opened: amended.id, writes: [...(await movedFlow(registry, amended, body, nowMs)), ...ended] }
}

async function endedFlows(registry: Registry, flows: readonly Flow[], nowMs: number): Promise<readonly Write[]> {
  const writes: Write[] = []
  for (const flow of flows) {
    const body = { ...flow.body, actor: stepFlow(flow.body, { type: 'withdrawn' }) }
    writes.push(...(await movedFlow(registry, flow, body, nowMs)))
  }
  return writes
}
