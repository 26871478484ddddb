/** Serves an active revision when the service starts. */

import type { GatewayPort } from '../boundary/plan/gateway-port.ts'
import type { PackedPlan } from '../boundary/plan/packed-plan.ts'
import { toWithheldPlan, withWithheldCanary } from '../boundary/plan/withheld-plan.ts'
import { SecretsUnreadable } from '../control/publishing/backend-secrets.ts'
import type { ActivePlan } from '../control/publishing/serving-plan.ts'
import type { OnCanaryWithheld } from '../control/publishing/withheld-canary.ts'
import type { WithheldRetries } from '../control/publishing/withheld-retries.ts'
import type { Core } from './open-core.ts'

interface WithheldReport extends Pick<Core, 'count' | 'log'> {
  /** Null: others try again. */
  readonly withheld: Pick<WithheldRetries, 'add'> | null
}

/** A canary that cannot be served, and an API whose secrets cannot be decrypted, do not prevent the start. */
export async function serveStored(
  report: WithheldReport,
  port: Pick<GatewayPort, 'prepare'>,
  { plan, slas }: Pick<ActivePlan, 'plan' | 'slas'>,
): Promise<void> {
  const { count, log } = report
  const serve = async (next: PackedPlan): Promise<void> => (await port.prepare(next, slas)).swap()
  try {
    await serve(plan)
  } catch (cause) {
    if (await servesWithoutCanary(plan, serve)) return createCanaryReport(report)(plan.api, cause)
    if (!(cause instanceof SecretsUnreadable)) throw cause
    count('revision_withheld')
    log.error({ err: cause, api: plan.api }, 'the stored secrets of an API cannot be decrypted; its calls get 503')
    await (await port.prepare(toWithheldPlan(plan), [])).swap()
  }
}

async function servesWithoutCanary(plan: PackedPlan, serve: (plan: PackedPlan) => Promise<void>): Promise<boolean> {
  if (plan.canary === undefined) return false
  try {
    await serve(withWithheldCanary(plan))
    return true
  } catch {
    // The cause for the whole API is reported.
    return false
  }
}

export function createCanaryReport({ count, log, withheld }: WithheldReport): OnCanaryWithheld {
  return (api, cause) => {
    count('revision_withheld')
    log.error(
      { err: cause, api, isCanary: true },
      'a canary cannot be served; its callers get 503, the others are served',
    )
    withheld?.add(api)
  }
}
