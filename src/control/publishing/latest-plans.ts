/** Cache of the SLA declarations in force, invalidated by the change feed. */

import type { SlaPlan } from '../../boundary/plan/sla-plan.ts'
import { createLazyWatch } from '../command/lazy-watch.ts'
import { isOfKind, type Change, type Registry } from '../../storage/store/registry.ts'
import { OPENSLA_SPEC_KIND, type Specifications } from './specifications.ts'

export interface LatestPlans {
  /** Returns one plan per variant, with all operations that its declaration names. */
  of(api: string): Promise<readonly SlaPlan[]>
}

export interface LatestPlansOptions {
  readonly registry: Pick<Registry, 'end' | 'watch'>
  readonly specifications: Pick<Specifications, 'plansInForce'>
}

/** The cache is cleared when it reaches this many APIs. */
const CACHED_MAX = 1_000

export function createLatestPlans({ registry, specifications }: LatestPlansOptions): LatestPlans {
  const cached = new Map<string, Promise<readonly SlaPlan[]>>()
  const watch = createLazyWatch(registry, evictReplaced)

  function evictReplaced({ document }: Change): void {
    if (isOfKind(document, OPENSLA_SPEC_KIND)) cached.delete(document.body.api)
  }

  return {
    async of(api) {
      await watch()
      const known = cached.get(api)
      if (known !== undefined) return known
      const reading = specifications.plansInForce(api, [])
      if (cached.size >= CACHED_MAX) cached.clear()
      cached.set(api, reading)
      try {
        return await reading
      } catch (cause) {
        cached.delete(api)
        throw cause
      }
    },
  }
}
