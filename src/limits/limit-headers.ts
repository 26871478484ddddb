/**
 * Response headers of the limits: `RateLimit-Policy` and `RateLimit` (structured fields of draft-ietf-httpapi-ratelimit-headers) for
 * the tightest limit that applied, `X-RU-*` for resource units. Parts that no call changes are compiled as text (`compiled-sla.ts`).
 */

import type { CompiledSla } from './compiled-sla.ts'
import type { Verdict } from './limit-verdict.ts'
import { toUnits } from './resource-units.ts'

/** Returns the lines of the tightest limit, and of the cost of the operation. */
export function toLimitLines(sla: CompiledSla, operation: number, { tightest, remaining, resetMs }: Verdict): string {
  const cost = sla.costLines[operation]!
  if (tightest < 0) return cost
  return `${sla.limits[tightest]!.headerStart}${remaining};t=${Math.ceil(resetMs / 1_000)}\r\n${cost}`
}

/** Returns the lines of the quota, of which `usedMicro` is used. */
export function toQuotaLines({ quota }: CompiledSla, usedMicro: number): string {
  if (quota === null) return ''
  const { capacity, headerStart, headerMiddle } = quota
  const consumed = `${headerStart}${toUnits(usedMicro)}${headerMiddle}`
  return capacity === Infinity ? consumed : `${consumed}${toUnits(Math.max(0, capacity - usedMicro))}\r\n`
}
