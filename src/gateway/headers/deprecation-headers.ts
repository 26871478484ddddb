/** Headers of every response of a deprecated API: since when (RFC 9745), until when (RFC 8594), and its successor. */

import type { DeprecationPlan } from '../../plan/route-plan.ts'

/** Name, value, … */
export function toDeprecationHeaders({ sinceMs, retirementMs, successor }: DeprecationPlan): readonly string[] {
  return [
    'Deprecation',
    `@${Math.floor(sinceMs / 1_000)}`,
    'Sunset',
    new Date(retirementMs).toUTCString(),
    ...(successor === null ? [] : ['Link', `</${successor}>; rel="successor-version"`]),
  ]
}
