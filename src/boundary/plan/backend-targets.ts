/** The targets of a backend, each as a backend with one address. */

import type { BackendPlan } from './route-plan.ts'

export interface TargetOfBackend {
  readonly plan: BackendPlan
  readonly weight: number
}

export function targetsOf(backend: BackendPlan): readonly TargetOfBackend[] {
  const { targets, balance: _, ...shared } = backend
  if (targets === undefined) return [{ plan: backend, weight: 1 }]
  return targets.map(({ origin, basePath, weight = 1 }) => ({ plan: { ...shared, origin, basePath }, weight }))
}

export function originsOf({ origin, targets }: Pick<BackendPlan, 'origin' | 'targets'>): readonly string[] {
  return targets === undefined ? [origin] : targets.map((target) => target.origin)
}
