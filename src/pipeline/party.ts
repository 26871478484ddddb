/** Whom a risk is laid to: a consumer, an agent (and whom it acts for), or nobody we know. Never an address. */

import type { Attribution } from '../domain/attribution.ts'
import type { AttributedTo, RiskType } from '../domain/risk.ts'

/** Whoever presented nothing that verified. */
export const ANYBODY: AttributedTo = { kind: 'anonymous', id: 'anonymous', name: 'An unknown caller' }
/** Stands for parties beyond what is kept apart. */
export const OTHERS: AttributedTo = { kind: 'anonymous', id: 'others', name: 'Other parties' }

/** Risks that are the provider's, whoever else may be near. */
const OF_PROVIDER: ReadonlySet<RiskType> = new Set<RiskType>(['RetirementBlocked'])

export function partyOf({ tenant, consumer, consumerName, agent, person }: Attribution, type: RiskType): AttributedTo {
  if (OF_PROVIDER.has(type)) return { kind: 'provider', id: tenant, name: 'The provider' }
  if (agent !== '') {
    const name = agent === consumer ? consumerName : agent
    return { kind: 'agent', id: agent, name, ...(person !== '' && { onBehalfOf: person }) }
  }
  return consumer === '' ? ANYBODY : { kind: 'consumer', id: consumer, name: consumerName }
}
