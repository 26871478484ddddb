/** Signals, episodes and events of risks for the contract of their store. */

import type { RiskEvent } from '../../../src/foundation/domain/risk.ts'
import type { SavedEpisode } from '../../../src/storage/store/risk-checkpoint.ts'
import type {
  ClaimedPartition,
  PartitionChanges,
  RiskSignal,
  SharedRisks,
} from '../../../src/storage/store/shared-risks.ts'
import { riskEvent } from '../../fixtures/risk-event.ts'
import { openTestPostgres } from '../../fixtures/test-postgres.ts'

export const NOTHING: PartitionChanges = { episodes: [], events: [], fromMs: 0 }

export function signal(fields: Partial<RiskSignal> = {}): RiskSignal {
  const { tenant, type, api, attributedTo, operation, evidence } = riskEvent()
  const times = { firstMs: 1_000, lastMs: 2_000, seconds: [[1, 12, 0]] as const }
  return { tenant, type, api, attributedTo, operation, evidence, ...times, ...fields }
}

export function episode(fields: Partial<SavedEpisode> & { readonly event?: RiskEvent } = {}): SavedEpisode {
  const event = fields.event ?? riskEvent()
  return { riskId: event.riskId, tenant: event.tenant, state: 'open', event, resume: { phase: 'opened' }, ...fields }
}

/** Sends one batch from a new source. */
export async function send(risks: SharedRisks, source: string, signals: readonly RiskSignal[]): Promise<boolean> {
  const { sequence } = await risks.openSource(source, {})
  return risks.send({ source, expected: sequence, position: { a: { segment: 1, offset: 5 } }, signals })
}

/** Advances every partition that has work for `holder`; returns the signals. */
export async function advanceAll(
  risks: SharedRisks,
  holder: string,
  change: (claimed: ClaimedPartition) => PartitionChanges = () => NOTHING,
): Promise<readonly RiskSignal[]> {
  const taken: RiskSignal[] = []
  const advance = async (claimed: ClaimedPartition): Promise<PartitionChanges> => {
    const changes = change(claimed)
    taken.push(...claimed.signals)
    return changes
  }
  while ((await risks.advance(holder, advance)) !== null);
  return taken
}

/** The risks of two nodes. */
export async function openTwo(url: string): Promise<{ url: string; one: SharedRisks; other: SharedRisks }> {
  const [{ risks: one }, { risks: other }] = [await openTestPostgres(url), await openTestPostgres(url)]
  return { url, one, other }
}

/** Commits events in one transaction. */
export async function addEvents(risks: SharedRisks, events: readonly RiskEvent[], fromMs = 0): Promise<void> {
  await send(risks, `of ${events[0]!.riskId}`, [signal({ tenant: events[0]!.tenant })])
  await advanceAll(risks, 'n', ({ signals }) => (signals.length === 0 ? NOTHING : { episodes: [], events, fromMs }))
}
