/**
 * The party that a risk is attributed to: the provider, a consumer, an agent (with the person it acts for), anonymous, or many
 * parties together. It never contains a network address.
 */

import type { Attribution } from '../../foundation/domain/attribution.ts'
import type { AttributedTo } from '../../foundation/domain/risk.ts'

/** Every caller without a verified credential. */
const ANONYMOUS_CALLERS: AttributedTo = { kind: 'anonymous', id: 'anonymous', name: 'An unknown caller' }
/** Every party above the bound of open episodes. */
export const OTHERS: AttributedTo = { kind: 'others', id: 'others', name: 'Other parties' }

export function providerOf(tenant: string): AttributedTo {
  return { kind: 'provider', id: tenant, name: 'The provider' }
}

export function attributedPartyOf({ consumer, consumerName, agent, person }: Attribution): AttributedTo {
  if (agent !== '') {
    const onBehalfOf = person === '' ? {} : { onBehalfOf: person }
    if (agent === consumer) return { kind: 'agent', id: agent, name: consumerName, ...onBehalfOf }
    return { kind: 'agent', id: agent, name: agent, ...(consumer !== '' && { consumer }), ...onBehalfOf }
  }
  return consumer === '' ? ANONYMOUS_CALLERS : { kind: 'consumer', id: consumer, name: consumerName }
}
