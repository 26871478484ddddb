/**
 * Approval flows: a request for access or for another tier is decided by someone other than the requester.
 *
 * A decision takes effect in the commit that records it: the subscription becomes active, is rejected or changes its tier.
 * Every gateway thread has the change before the command returns.
 */

import { Problem } from '../../foundation/domain/problem.ts'
import type { Clock } from '../../foundation/runtime/clock.ts'
import type { CreateId } from '../../foundation/runtime/ids.ts'
import type { Labelled, Labels } from '../../storage/store/labels.ts'
import type { Author, Document, Registry } from '../../storage/store/registry.ts'
import {
  APPROVAL_KIND,
  deciderOf,
  flowWrite,
  movedFlow,
  stateOfFlow,
  stepFlow,
  type Approval,
  type ApprovalFlowBody,
  type Outcome,
} from '../approvals/approval-document.ts'
import type { Capacity } from './capacity.ts'
import { commit, find, toTime } from '../command/commands.ts'
import type { Credentials } from '../access/credentials.ts'
import { waitlisted } from '../command/event-outbox.ts'
import { changeLabels } from '../command/label-change.ts'
import { listFiltered, listPage, type Page, type PageQuery } from '../command/page.ts'
import { stepSubscription, SUBSCRIPTION_KIND, subscriptionWrite } from './document/subscription-document.ts'
import { createTierRequest, grantTier, type GrantedTier, type TierInput } from './tier-changes.ts'
import type { KeyedMutex } from '../command/keyed-mutex.ts'

export interface ApprovalFlow {
  readonly id: string
  readonly kind: ApprovalFlowBody['kind']
  /** The subject of the flow: either `subscription` or `programme`; the other is null. */
  readonly subscription: string | null
  readonly programme: string | null
  readonly requester: string
  readonly state: string
  /** The requested tier; null for the default tier, and for a request that is no tier change. */
  readonly slaVariant: string | null
  readonly reason: string | null
  readonly approvals: readonly Approval[]
  /** When the flow was escalated; null if it is not overdue, or decided. */
  readonly escalatedAt: string | null
  readonly labels: Labels
  readonly createdAt: string
}

export interface Decision {
  readonly outcome: Outcome
  readonly comments?: string
}

export interface Approvals {
  /** Lists the flows of one subscription. */
  flowsOf(tenant: string, subscription: string, query: PageQuery): Promise<Page<ApprovalFlow>>
  flow(tenant: string, subscription: string, id: string): Promise<ApprovalFlow>
  /** Returns any flow of the tenant. */
  find(tenant: string, id: string): Promise<ApprovalFlow>
  /** Lists the flows of the tenant; by default those in progress. */
  list(tenant: string, query: PageQuery & { state?: string }): Promise<Page<ApprovalFlow>>
  /** Lists the flows that one of the requesters has requested; by default those in progress. */
  listRequested(
    tenant: string,
    requesters: readonly string[],
    query: PageQuery & { state?: string },
  ): Promise<Page<ApprovalFlow>>
  /** Changes the labels of any flow of the tenant. */
  label(author: Author, id: string, change: Labelled): Promise<ApprovalFlow>
  decide(author: Author, subscription: string, id: string, decision: Decision): Promise<Approval>
  /** The same for the flows of one programme. */
  readonly ofProgramme: {
    flow(tenant: string, programme: string, id: string): Promise<ApprovalFlow>
    decide(author: Author, programme: string, id: string, decision: Decision): Promise<Approval>
  }
  requestTier(author: Author, subscription: string, to: TierInput): Promise<ApprovalFlow>
}

/** The subject of a flow. */
interface Subject {
  readonly subscription?: string
  readonly programme?: string
}

export interface ApprovalsOptions {
  readonly registry: Registry
  readonly credentials: Pick<Credentials, 'announce'>
  readonly createId: CreateId
  readonly clock: Pick<Clock, 'nowMs'>
  readonly mutex: KeyedMutex
  readonly capacity: Capacity
}

/** A decision of the requester: refused, and recorded as a risk. */
export class SelfApproval extends Problem {
  constructor() {
    super('operation_forbidden', 'Requesters cannot decide on their own requests.')
  }
}

const EVENTS = { Approved: 'approved', Rejected: 'rejected', AmendmentRequired: 'amendment.required' } as const

