/** Risks that several nodes share, in PostgreSQL. */

import type { Pool } from 'pg'
import type { NameStore } from '../name-store.ts'
import type { SharedRisks } from '../shared-risks.ts'
import { createEpisodeNames, createEpisodeReader } from './risk-episodes.ts'
import { createRiskEventFeed, createRiskOutbox } from './risk-events.ts'
import { createPartitionStore, EVENT_CHANNEL } from './risk-partitions.ts'
import { createSignalStore, SIGNAL_CHANNEL } from './risk-signals.ts'

export interface PostgresRisks extends SharedRisks, NameStore {}

export interface PostgresRisksOptions {
  readonly pool: Pool
  readonly onUnreadable: () => void
  /** Format in which signals are written. */
  readonly format: () => number
}

export interface OpenPostgresRisks {
  readonly risks: PostgresRisks
  /** Channels to listen to. */
  readonly channels: ReadonlyMap<string, () => void>
}

type Hints = Parameters<SharedRisks['onHint']>[0]

export function createPostgresRisks({ pool, onUnreadable, format }: PostgresRisksOptions): OpenPostgresRisks {
  const listeners = new Set<Hints>()
  const risks: PostgresRisks = {
    ...createSignalStore(pool, format),
    ...createPartitionStore({ pool, onUnreadable }),
    ...createEpisodeNames(pool),
    feed: createRiskEventFeed(pool),
    outbox: createRiskOutbox(pool),
    episodes: createEpisodeReader(pool),
    onHint(hints) {
      listeners.add(hints)
      return () => listeners.delete(hints)
    },
  }
  const channels = new Map([
    [SIGNAL_CHANNEL, () => listeners.forEach(({ onSignals }) => onSignals())],
    [EVENT_CHANNEL, () => listeners.forEach(({ onEvents }) => onEvents())],
  ])
  return { risks, channels }
}
