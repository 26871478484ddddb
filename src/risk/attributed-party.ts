/** Whom a risk is laid to: the provider, a consumer, an agent (and whom it acts for), or nobody we know. Never an address. */

import type { Attribution } from '../domain/attribution.ts'
import type { AttributedTo } from '../domain/risk.ts'

/** Whoever presented nothing that verified. */
export const ANYBODY: AttributedTo = { kind: 'anonymous', id: 'anonymous', name: 'An unknown caller' }
/** Stands for parties beyond what is kept apart. */
export const OTHERS: AttributedTo = { kind: 'anonymous', id: 'others', name: 'Other parties' }

export function providerOf(tenant: string): AttributedTo {
  return { kind: 'provider', id: tenant, name: 'The provider' }
}

export function partyOf({ consumer, consumerName, agent, person }: Attribution): AttributedTo {
  if (agent !== '') {
    const name = agent === consumer ? consumerName : agent
    return { kind: 'agent', id: agent, name, ...(person !== '' && { onBehalfOf: person }) }
  }
  return consumer === '' ? ANYBODY : { kind: 'consumer', id: consumer, name: consumerName }
}
