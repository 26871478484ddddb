/** Finds subscriptions that have not ended, which keep what they refer to from being removed. */

import { Problem } from '../../../foundation/domain/problem.ts'
import type { Registry } from '../../../storage/store/registry.ts'
import { LIVE_STATES, SUBSCRIPTION_KIND } from './subscription-document.ts'

/** Upper bound of the ids that a problem lists. */
const NAMED_MAX = 500

/** Name of the lock under which subscriptions of a tenant are created and capacity is checked. */
export const subscriptionsLock = (tenant: string): string => `capacity ${tenant}`

/** Throws `Problem('subscriptions_active')` with the subscriptions that have one of `keys` and have not ended. */
export async function refuseSubscribed(
  registry: Pick<Registry, 'list'>,
  tenant: string,
  keys: readonly Readonly<Record<string, string>>[],
  detail: string,
): Promise<void> {
  const subscriptions: string[] = []
  for (const key of keys) {
    for (const state of LIVE_STATES) {
      const limit = NAMED_MAX - subscriptions.length
      if (limit === 0) break
      const where = { ...key, state }
      const documents = await registry.list(SUBSCRIPTION_KIND, { tenant, where, limit })
      subscriptions.push(...documents.map(({ id }) => id))
    }
  }
  if (subscriptions.length === 0) return
  throw new Problem('subscriptions_active', detail, { extensions: { subscriptions } })
}
