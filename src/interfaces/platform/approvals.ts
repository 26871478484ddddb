/** Approval flows of subscriptions and tier changes, with their decisions. */

import { SelfApproval, type Approvals } from '../../control/subscriptions/approvals.ts'
import type { Caller } from '../../boundary/plan/caller.ts'
import { notFound } from '../../control/command/commands.ts'
import { pageOf } from '../../control/command/page.ts'
import type { Author } from '../../storage/store/registry.ts'
import type { Call, Handlers, Operation, Operations } from './operation.ts'
import {
  id,
  labelledQuery,
  labels,
  list,
  named,
  nullable,
  object,
  prose,
  pagedQuery,
  reference,
  text,
  time,
} from './schemas.ts'

const outcome = { type: 'string', enum: ['Approved', 'Rejected', 'AmendmentRequired'] } as const
const state = {
  type: 'string',
  enum: ['Submitted', 'InProgress', 'Approved', 'Rejected', 'AmendmentRequired', 'Complete'],
} as const
export const approval = named('Approval', object({ approver: id, outcome, comments: nullable(text), time }))
const flow = named(
  'ApprovalFlow',
  object({
    id,
    kind: { type: 'string', enum: ['subscription', 'tierChange', 'programme'] },
    subscription: nullable(id),
    programme: nullable(id),
    requester: id,
    state,
    slaVariant: { ...nullable(text), description: 'The requested tier of a tier change; null: the default tier.' },
    reason: nullable(text),
    approvals: { type: 'array', items: approval },
    escalatedAt: {
      ...nullable(time),
      description: 'Time of the escalation, three days after the request without a decision.',
    },
    labels,
    createdAt: time,
  }),
)
/** Shared by all operations that decide on an approval flow. */
export const deciding = {
  method: 'POST',
  scope: 'approvals:write',
  body: named('Decision', object({ outcome, comments: prose }, ['outcome'])),
  status: 200,
  answer: approval,
  problems: ['state_conflict', 'operation_forbidden'],
} as const
const tier = {
  ...nullable(reference),
  description: 'A variant of the OpenSLA declaration; null: the default tier.',
} as const
const tag = 'Approvals'
const FLOWS = '/v1/subscriptions/:id/approvalFlows'
const reading = { method: 'GET', tag, scope: 'subscriptions:read', own: 'subscription', status: 200 } as const

export const APPROVAL_OPERATIONS = {
  listApprovalFlows: {
    ...reading,
    path: FLOWS,
    summary: 'Lists the approval flows of a subscription, decided and open',
    query: labelledQuery(),
    answer: list(flow),
  },
  getApprovalFlow: { ...reading, path: `${FLOWS}/:flowId`, summary: 'Returns an approval flow', answer: flow },
  listApprovals: {
    ...reading,
    path: `${FLOWS}/:flowId/approvals`,
    summary: 'Lists the decisions of an approval flow: approver, time and comments',
    query: pagedQuery(),
    answer: list(approval),
  },
  decide: {
    ...deciding,
    path: `${FLOWS}/:flowId/approvals`,
    summary: 'Decides on a request of another caller; the decision takes effect before this call returns',
    tag,
    changes: 'getApprovalFlow',
  },
  listWaitingFlows: {
    method: 'GET',
    path: '/v1/approvals',
    summary: 'Lists the approval flows of the tenant that wait for a decision, or those in `state`',
    tag,
    scope: 'approvals:read',
    own: 'filtered',
    query: labelledQuery({ state }),
    status: 200,
    answer: list(flow),
  },
  findApprovalFlow: {
    method: 'GET',
    path: '/v1/approvals/:id',
    summary: 'Returns an approval flow of a subscription or of a programme',
    tag,
    scope: 'approvals:read',
    own: 'filtered',
    status: 200,
    answer: flow,
  },
  labelApprovalFlow: {
    method: 'PATCH',
    path: '/v1/approvals/:id',
    summary: 'Changes the labels of an approval flow',
    tag,
    scope: 'approvals:write',
    body: named('ApprovalFlowChange', object({ labels }, [])),
    status: 200,
    answer: flow,
    problems: ['state_conflict'],
    changes: 'findApprovalFlow',
  },
  requestTierChange: {
    method: 'POST',
    path: '/v1/subscriptions/:id/tierChanges',
    summary: 'Requests another variant of the service level',
    tag: 'Subscriptions',
    scope: 'subscriptions:write',
    own: 'subscription',
    body: named('TierChange', object({ slaVariant: tier, reason: prose }, ['slaVariant'])),
    status: 202,
    location: `${FLOWS}/:flowId`,
    answer: flow,
    problems: ['state_conflict'],
    changes: 'getSubscription',
  },
} as const satisfies Operations

export interface ApprovalHandlersOptions {
  readonly approvals: Approvals
  /** Resolves when the attempt is recorded. */
  readonly onSelfApproval: (caller: Caller) => Promise<void>
}

type Decide = Approvals['decide']

/** An operation that decides on the flow that its path names. */
type Deciding = typeof deciding &
  Pick<Operation, 'summary' | 'tag'> & { readonly path: `${string}/:id/approvalFlows/:flowId` }

/** Refuses a decision by the requester and reports it as a risk. */
export async function decideBy(
  decide: Decide,
  { author, params, body, caller }: Call<Deciding>,
  onSelfApproval: ApprovalHandlersOptions['onSelfApproval'],
): ReturnType<Decide> {
  try {
    return await decide(author, params.id, params.flowId, body)
  } catch (cause) {
    if (cause instanceof SelfApproval) await onSelfApproval(caller)
    throw cause
  }
}

export function approvalHandlers(options: ApprovalHandlersOptions): Handlers<typeof APPROVAL_OPERATIONS> {
  const { approvals, onSelfApproval } = options
  return {
    listApprovalFlows: async ({ author, params, query }) => approvals.flowsOf(author.tenant, params.id, query),
    getApprovalFlow: async ({ author, params }) => approvals.flow(author.tenant, params.id, params.flowId),
    async listApprovals({ author, params, query }) {
      const { approvals: all } = await approvals.flow(author.tenant, params.id, params.flowId)
      return pageOf(all, query)
    },
    decide: (call) => decideBy(approvals.decide, call, onSelfApproval),
    async listWaitingFlows({ author, owner, query }) {
      if (owner === null) return approvals.list(author.tenant, query)
      return approvals.listRequested(author.tenant, requestersOf(author, owner), query)
    },
    async findApprovalFlow({ author, owner, params }) {
      const found = await approvals.find(author.tenant, params.id)
      if (owner !== null && !requestersOf(author, owner).includes(found.requester))
        throw notFound('approval', params.id)
      return found
    },
    labelApprovalFlow: async ({ author, params, body }) => approvals.label(author, params.id, body),
    requestTierChange: async ({ author, params, body }) => approvals.requestTier(author, params.id, body),
  }
}

/** The consumer of a person's client may belong to the provider: its requests are not the person's. */
function requestersOf({ person }: Author, owner: string): readonly string[] {
  return person === undefined ? [owner] : [owner, person]
}