export function createApprovals(options: ApprovalsOptions): Approvals {
  const { registry, mutex, capacity } = options
  const requestTier = createTierRequest(options)

  function runExclusive<T>({ tenant }: Author, subscription: string, work: () => Promise<T>): Promise<T> {
    // The prefix keeps an id from being the name of another lock.
    return mutex.runExclusive([`flows of ${subscription}`], () => capacity.runExclusive(tenant, work))
  }

  return {
    async flowsOf(tenant, subscription, query) {
      await find(registry, tenant, SUBSCRIPTION_KIND, subscription)
      return listPage({ registry, kind: APPROVAL_KIND, tenant, query, where: { subscription }, show })
    },
    flow: async (tenant, subscription, id) => show(await flowOf(options, tenant, { subscription }, id)),
    find: async (tenant, id) => show(await find(registry, tenant, APPROVAL_KIND, id)),
    list: (tenant, { state = 'InProgress', ...query }) =>
      listPage({ registry, kind: APPROVAL_KIND, tenant, query, where: { state }, show }),
    listRequested: (tenant, requesters, { state = 'InProgress', ...query }) =>
      listFiltered({
        registry,
        kind: APPROVAL_KIND,
        tenant,
        query,
        where: { state },
        show,
        isShown: async ({ body }) => requesters.includes(body.requester),
      }),
    async label(author, id, change) {
      const { body } = await find(registry, author.tenant, APPROVAL_KIND, id)
      const of = { kind: APPROVAL_KIND, id, action: 'approval.label', write: flowWrite }
      const work = async () => show(await changeLabels(registry, author, of, change))
      return body.programme === undefined
        ? runExclusive(author, body.subscription, work)
        : mutex.runExclusive([id], work)
    },
    decide: (author, subscription, id, decision) =>
      runExclusive(author, subscription, () => decide(options, author, { subscription }, id, decision)),
    ofProgramme: {
      flow: async (tenant, programme, id) => show(await flowOf(options, tenant, { programme }, id)),
      decide: (author, programme, id, decision) =>
        mutex.runExclusive([id], () => decide(options, author, { programme }, id, decision)),
    },
    requestTier: (author, subscription, to) =>
      runExclusive(author, subscription, async () => {
        const flow = await requestTier(author, subscription, to)
        return show(await flowOf(options, author.tenant, { subscription }, flow))
      }),
  }
}

async function flowOf(
  options: ApprovalsOptions,
  tenant: string,
  subject: Subject,
  id: string,
): Promise<Document<ApprovalFlowBody>> {
  const flow = await find(options.registry, tenant, APPROVAL_KIND, id)
  const { subscription, programme } = flow.body
  if (subject.programme === programme && (programme !== undefined || subject.subscription === subscription)) return flow
  throw new Problem('not_found', 'There is no such approval flow.')
}

async function decide(
  options: ApprovalsOptions,
  author: Author,
  subject: Subject,
  id: string,
  decision: Decision,
): Promise<Approval> {
  const { registry, credentials, clock } = options
  const { tenant } = author
  const flow = await flowOf(options, tenant, subject, id)
  const approver = deciderOf(author)
  if (approver === flow.body.requester) {
    throw new SelfApproval()
  }
  const { outcome, comments = null } = decision
  const decided = stepFlow(flow.body, { type: EVENTS[outcome], approver })
  const isOver = outcome !== 'AmendmentRequired'
  const approval: Approval = { approver, outcome, comments, time: toTime(clock.nowMs()) }
  const { isInForce, writes } = isOver
    ? await effectsOf(options, tenant, flow.body, outcome)
    : { isInForce: false, writes: [] }
  const body: ApprovalFlowBody = {
    ...flow.body,
    actor: isInForce ? stepFlow({ ...flow.body, actor: decided }, { type: 'completed' }) : decided,
    approvals: [...flow.body.approvals, approval],
  }
  await commit(registry, author, `approval.${EVENTS[outcome]}`, [
    ...(await movedFlow(registry, flow, body, clock.nowMs())),
    ...writes,
  ])
  if (writes.length > 0) await credentials.announce(flow.body.subscription)
  return approval
}

/** Returns the writes that a decision causes, and whether they complete the request. */
async function effectsOf(
  options: ApprovalsOptions,
  tenant: string,
  flow: ApprovalFlowBody,
  outcome: Outcome,
): Promise<GrantedTier> {
  const { registry, createId, capacity } = options
  // Programmes react to the decision through the change feed.
  if (flow.kind === 'programme') return { isInForce: true, writes: [] }
  const subscription = await find(registry, tenant, SUBSCRIPTION_KIND, flow.subscription)
  const { id, revision, body } = subscription
  if (flow.kind === 'tierChange') {
    const isGranted = outcome === 'Approved' && flow.slaVariant !== null
    return isGranted ? grantTier(options, subscription, flow.slaVariant) : { isInForce: true, writes: [] }
  }
  const isShort = outcome === 'Approved' && !(await capacity.isOpenTo(tenant, body))
  const actor = stepSubscription(
    body.actor,
    outcome === 'Rejected' ? 'rejected' : isShort ? 'capacity.short' : 'approved',
  )
  const write = subscriptionWrite(id, tenant, revision, { ...body, actor })
  return { isInForce: true, writes: isShort ? [write, waitlisted(createId, tenant, id, body)] : [write] }
}

function show({ id, body, createdAtMs }: Document<ApprovalFlowBody>): ApprovalFlow {
  const { kind, programme = null, requester, slaVariant, reason, approvals, escalatedAt = null, labels = {} } = body
  const subscription = programme === null ? body.subscription : null
  const request = { kind, subscription, programme, requester, slaVariant: slaVariant || null, reason }
  const shown = { id, ...request, approvals, escalatedAt, labels }
  return { ...shown, state: stateOfFlow(body), createdAt: toTime(createdAtMs) }
}
