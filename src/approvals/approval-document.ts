/** What the registry keeps of an approval flow, and how one begins, goes on and ends. */

import { approvalFlow, type ApprovalEvent, type ApprovalState } from './approval-machine.ts'
import { begin, step, type PersistedActor } from '../command/persisted-machine.ts'
import { documentKind, type Author, type Document, type Registry, type Write } from '../store/registry.ts'
import { stateConflict } from '../command/commands.ts'
import { dropDueWrite, dueWrite } from '../command/due-times.ts'

export type Outcome = 'Approved' | 'Rejected' | 'AmendmentRequired'

export interface Approval {
  readonly approver: string
  readonly outcome: Outcome
  readonly comments: string | null
  readonly time: string
}

export interface ApprovalFlowBody {
  readonly kind: 'subscription' | 'tierChange' | 'programme'
  /** `''` where it is about a programme. */
  readonly subscription: string
  readonly programme?: string
  /** The person, else the consumer, that asks. */
  readonly requester: string
  /** Of a tier change: what is asked for. */
  readonly slaVariant: string | null
  readonly reason: string | null
  readonly approvals: readonly Approval[]
  readonly actor: PersistedActor
  /** When a decision that nobody has taken is pointed at; 0: nobody waits. */
  readonly remindAtMs: number
  /** Since when its silence is known to those who watch the service; missing: it is not. */
  readonly escalatedAt?: string
}

/** What is asked for, and by whom. */
export type FlowRequest = Pick<
  ApprovalFlowBody,
  'kind' | 'subscription' | 'programme' | 'requester' | 'slaVariant' | 'reason'
>

export const APPROVAL_KIND = documentKind<ApprovalFlowBody>('approval_flow')
export const APPROVAL_DUE = 'approval_silent'
const SILENT_MS = 3 * 86_400_000

/** Who an author is where it matters that two are not one. */
export function deciderOf({ consumer, person }: Author): string {
  return person ?? consumer
}

export function stateOfFlow({ actor }: Pick<ApprovalFlowBody, 'actor'>): ApprovalState {
  return actor.value as ApprovalState
}

/** A flow that waits for a decision, and the time at which its silence is noticed. */
export function openFlow(id: string, tenant: string, flow: FlowRequest, nowMs: number): Write[] {
  const fresh = begin(approvalFlow, { requester: flow.requester })
  const actor = tellFlow({ actor: fresh }, { type: 'opened' })
  const body: ApprovalFlowBody = { ...flow, approvals: [], actor, remindAtMs: nowMs + SILENT_MS }
  return [flowWrite(id, tenant, 0, body), reminder(id, tenant, body)]
}

/** A flow that the policy of the API has decided on. */
export function approvedFlow(
  id: string,
  tenant: string,
  flow: FlowRequest,
  approval: Approval,
  isComplete: boolean,
): Write[] {
  const opened = tellFlow({ actor: begin(approvalFlow, { requester: flow.requester }) }, { type: 'opened' })
  const approved = tellFlow({ actor: opened }, { type: 'approved', approver: approval.approver })
  const actor = isComplete ? tellFlow({ actor: approved }, { type: 'completed' }) : approved
  return [flowWrite(id, tenant, 0, { ...flow, approvals: [approval], actor, remindAtMs: 0 })]
}

export function reminder(id: string, tenant: string, { remindAtMs }: ApprovalFlowBody): Write {
  return dueWrite({ tenant, kind: APPROVAL_DUE, subject: id, atMs: remindAtMs })
}

/** Throws `Problem('state_conflict')` where the flow does not take the event. */
export function tellFlow({ actor }: Pick<ApprovalFlowBody, 'actor'>, event: ApprovalEvent): PersistedActor {
  const result = step(approvalFlow, actor, event)
  if ('refused' in result) throw stateConflict(result.refused)
  return result.next
}

/** The writes of a flow that has moved on: nobody is reminded of what no longer waits. */
export async function movedFlow(
  registry: Pick<Registry, 'get'>,
  { id, tenant, revision, body: before }: Document<ApprovalFlowBody>,
  body: ApprovalFlowBody,
  nowMs: number,
): Promise<Write[]> {
  const waits = stateOfFlow(body) === 'InProgress'
  const dropped = before.remindAtMs === 0 ? [] : await dropDueWrite(registry, APPROVAL_DUE, id, before.remindAtMs)
  const { escalatedAt: _, ...rest } = body
  const next: ApprovalFlowBody = { ...rest, remindAtMs: waits ? nowMs + SILENT_MS : 0 }
  return [flowWrite(id, tenant, revision, next), ...dropped, ...(waits ? [reminder(id, tenant, next)] : [])]
}

/** The flow of a subscription that has ended; nothing where none waits. */
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
      const body = { ...flow.body, actor: tellFlow(flow.body, { type: 'withdrawn' }) }
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
