/** The plans that this node serves, so that it changes only the parts of an API that the registry has changed. */

import { createHash } from 'node:crypto'
import { withoutDocuments } from '../../boundary/plan/packed-plan.ts'
import type { SlaPlan } from '../../boundary/plan/sla-plan.ts'
import type { ActivePlan } from './serving-plan.ts'

/** `revision`: it has to be compiled. Otherwise the declarations that have changed, and whether the products have. */
export type PlanChange = 'revision' | { readonly slas: readonly SlaPlan[]; readonly hasOtherProducts: boolean }

export interface ServedPlans {
  note(served: ActivePlan): void
  /** Returns what this node has to change to serve a plan; null if it serves the plan. */
  changeTo(plan: ActivePlan): PlanChange | null
  evict(api: string): void
}

interface Digests {
  readonly revision: string
  readonly products: string
  /** By variant. */
  readonly slas: ReadonlyMap<string, string>
}

export function createServedPlans(): ServedPlans {
  const digests = new Map<string, Digests>()
  return {
    note: (served) => void digests.set(served.plan.api, digestsOf(served)),
    changeTo(plan) {
      const served = digests.get(plan.plan.api)
      return served === undefined ? 'revision' : compare(served, plan)
    },
    evict: (api) => void digests.delete(api),
  }
}

function compare(served: Digests, plan: ActivePlan): PlanChange | null {
  const next = digestsOf(plan)
  // Only a swap removes a variant.
  const hasLess = [...served.slas.keys()].some((variant) => !next.slas.has(variant))
  if (served.revision !== next.revision || hasLess) return 'revision'
  const slas = plan.slas.filter(({ variant }) => served.slas.get(variant) !== next.slas.get(variant))
  const hasOtherProducts = served.products !== next.products
  return slas.length === 0 && !hasOtherProducts ? null : { slas, hasOtherProducts }
}

/** The document of a revision never changes: its number stands for it. */
function digestsOf({ plan, slas }: ActivePlan): Digests {
  const { memberOfProductIds, ...revision } = withoutDocuments(plan)
  return {
    revision: digestOf(revision),
    products: digestOf(memberOfProductIds),
    // The number of a declaration increases with those of other variants, and the gateway threads need none.
    slas: new Map(slas.map(({ number: _number, ...sla }) => [sla.variant, digestOf(sla)])),
  }
}

function digestOf(part: unknown): string {
  return createHash('sha256').update(JSON.stringify(part)).digest('base64')
}
