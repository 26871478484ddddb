/** Port through which the control plane reads the use of limits from the gateway. */

import type { SlaPlan } from './sla-plan.ts'

export interface LimitBook {
  /** Returns the current use of a plan's limits. */
  usage(subscription: string, plan: SlaPlan): Promise<LimitUsage>
  /** Returns the start times of the latest breaches within the last 30 days, oldest first. */
  breachesMs(subscription: string, api: string): readonly number[]
}

export interface LimitUsage {
  /** In the order of the plan. */
  readonly limits: readonly LimitUse[]
  readonly quota: { readonly usedMicro: number; readonly endMs: number } | null
}

export interface LimitUse {
  /** In calls. */
  readonly used: number
  /** End of the window; null if the limit has no windows. */
  readonly endMs: number | null
}
