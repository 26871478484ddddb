/**
 * The active declaration of each variant, and the blocks of counters that it needs. Runs on the main thread.
 *
 * While a declaration changes, requests for blocks of its API wait until every thread has applied the new one, so that two threads
 * never count in different blocks for one subscription.
 */

import type { RuntimePlan, SlaPlan } from '../boundary/plan/sla-plan.ts'
import type { BlockRef, LimitMemory } from './limit-memory.ts'

export interface Promises {
  of(api: string): readonly RuntimePlan[]
  /** Whether any declaration contains a promise. */
  readonly isAny: boolean
  /** Returns the APIs that have promises. */
  apis(): readonly string[]
}

export interface BlockParameters {
  readonly subscription: string
  readonly api: string
  readonly variant: string
  /** Revision of the document of the subscription. */
  readonly revision: number
}

export interface ActiveDeclarations {
  /** Activates a declaration; one with the same limits keeps its counters in place. */
  setPlan(plan: SlaPlan): void
  /** Removes the declarations of an API that is no longer served. */
  remove(api: string): void
  /** Returns the active declaration of a variant; `''` is the default tier. */
  planOf(api: string, variant: string): SlaPlan | null
  /** Promises of the providers in the active declarations. */
  readonly promises: Promises
  /** Increases whenever limits or quotas change. */
  readonly generation: number
  /** Runs `change`, during which requests for blocks of the API wait, then activates `plan`. */
  change(plan: SlaPlan, change: () => Promise<void>): Promise<void>
  block(parameters: BlockParameters): Promise<BlockRef | null>
}

export function createActiveDeclarations(memory: LimitMemory): ActiveDeclarations {
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
    if (before !== undefined && areAlike(before, plan)) return
    plans.set(key, plan)
    generation++
    memory.redeclare(plan)
  }

  return {
    setPlan,
    remove(api) {
      for (const variant of runtimes.get(api)?.keys() ?? []) plans.delete(`${api} ${variant}`)
      runtimes.delete(api)
      generation++
    },
    planOf: (api, variant) => plans.get(`${api} ${variant}`) ?? null,
    promises: {
      of: (api) => [...(runtimes.get(api)?.values() ?? [])].flat(),
      get isAny() {
        return isAnyPromised
      },
      apis: () => [...runtimes].filter(([, ofApi]) => [...ofApi.values()].flat().length > 0).map(([api]) => api),
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
    async block({ subscription, api, variant, revision }) {
      await changing.get(api)
      const plan = plans.get(`${api} ${variant}`)
      return plan === undefined ? null : memory.blockFor(subscription, plan, revision)
    },
  }
}

/** Whether two plans are of one number, and have the same limits. */
function areAlike(a: SlaPlan, b: SlaPlan): boolean {
  return (
    JSON.stringify([a.number, a.limits, a.byOperation, a.quota, a.alertShare]) ===
    JSON.stringify([b.number, b.limits, b.byOperation, b.quota, b.alertShare])
  )
}
