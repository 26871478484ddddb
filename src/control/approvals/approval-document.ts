/** The registry document of an approval flow, and the writes of its transitions. */

import { APPROVAL_ACTIONS, approvalFlow, type ApprovalEvent, type ApprovalState } from './approval-machine.ts'
import { begin, step, type PersistedActor } from '../command/persisted-machine.ts'
import type { Labelled } from '../../storage/store/labels.ts'
import { documentKind, type Author, type Document, type Registry, type Write } from '../../storage/store/registry.ts'
import { refusedStep } from '../command/commands.ts'
import { dropDueWrite, dueWrite } from '../command/due-times.ts'

export type Outcome = 'Approved' | 'Rejected' | 'AmendmentRequired'

export interface Approval {
  readonly approver: string
  readonly outcome: Outcome
  readonly comments: string | null
  readonly time: string
}

export interface ApprovalFlowBody extends Labelled {
  readonly kind: 'subscription' | 'tierChange' | 'programme'
  /** Empty for a programme. */
  readonly subscription: string
  readonly programme?: string
  /** The requesting person, or the consumer if no person is known. */
  readonly requester: string
  /** The requested tier of a tier change, empty for the default one; else null. */
  readonly slaVariant: string | null
  readonly reason: string | null
  readonly approvals: readonly Approval[]
  readonly actor: PersistedActor
  /** When the flow is due to be escalated without a decision; 0 if it is not pending. */
  readonly remindAtMs: number
  /** When the flow was escalated; missing if it was not, or after a transition. */
  readonly escalatedAt?: string
}

/** The request, with its requester. */
export type FlowRequest = Pick<
  ApprovalFlowBody,
  'kind' | 'subscription' | 'programme' | 'requester' | 'slaVariant' | 'reason'
>

export const APPROVAL_KIND = documentKind<ApprovalFlowBody>('approval_flow', [
  'kind',
  'subscription',
  'requester',
  'slaVariant',
  'reason',
  'state',
  'approvals',
  'labels',
])
export const APPROVAL_DUE = 'approval_silent'
const ESCALATE_AFTER_MS = 3 * 86_400_000

/** Identifies the principal behind an author, so that requester and approver can be compared. */
export function deciderOf({ consumer, person }: Author): string {
  return person ?? consumer
}

export function stateOfFlow({ actor }: Pick<ApprovalFlowBody, 'actor'>): ApprovalState {
  return actor.value as ApprovalState
}

/** Returns the writes of a pending flow, with the task that escalates it. */
export function openFlow(id: string, tenant: string, flow: FlowRequest, nowMs: number): Write[] {
  const fresh = begin(approvalFlow, { requester: flow.requester })
  const actor = stepFlow({ ...flow, actor: fresh }, { type: 'opened' })
  const body: ApprovalFlowBody = { ...flow, approvals: [], actor, remindAtMs: nowMs + ESCALATE_AFTER_MS }
  return [flowWrite(id, tenant, 0, body), reminder(id, tenant, body)]
}

/** Returns the writes of a flow that the API's policy has approved. */
export function approvedFlow(
  id: string,
  tenant: string,
  flow: FlowRequest,
  approval: Approval,
  isComplete: boolean,
): Write[] {
  const opened = stepFlow({ ...flow, actor: begin(approvalFlow, { requester: flow.requester }) }, { type: 'opened' })
  const approved = stepFlow({ ...flow, actor: opened }, { type: 'approved', approver: approval.approver })
  const actor = isComplete ? stepFlow({ ...flow, actor: approved }, { type: 'completed' }) : approved
  return [flowWrite(id, tenant, 0, { ...flow, approvals: [approval], actor, remindAtMs: 0 })]
}

function reminder(id: string, tenant: string, { remindAtMs }: ApprovalFlowBody): Write {
  return dueWrite({ tenant, kind: APPROVAL_DUE, subject: id, atMs: remindAtMs })
}

/** Throws `Problem('state_conflict')` if the flow does not accept the event. */
export function stepFlow(
  { actor, kind }: Pick<ApprovalFlowBody, 'actor' | 'kind'>,
  event: ApprovalEvent,
): PersistedActor {
  const result = step(approvalFlow, actor, event)
  if ('refused' in result) throw refusedStep(result.refused, APPROVAL_ACTIONS[kind])
  return result.next
}

/** Returns the writes of a transition. They remove the escalation task, and create a new one if the flow is pending. */
export async function movedFlow(
  registry: Pick<Registry, 'get'>,
  { id, tenant, revision, body: before }: Document<ApprovalFlowBody>,
  body: ApprovalFlowBody,
  nowMs: number,
): Promise<Write[]> {
  const isPending = stateOfFlow(body) === 'InProgress'
  const dropped = before.remindAtMs === 0 ? [] : await dropDueWrite(registry, APPROVAL_DUE, id, before.remindAtMs)
  const { escalatedAt: _, ...rest } = body
  const next: ApprovalFlowBody = { ...rest, remindAtMs: isPending ? nowMs + ESCALATE_AFTER_MS : 0 }
  return [flowWrite(id, tenant, revision, next), ...dropped, ...(isPending ? [reminder(id, tenant, next)] : [])]
}

/** Returns the writes that withdraw the unfinished flows (pending, to be amended, or approved but not completed) of a subscription that ends. */
export async function withdrawnFlows(
  registry: Pick<Registry, 'get' | 'list'>,
  tenant: string,
  subscription: string,
  nowMs: number,
): Promise<Write[]> {
  const writes: Write[] = []
  for (const state of ['InProgress', 'AmendmentRequired', 'Approved']) {
    const where = { subscription, state }
    for (const flow of await registry.list(APPROVAL_KIND, { tenant, where, limit: 100 })) {
      const body = { ...flow.body, actor: stepFlow(flow.body, { type: 'withdrawn' }) }
      writes.push(...(await movedFlow(registry, flow, body, nowMs)))
    }
  }
  return writes
}

export function flowWrite(id: string, tenant: string, expected: number, body: ApprovalFlowBody): Write {
  const subject = body.programme === undefined ? { subscription: body.subscription } : { programme: body.programme }
  const keys = { ...subject, state: stateOfFlow(body) }
  return { kind: APPROVAL_KIND, id, tenant, expected, body, keys }
}
