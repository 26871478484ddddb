/** The fourth step of a programme: opens an approval flow, unless the policy of the tenant approves the document. */

import type { Clock } from '../../foundation/runtime/clock.ts'
import type { CreateId } from '../../foundation/runtime/ids.ts'
import type { Registry } from '../../storage/store/registry.ts'
import type { ApiPolicies } from '../publishing/api-policy.ts'
import { API_KIND } from '../publishing/apis.ts'
import { openFlow } from '../approvals/approval-document.ts'
import type { ProgrammeBody } from './programme-document.ts'
import type { ProgrammeStepWork } from './step-result.ts'
import type { TenantPolicies } from './tenant-policy.ts'

export interface ApprovalStepOptions {
  readonly registry: Registry
  readonly policies: Pick<TenantPolicies, 'get'>
  readonly apiPolicies: Pick<ApiPolicies, 'get'>
  readonly createId: CreateId
  readonly clock: Clock
}

export function createApprovalStep(options: ApprovalStepOptions): ProgrammeStepWork {
  const { createId, clock } = options

  return async ({ id, tenant, body }) => {
    const reasons = await reasonsForApproval(options, tenant, body)
    if (reasons.length === 0) return { changes: { approvalFlow: null } }
    const flow = createId('apf')
    const request = {
      kind: 'programme',
      programme: id,
      subscription: '',
      requester: body.author.person ?? body.author.consumer,
      slaVariant: null,
      reason: reasons.join(' '),
    } as const
    return { changes: { approvalFlow: flow }, writes: openFlow(flow, tenant, request, clock.nowMs()) }
  }
}

/** Returns the reasons why a decision is needed, for the approver; empty if the policy approves. */
async function reasonsForApproval(
  { registry, policies, apiPolicies }: ApprovalStepOptions,
  tenant: string,
  { api, score, errors, breaking = 0 }: ProgrammeBody,
): Promise<string[]> {
  const { minScore, allowErrors, allowBreaking, exposures } = (await policies.get(tenant)).approval
  const entry = await registry.get(API_KIND, api)
  const exposure = entry === null ? 'Internal' : (await apiPolicies.get(tenant, api)).exposure
  const reasons: string[] = []
  if ((score ?? 0) < minScore) reasons.push(`The score is ${score ?? 0}; the policy requires ${minScore}.`)
  if (errors > 0 && !allowErrors) reasons.push(`Errors found: ${errors}.`)
  if (breaking > 0 && !allowBreaking)
    reasons.push(`Changes that break callers of the previous major version: ${breaking}.`)
  if (!exposures.includes(exposure)) reasons.push(`The exposure of the API is ${exposure}.`)
  return reasons
}
