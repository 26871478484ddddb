/** A change of the members of a subscription that its terms do not depend on. */

import { invalidAt } from '../command/commands.ts'
import type { Labelled } from '../../storage/store/labels.ts'
import type { SubscriptionBody } from './document/subscription-document.ts'

export interface SubscriptionChange extends Labelled {
  /** Null removes it. */
  readonly contact?: string | null
  /** Null: no expiry. */
  readonly expiresAt?: string | null
  readonly refreshTokens?: boolean
}

/** Returns the changed body; omitted members stay. Throws a 400 problem for a member that the subscription cannot have. */
export function changedBody(body: SubscriptionBody, change: SubscriptionChange): SubscriptionBody {
  const { contact: contactBefore, expiresAtMs: expiryBefore, ...rest } = body
  const { labels, contact = contactBefore, expiresAt, refreshTokens } = change
  if (refreshTokens === true && (body.redirectUris ?? []).length === 0) {
    throw invalidAt(
      '/refreshTokens',
      'Refresh tokens require clients that people sign in with; there is no redirect URI.',
    )
  }
  const expiresAtMs = expiresAt === undefined ? expiryBefore : expiresAt === null ? undefined : Date.parse(expiresAt)
  return {
    ...rest,
    ...(labels !== undefined && { labels }),
    ...(refreshTokens !== undefined && { refreshTokens }),
    ...(typeof contact === 'string' && { contact }),
    ...(expiresAtMs !== undefined && { expiresAtMs }),
  }
}

/** Whether a change takes something from the client, now or at a time that it sets. */
export function isLess(next: SubscriptionBody, { actor, scopes, expiresAtMs }: SubscriptionBody): boolean {
  const isEnding = next.actor.value !== actor.value || next.expiresAtMs !== expiresAtMs
  return isEnding || scopes.some((scope) => !next.scopes.includes(scope))
}
