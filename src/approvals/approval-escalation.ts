/**
 * A request that nobody has decided on for three days is escalated: its flow says since when, and whoever
 * watches the service is told. Once for each time that it was put before the approvers.
 */

import type { Clock } from '../runtime/clock.ts'
import type { Registry } from '../store/registry.ts'
import { APPROVAL_DUE, APPROVAL_KIND, flowWrite, stateOfFlow, type ApprovalFlowBody } from './approval-document.ts'
import { toTime } from '../command/commands.ts'
import { dropDueWrite, type DueTime } from '../command/due-times.ts'

export interface ApprovalSilenceOptions {
  readonly registry: Registry
  readonly clock: Pick<Clock, 'nowMs'>
  readonly onSilence: (tenant: string, flow: string) => void
}

export function createApprovalSilence(options: ApprovalSilenceOptions): (due: DueTime) => Promise<void> {
  const { registry, clock, onSilence } = options

  return async ({ tenant, subject: id, atMs }) => {
    const flow = await registry.get(APPROVAL_KIND, id)
    if (flow === null || stateOfFlow(flow.body) !== 'InProgress') return
    const body: ApprovalFlowBody = { ...flow.body, escalatedAt: toTime(clock.nowMs()) }
    await registry.commit({ tenant, consumer: 'system' }, 'approval.escalated', [
      flowWrite(id, tenant, flow.revision, body),
      ...(await dropDueWrite(registry, APPROVAL_DUE, id, atMs)),
    ])
    onSilence(tenant, id)
  }
}
