/** A change of the members of a subscription that its terms do not depend on. */

import type { Labelled } from '../store/labels.ts'
import type { SubscriptionBody } from './document/subscription-document.ts'

export interface SubscriptionChange extends Labelled {
  /** Null removes it. */
  readonly contact?: string | null
  /** Null: no expiry. */
  readonly expiresAt?: string | null
}

/** Returns the changed body; omitted members stay. */
export function changedBody(body: SubscriptionBody, change: SubscriptionChange): SubscriptionBody {
  const { contact: contactBefore, expiresAtMs: expiryBefore, ...rest } = body
  const { labels, contact = contactBefore, expiresAt } = change
  const expiresAtMs = expiresAt === undefined ? expiryBefore : expiresAt === null ? undefined : Date.parse(expiresAt)
  return {
    ...rest,
    ...(labels !== undefined && { labels }),
    ...(typeof contact === 'string' && { contact }),
    ...(expiresAtMs !== undefined && { expiresAtMs }),
  }
}
