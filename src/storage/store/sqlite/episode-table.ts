/** Risk episodes in the checkpoint's file (`checkpoint-file.ts`): one row per risk. */

import type { DatabaseSync } from 'node:sqlite'
import { consumerOf, SEVERITIES, type RiskEvent } from '../../../foundation/domain/risk.ts'
import { renameEpisodes } from '../episode-names.ts'
import type { SavedEpisode } from '../risk-checkpoint.ts'
import type { RiskPosition, RiskPositionQuery } from '../risk-store.ts'
import { checksumOf, verifyRow } from './row-checksum.ts'

interface EpisodeRow {
  readonly risk_id: string
  readonly tenant: string
  readonly state: string
  readonly last_seen_ms: number
  readonly body: string
  readonly checksum: number | null
}

export interface EpisodeTable {
  open(): readonly SavedEpisode[]
  /** Returns a cleared episode; null if the tenant has none with this id. */
  clearedOne(tenant: string, riskId: string): RiskEvent | null
  cleared(query: RiskPositionQuery): readonly RiskPosition[]
  /** Saves episodes and deletes those that cleared before `deleteBeforeMs`. Call it within a transaction. */
  save(episodes: readonly SavedEpisode[], deleteBeforeMs: number): void
  /** Replaces the name of a consumer in cleared episodes. Returns their number. Call it within a transaction. */
  rename(tenant: string, consumer: string, name: string): number
}

export function openEpisodeTable(database: DatabaseSync): EpisodeTable {
  const upsert = database.prepare(
    `INSERT INTO episode (risk_id, tenant, state, last_seen_ms, body, checksum) VALUES (?, ?, ?, ?, ?, ?)
     ON CONFLICT (risk_id) DO UPDATE SET tenant = excluded.tenant, state = excluded.state,
       last_seen_ms = excluded.last_seen_ms, body = excluded.body, checksum = excluded.checksum`,
  )
  const deleteOld = database.prepare(`DELETE FROM episode WHERE state = 'cleared' AND last_seen_ms < ?`)
  const open = database.prepare(`SELECT * FROM episode WHERE state = 'open' ORDER BY risk_id`)
  const cleared = database.prepare(
    `SELECT * FROM episode WHERE state = 'cleared' AND tenant = ? AND risk_id > ? ORDER BY risk_id`,
  )
  const clearedOne = database.prepare(`SELECT * FROM episode WHERE state = 'cleared' AND tenant = ? AND risk_id = ?`)
  const clearedOf = database.prepare(
    `SELECT * FROM episode WHERE state = 'cleared' AND tenant = ? AND instr(body, ?) > 0 ORDER BY risk_id`,
  )

  function write(episode: SavedEpisode): void {
    const { riskId, tenant, state, event } = episode
    const body = JSON.stringify(episode)
    const checksum = checksumOf([riskId, tenant, state, event.lastSeenMs], body)
    upsert.run(riskId, tenant, state, event.lastSeenMs, body, checksum)
  }

  return {
    open: () => (open.all() as unknown as EpisodeRow[]).map(toEpisode),
    clearedOne(tenant, riskId) {
      const row = clearedOne.get(tenant, riskId) as EpisodeRow | undefined
      return row === undefined ? null : toEpisode(row).event
    },
    cleared(query) {
      const found: RiskPosition[] = []
      for (const row of cleared.iterate(query.tenant, query.after ?? '') as unknown as Iterable<EpisodeRow>) {
        const { event } = toEpisode(row)
        if (matches(event, query)) found.push({ event, state: 'cleared' })
        if (found.length >= query.limit) break
      }
      return found
    },
    save(episodes, deleteBeforeMs) {
      for (const episode of episodes) write(episode)
      deleteOld.run(deleteBeforeMs)
    },
    rename(tenant, consumer, name) {
      const rows = clearedOf.all(tenant, JSON.stringify(consumer)) as unknown as EpisodeRow[]
      const named = renameEpisodes(rows.map(toEpisode), consumer, name)
      for (const episode of named) write(episode)
      return named.length
    },
  }
}

/** Whether the latest event of an episode passes the filters of a query. */
export function matches(event: RiskEvent, query: RiskPositionQuery): boolean {
  const { category, severity, api, type, attributedTo, consumer, selects } = query
  return (
    (category === undefined || event.category === category) &&
    (severity === undefined || SEVERITIES.indexOf(event.severity) >= SEVERITIES.indexOf(severity)) &&
    (api === undefined || event.api === api) &&
    (type === undefined || event.type === type) &&
    (attributedTo === undefined || event.attributedTo.id === attributedTo) &&
    (consumer === undefined || consumerOf(event.attributedTo) === consumer) &&
    (selects === undefined || selects(event))
  )
}

function toEpisode(row: EpisodeRow): SavedEpisode {
  const { risk_id, tenant, state, last_seen_ms, body, checksum } = row
  verifyRow(`episode ${risk_id}`, checksum, [risk_id, tenant, state, last_seen_ms], body)
  return JSON.parse(body) as SavedEpisode
}
