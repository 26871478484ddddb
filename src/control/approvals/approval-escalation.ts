/**
 * Escalates an approval flow that has had no decision for three days, once per submission: records the time in the flow and
 * notifies the risk stream.
 */

import type { Clock } from '../../foundation/runtime/clock.ts'
import type { Registry } from '../../storage/store/registry.ts'
import { APPROVAL_DUE, APPROVAL_KIND, flowWrite, stateOfFlow, type ApprovalFlowBody } from './approval-document.ts'
import { toTime } from '../command/commands.ts'
import { dropDueWrite, type DueTime } from '../command/due-times.ts'

export interface ApprovalEscalationOptions {
  readonly registry: Registry
  readonly clock: Pick<Clock, 'nowMs'>
  readonly onEscalation: (tenant: string, flow: string) => void
}

export function createApprovalEscalation(options: ApprovalEscalationOptions): (due: DueTime) => Promise<void> {
  const { registry, clock, onEscalation } = options

  return async ({ tenant, subject: id, atMs }) => {
    const flow = await registry.get(APPROVAL_KIND, id)
    if (flow === null || stateOfFlow(flow.body) !== 'InProgress') return
    const body: ApprovalFlowBody = { ...flow.body, escalatedAt: toTime(clock.nowMs()) }
    await registry.commit({ tenant, consumer: 'system' }, 'approval.escalated', [
      flowWrite(id, tenant, flow.revision, body),
      ...(await dropDueWrite(registry, APPROVAL_DUE, id, atMs)),
    ])
    onEscalation(tenant, id)
  }
}
