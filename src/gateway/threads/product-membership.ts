/**
 * Product membership of each API, with last-write-wins by version.
 *
 * A plan captures the membership when its compilation starts; a command may change it before the plan is swapped in. `apply`
 * then overrides the plan with the newer membership. The table has one entry per API that a command has changed.
 */

import type { RevisionPlan } from '../../boundary/plan/route-plan.ts'

export interface ProductMembership {
  /** Returns the version to pass to `apply` for a plan that is compiled now. */
  version(): number
  set(api: string, productIds: readonly string[]): void
  /** Returns the plan with the membership that was set after `capturedAt`, if any. */
  apply<Plan extends RevisionPlan>(plan: Plan, capturedAt: number): Plan
}

export function createProductMembership(): ProductMembership {
  const entries = new Map<string, { readonly productIds: readonly string[]; readonly version: number }>()
  let version = 0

  return {
    version: () => version,
    set(api, productIds) {
      entries.set(api, { productIds, version: ++version })
    },
    apply(plan, capturedAt) {
      const entry = entries.get(plan.api)
      return entry === undefined || entry.version <= capturedAt
        ? plan
        : { ...plan, memberOfProductIds: entry.productIds }
    },
  }
}
