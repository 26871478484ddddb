/** Describes the limit that has just refused a call, from the verdict of that decision. */

import type { LimitState } from '../../domain/explanation.ts'
import type { CompiledSla } from './compile-sla.ts'
import type { Verdict } from './limit-verdict.ts'

const MICRO = 1_000_000

/** Of a rate, a total or a gauge. */
export function limitState(sla: CompiledSla, verdict: Verdict, window: string | null, opensAt: string): LimitState {
  const { label: name, rule } = sla.limits[verdict.refusedBy]!
  // Without a tightest limit there was no decision: the counters were held by another thread.
  const remaining = verdict.tightest < 0 ? null : verdict.remaining
  return {
    name,
    kind: rule.kind,
    limit: rule.value,
    used: remaining === null ? null : rule.value - remaining,
    remaining,
    window,
    opensAt: rule.kind === 'concurrent' ? null : opensAt,
  }
}

/** Of the quota of resource units. */
export function quotaState(
  { plan, unitsMicro }: CompiledSla,
  operation: number,
  { quotaUsedMicro }: Verdict,
  window: string,
  opensAt: string,
): LimitState {
  const limitMicro = plan.quota?.unitsMicro ?? 0
  // If the units would have sufficed there was no decision: the counters were held by another thread.
  const isKnown = quotaUsedMicro + unitsMicro[operation]! > limitMicro
  return {
    name: 'quota',
    kind: 'quota',
    limit: limitMicro / MICRO,
    used: isKnown ? quotaUsedMicro / MICRO : null,
    remaining: isKnown ? Math.max(0, limitMicro - quotaUsedMicro) / MICRO : null,
    window,
    opensAt,
  }
}
