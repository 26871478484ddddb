/** The plan that takes the place of one that cannot be compiled: it has no operations, and its calls are refused. */

import { packDocument, toCanaryPlan, type PackedPlan } from './packed-plan.ts'

export type WithheldApi = Pick<PackedPlan, 'api' | 'tenant' | 'revision' | 'allowedScopes' | 'memberOfProductIds'>

export function toWithheldPlan({ api, tenant, revision, allowedScopes, memberOfProductIds }: WithheldApi): PackedPlan {
  const document = packDocument({
    dialect: '3.1',
    components: {},
    responses: [],
    responseComponents: {},
    operations: [],
  })
  return { api, tenant, revision, state: 'Withheld', backend: null, allowedScopes, memberOfProductIds, document }
}

/** Returns the plan with a canary whose calls are refused, so that one that cannot be compiled costs the other callers nothing. */
export function withWithheldCanary({ canary, ...plan }: PackedPlan): PackedPlan {
  if (canary === undefined) return plan
  const withheld = toWithheldPlan({ ...canary.plan, memberOfProductIds: [] })
  return { ...plan, canary: { rule: canary.rule, plan: toCanaryPlan(withheld) } }
}
