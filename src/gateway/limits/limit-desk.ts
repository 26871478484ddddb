/**
 * The main thread's side of the limits: which declaration is in force for a variant, and where the
 * counters of a subscription lie.
 *
 * While a declaration changes, nobody is told a place until every thread works by the new one: two
 * threads never count in two blocks for one subscription.
 */

import type { RuntimePlan, SlaPlan } from '../../plan/sla-plan.ts'
import type { BlockRef, LimitMemory } from './limit-memory.ts'

export interface Promises {
  of(api: string): readonly RuntimePlan[]
  /** Whether anything is promised of any API. */
  readonly isAny: boolean
}

export interface LimitDesk {
  /** Notes what is in force; a declaration that says the same keeps its counters where they are. */
  setPlan(plan: SlaPlan): void
  /** What is in force for a variant of an API; that of its default tier is `''`. */
  planOf(api: string, variant: string): SlaPlan | null
  /** What the declarations in force promise of the providers' side. */
  readonly promises: Promises
  /** Rises whenever what is in force changes. */
  readonly generation: number
  /** Runs `change` with questions about the API held back, then notes `plan`. */
  change(plan: SlaPlan, change: () => Promise<void>): Promise<void>
  block(ask: {
    readonly subscription: string
    readonly api: string
    readonly variant: string
  }): Promise<BlockRef | null>
}

export function createLimitDesk(memory: LimitMemory): LimitDesk {
  const plans = new Map<string, SlaPlan>()
  /** By API and variant. */
  const runtimes = new Map<string, Map<string, readonly RuntimePlan[]>>()
  let isAnyPromised = false
  const changing = new Map<string, Promise<void>>()
  let generation = 0

  function setPlan(plan: SlaPlan): void {
    const ofApi = runtimes.get(plan.api) ?? new Map<string, readonly RuntimePlan[]>()
    runtimes.set(plan.api, ofApi.set(plan.variant, plan.runtime))
    isAnyPromised = isAnyPromised || plan.runtime.length > 0
    const key = `${plan.api} ${plan.variant}`
    const before = plans.get(key)
    if (before !== undefined && countsAlike(before, plan)) return
    plans.set(key, plan)
    generation++
  }

  return {
    setPlan,
    planOf: (api, variant) => plans.get(`${api} ${variant}`) ?? null,
    promises: {
      of: (api) => [...(runtimes.get(api)?.values() ?? [])].flat(),
      get isAny() {
        return isAnyPromised
      },
    },
    get generation() {
      return generation
    },
    async change(plan, change) {
      const done = (changing.get(plan.api) ?? Promise.resolve()).then(change).then(() => setPlan(plan))
      const held = done.catch(() => {})
      changing.set(plan.api, held)
      await done
      if (changing.get(plan.api) === held) changing.delete(plan.api)
    },
    async block({ subscription, api, variant }) {
      await changing.get(api)
      const plan = plans.get(`${api} ${variant}`)
      return plan === undefined ? null : memory.blockFor(subscription, plan)
    },
  }
}

function countsAlike(a: SlaPlan, b: SlaPlan): boolean {
  return (
    JSON.stringify([a.limits, a.byOperation, a.quota, a.alertShare]) ===
    JSON.stringify([b.limits, b.byOperation, b.quota, b.alertShare])
  )
}
