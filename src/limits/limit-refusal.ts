/** The error response of a call that a limit or the quota refused. */

import type { LimitState } from '../foundation/domain/explanation.ts'
import { windowNameOf } from '../foundation/domain/limit-rule.ts'
import type { CompiledSla } from './compiled-sla.ts'
import { reopensWithTime } from './limit-kinds.ts'
import { limitState, quotaState } from './limit-state.ts'
import { QUOTA, type Verdict } from './limit-verdict.ts'

export interface LimitRefusal {
  readonly code: 'rate_limited' | 'quota_exhausted'
  readonly detail: string
  /** `Retry-After`. */
  readonly headers: readonly string[]
  readonly extensions: Readonly<Record<string, unknown>>
  /** The limit that refused, at that moment. */
  readonly limit: LimitState
}

/** Describes the refusal in `verdict`. */
export function toLimitRefusal(sla: CompiledSla, operation: number, verdict: Verdict, nowMs: number): LimitRefusal {
  const headers = ['Retry-After', String(Math.max(1, Math.ceil(verdict.retryAfterMs / 1_000)))]
  const opensAt = new Date(Math.ceil(nowMs + verdict.retryAfterMs)).toISOString()
  if (verdict.refusedBy === QUOTA) {
    const window = sla.plan.quota?.period ?? 'Monthly'
    return {
      code: 'quota_exhausted',
      detail: `The ${window.toLowerCase()} quota of resource units is used up until ${opensAt}.`,
      headers,
      extensions: { limit: 'quota', window, opensAt },
      limit: quotaState(sla, operation, verdict, window, opensAt),
    }
  }
  const { label: limit, rule } = sla.limits[verdict.refusedBy]!
  const window = windowNameOf(rule)
  const opens = reopensWithTime(rule.kind) ? `at ${opensAt}` : 'when a call ends'
  const detail = `The limit "${limit}" of ${rule.value} is reached. It opens ${opens}.`
  const extensions = { limit, window, opensAt }
  return { code: 'rate_limited', detail, headers, extensions, limit: limitState(sla, verdict, window, opensAt) }
}
