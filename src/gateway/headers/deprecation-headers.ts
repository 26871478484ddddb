/** Headers of every response of a deprecated API: since when (RFC 9745), until when (RFC 8594), and its successor. */

import { toHeaderLines } from '../connection/header-lines.ts'
import type { DeprecationPlan } from '../../boundary/plan/route-plan.ts'

export function toDeprecationLines({ sinceMs, retirementMs, successor }: DeprecationPlan): string {
  return toHeaderLines([
    'Deprecation',
    `@${Math.floor(sinceMs / 1_000)}`,
    'Sunset',
    new Date(retirementMs).toUTCString(),
    ...(successor === null ? [] : ['Link', `</${successor}>; rel="successor-version"`]),
  ])
}
