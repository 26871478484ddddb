/**
 * The key by which the main thread and the gateway threads name the gate to one target.
 *
 * `scope` is what the gate is kept for: the name of an API, or its canary (`boundary/plan/canary.ts`). Two APIs with the same target
 * have two gates, so that the calls of one cannot close the target to the other. Code that needs the API keeps it beside the
 * key: a key is compared, never parsed.
 */

import type { TargetPlan } from '../../boundary/plan/route-plan.ts'

export function gateKey(scope: string, { origin, basePath }: Pick<TargetPlan, 'origin' | 'basePath'>): string {
  return `${scope} ${origin}${basePath}`
}
