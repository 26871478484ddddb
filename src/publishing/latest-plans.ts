/** Declarations in force, read once: the change feed says when to read them again. */

import type { SlaPlan } from '../plan/sla-plan.ts'
import { isOfKind, type Change, type Registry } from '../store/registry.ts'
import { OPENSLA_SPEC_KIND, type Specifications } from './specifications.ts'

export interface LatestPlans {
  /** One plan a variant; all operations that a declaration was made for are known to it. */
  of(api: string): Promise<readonly SlaPlan[]>
}

export interface LatestPlansOptions {
  readonly registry: Pick<Registry, 'end' | 'watch'>
  readonly specifications: Pick<Specifications, 'plansInForce'>
}

/** APIs beyond it are read anew when they are asked for. */
const KEPT_MAX = 1_000

export function createLatestPlans({ registry, specifications }: LatestPlansOptions): LatestPlans {
  const kept = new Map<string, Promise<readonly SlaPlan[]>>()
  let watching: Promise<unknown> | null = null

  function forgetReplaced({ document }: Change): void {
    if (isOfKind(document, OPENSLA_SPEC_KIND)) kept.delete(document.body.api)
  }

  return {
    async of(api) {
      watching ??= registry.end().then((end) => registry.watch(end, forgetReplaced))
      await watching
      const known = kept.get(api)
      if (known !== undefined) return known
      const reading = specifications.plansInForce(api, [])
      if (kept.size >= KEPT_MAX) kept.clear()
      kept.set(api, reading)
      try {
        return await reading
      } catch (cause) {
        kept.delete(api)
        throw cause
      }
    },
  }
}
