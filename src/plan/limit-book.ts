/** What the gateway has counted for a subscription, as the catalogue asks for it. */

import type { SlaPlan } from './sla-plan.ts'

export interface LimitBook {
  /** What is used of a plan's limits at the moment. */
  usage(subscription: string, plan: SlaPlan): LimitUsage
  /** When the breaches of the last 30 days began, oldest first; the latest few. */
  breachesMs(subscription: string, api: string): readonly number[]
}

export interface LimitUsage {
  /** By position in the plan. */
  readonly limits: readonly LimitUse[]
  readonly quota: { readonly usedMicro: number; readonly endMs: number } | null
}

export interface LimitUse {
  /** Calls. */
  readonly used: number
  /** The end of the window; null where none is counted in. */
  readonly endMs: number | null
}
