/** Serves an active revision when the service starts. */

import type { GatewayPort } from '../plan/gateway-port.ts'
import { toWithheldPlan } from '../plan/withheld-plan.ts'
import { SecretsUnreadable } from '../publishing/backend-secrets.ts'
import type { ActivePlan } from '../publishing/serving-plan.ts'
import type { Core } from './open-core.ts'

/** An API whose secrets cannot be decrypted does not prevent the start. */
export async function serveStored(
  { count, log }: Pick<Core, 'count' | 'log'>,
  port: Pick<GatewayPort, 'prepare'>,
  { plan, slas }: Pick<ActivePlan, 'plan' | 'slas'>,
): Promise<void> {
  try {
    await (await port.prepare(plan, slas)).swap()
  } catch (cause) {
    if (!(cause instanceof SecretsUnreadable)) throw cause
    count('revision_withheld')
    log.error({ err: cause, api: plan.api }, 'the stored secrets of an API cannot be decrypted; its calls get 503')
    await (await port.prepare(toWithheldPlan(plan), [])).swap()
  }
}
