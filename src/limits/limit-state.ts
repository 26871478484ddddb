/** Describes the limit that refused the last call, from the verdict of that decision. */

import { MICRO } from '../foundation/domain/decimal.ts'
import type { LimitState } from '../foundation/domain/explanation.ts'
import type { CompiledSla } from './compiled-sla.ts'
import { reopensWithTime } from './limit-kinds.ts'
import type { Verdict } from './limit-verdict.ts'

export function limitState(sla: CompiledSla, verdict: Verdict, window: string | null, opensAt: string): LimitState {
  const { label: name, kind, rule } = sla.limits[verdict.refusedBy]!
  // Without a tightest limit there was no decision: another thread held the lock of the counters.
  const remaining = verdict.tightest < 0 ? null : verdict.remaining
  return {
    name,
    kind,
    limit: rule.value,
    used: remaining === null ? null : rule.value - remaining,
    remaining,
    window,
    opensAt: reopensWithTime(kind) ? opensAt : null,
  }
}

export function quotaState(
  { plan, unitsMicro }: CompiledSla,
  operation: number,
  { quotaUsedMicro }: Verdict,
  window: string,
  opensAt: string,
): LimitState {
  const limitMicro = plan.quota?.unitsMicro ?? 0
  // If the units would have sufficed, there was no decision: another thread held the lock of the counters.
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
