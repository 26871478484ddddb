/**
 * Approvals: who may have what, decided by somebody else than who asks for it.
 *
 * A decision takes effect in the commit that records it: the subscription opens, is rejected or changes its
 * tier, every gateway thread knows, and only then is it answered.
 */

import { step } from '../actors/step.ts'
import { subscription as machine, type SubscriptionEvent } from '../actors/subscription.ts'
import { Problem } from '../domain/problem.ts'
import type { Clock } from '../runtime/clock.ts'
import type { CreateId } from '../runtime/ids.ts'
import type { Author, Document, Registry, Write } from '../store/registry.ts'
import { policyOfSubscribed } from './api-policy.ts'
import {
  APPROVAL_KIND,
  deciderOf,
  movedFlow,
  openFlow,
  stateOfFlow,
  tellFlow,
  type Approval,
  type ApprovalFlowBody,
  type Outcome,
} from './approval-document.ts'
import type { Capacity } from './capacity.ts'
import { commit, find, invalidAt, stateConflict, toTime } from './commands.ts'
import type { Credentials } from './credentials.ts'
import { eventWrite, waitlisted } from './events.ts'
import { listPage, type Page, type PageQuery } from './page.ts'
import { subscriptionWrite, type SubscriptionBody } from './subscription-document.ts'
import { createSubscriptionTerms } from './subscription-terms.ts'
import type { Turns } from './turns.ts'

export interface ApprovalFlow {
  readonly id: string
  readonly kind: ApprovalFlowBody['kind']
  readonly subscription: string
  readonly requester: string
  readonly state: string
  readonly slaVariant: string | null
  readonly reason: string | null
  readonly approvals: readonly Approval[]
  readonly createdAt: string
}

export interface Decision {
  readonly outcome: Outcome
  readonly comments?: string
}

export interface Approvals {
  /** Flows of one subscription. */
  flowsOf(tenant: string, subscription: string, query: PageQuery): Promise<Page<ApprovalFlow>>
  flow(tenant: string, subscription: string, id: string): Promise<ApprovalFlow>
  /** Every flow of the tenant; those that wait for a decision unless asked otherwise. */
  list(tenant: string, query: PageQuery & { state?: string }): Promise<Page<ApprovalFlow>>
  decide(author: Author, subscription: string, id: string, decision: Decision): Promise<Approval>
  requestTier(author: Author, subscription: string, to: { slaVariant: string; reason?: string }): Promise<ApprovalFlow>
}

export interface ApprovalsOptions {
  readonly registry: Registry
  readonly credentials: Pick<Credentials, 'announce'>
  readonly createId: CreateId
  readonly clock: Pick<Clock, 'nowMs'>
  readonly turns: Turns
  readonly capacity: Capacity
}

/** Refused, and a risk of its own. */
export class SelfApproval extends Problem {
  constructor() {
    super('operation_forbidden', 'Nobody decides on a request of his own.')
  }
}

const EVENTS = { Approved: 'approved', Rejected: 'rejected', AmendmentRequired: 'amendment.required' } as const

