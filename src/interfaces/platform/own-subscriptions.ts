/** The rights of a caller whose scopes for subscriptions and credentials have the own width. */

import { REVEAL_SCOPE, type CredentialReader } from '../../control/access/credentials.ts'
import type { HeldScopes } from '../../control/access/held-scopes.ts'
import { invalidAt } from '../../control/command/commands.ts'
import type { ConsumerView } from '../../control/subscriptions/consumer-view.ts'
import type { Call } from './operation.ts'

interface OwnRequest extends Pick<Call, 'author' | 'owner'> {
  readonly body: { readonly consumer: string; readonly api?: string; readonly product?: string }
}

/** `held`: the scopes that the caller holds for the consumer of the subscription. */
export function toReader(
  { caller: { scopes }, owner }: Pick<Call, 'caller' | 'owner'>,
  held: HeldScopes,
): CredentialReader {
  return { held, isRevealed: owner !== null || scopes.has(REVEAL_SCOPE) }
}

/** Refuses a consumer's request for another consumer, or for what it does not see, like one for what does not exist. */
export async function checkOwnRequest(
  view: Pick<ConsumerView, 'isVisible'>,
  { author: { tenant }, owner, body }: OwnRequest,
): Promise<void> {
  if (owner === null) return
  const { consumer, api, product } = body
  if (consumer !== owner) throw invalidAt('/consumer', 'The consumer does not exist.')
  if ((api === undefined) === (product === undefined)) return
  if (await view.isVisible(tenant, owner, body)) return
  throw api === undefined
    ? invalidAt('/product', 'The product does not exist.')
    : invalidAt('/api', 'The API does not exist.')
}