export function createApprovals(options: ApprovalsOptions): Approvals {
  const { registry, credentials, createId, clock, turns, capacity } = options
  const terms = createSubscriptionTerms({ registry })

  async function flowOf(tenant: string, subscription: string, id: string): Promise<Document<ApprovalFlowBody>> {
    const flow = await find<ApprovalFlowBody>(registry, tenant, APPROVAL_KIND, id)
    if (flow.body.subscription === subscription) return flow
    throw new Problem('not_found', 'The subscription has no such approval flow.')
  }

  async function decide(author: Author, subscription: string, id: string, decision: Decision): Promise<Approval> {
    const { tenant } = author
    const flow = await flowOf(tenant, subscription, id)
    const approver = deciderOf(author)
    if (approver === flow.body.requester) {
      throw new SelfApproval()
    }
    const { outcome, comments = null } = decision
    const decided = tellFlow(flow.body, { type: EVENTS[outcome], approver })
    const isOver = outcome !== 'AmendmentRequired'
    const approval: Approval = { approver, outcome, comments, time: toTime(clock.nowMs()) }
    const body: ApprovalFlowBody = {
      ...flow.body,
      actor: isOver ? tellFlow({ actor: decided }, { type: 'completed' }) : decided,
      approvals: [...flow.body.approvals, approval],
    }
    const effects = isOver ? await effectsOf(tenant, flow.body, outcome) : []
    await commit(registry, author, `approval.${EVENTS[outcome]}`, [
      ...(await movedFlow(registry, flow, body, clock.nowMs())),
      ...effects,
    ])
    if (effects.length > 0) await credentials.announce(tenant, subscription)
    return approval
  }

  async function effectsOf(tenant: string, flow: ApprovalFlowBody, outcome: Outcome): Promise<Write[]> {
    const { id, revision, body } = await find<SubscriptionBody>(registry, tenant, 'subscription', flow.subscription)
    if (flow.kind === 'subscription') {
      const { api, slaVariant } = body
      const isShort = outcome === 'Approved' && api !== '' && !(await capacity.hasRoom(api, slaVariant))
      const actor = tell(body, outcome === 'Rejected' ? 'rejected' : isShort ? 'capacity.short' : 'approved')
      const write = subscriptionWrite(id, tenant, revision, { ...body, actor })
      return isShort ? [write, waitlisted(createId, tenant, id, body)] : [write]
    }
    if (outcome !== 'Approved' || flow.slaVariant === null) return []
    const next = { ...body, slaVariant: flow.slaVariant }
    return [subscriptionWrite(id, tenant, revision, next), changed(tenant, id, body, flow.slaVariant)]
  }

  function changed(tenant: string, id: string, { slaVariant: from, api }: SubscriptionBody, to: string): Write {
    return eventWrite(createId, tenant, 'SlaChanged', { subscription: id, api: api || null, from, to })
  }

  async function requestTier(
    author: Author,
    id: string,
    { slaVariant, reason = null }: { slaVariant: string; reason?: string | null },
  ): Promise<ApprovalFlow> {
    const { tenant } = author
    const { body } = await find<SubscriptionBody>(registry, tenant, 'subscription', id)
    if (body.actor.value !== 'Active') throw stateConflict({ state: String(body.actor.value), allowed: [] })
    if (slaVariant === body.slaVariant) throw invalidAt('/slaVariant', 'The subscription has this variant already.')
    await terms.checkVariant(tenant, body, slaVariant)
    const flowId = createId('apf')
    const flow = { kind: 'tierChange', subscription: id, requester: deciderOf(author), slaVariant, reason } as const
    const data = { subscription: id, api: body.api || null, from: body.slaVariant, to: slaVariant, reason }
    const { subscriptionApproval } = await policyOfSubscribed(registry, body)
    const asked = [
      ...openFlow(flowId, tenant, flow, clock.nowMs()),
      eventWrite(createId, tenant, 'TierChangeRequested', data),
    ]
    await commit(registry, author, 'tierChange.request', asked)
    if (subscriptionApproval === 'Auto') {
      const system: Author = { tenant, consumer: 'system' }
      await decide(system, id, flowId, { outcome: 'Approved', comments: 'The policy of the API approves.' })
    }
    return show(await flowOf(tenant, id, flowId))
  }

  return {
    async flowsOf(tenant, subscription, query) {
      await find<SubscriptionBody>(registry, tenant, 'subscription', subscription)
      return listPage({ registry, kind: APPROVAL_KIND, tenant, query, where: { subscription }, show })
    },
    flow: async (tenant, subscription, id) => show(await flowOf(tenant, subscription, id)),
    list: (tenant, { state = 'InProgress', ...query }) =>
      listPage({ registry, kind: APPROVAL_KIND, tenant, query, where: { state }, show }),
    decide: (author, subscription, id, decision) =>
      turns.take([subscription], async () => {
        const { body } = await find<SubscriptionBody>(registry, author.tenant, 'subscription', subscription)
        return capacity.inTurn(body.api, () => decide(author, subscription, id, decision))
      }),
    requestTier: (author, subscription, to) => turns.take([subscription], () => requestTier(author, subscription, to)),
  }
}

function tell({ actor }: SubscriptionBody, type: SubscriptionEvent['type']): SubscriptionBody['actor'] {
  const result = step(machine, actor, { type })
  if ('refused' in result) throw stateConflict(result.refused)
  return result.next
}

function show({ id, body, createdAtMs }: Document<ApprovalFlowBody>): ApprovalFlow {
  const { kind, subscription, requester, slaVariant, reason, approvals } = body
  const shown = { id, kind, subscription, requester, slaVariant, reason, approvals }
  return { ...shown, state: stateOfFlow(body), createdAt: toTime(createdAtMs) }
}
