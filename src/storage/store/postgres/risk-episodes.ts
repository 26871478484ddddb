/** Reads risk episodes in PostgreSQL, and erases names in those that have cleared. */

import type { Pool } from 'pg'
import { renameEpisodes } from '../episode-names.ts'
import type { NameStore } from '../name-store.ts'
import type { SavedEpisode } from '../risk-checkpoint.ts'
import type { EpisodeReader } from '../shared-risks.ts'
import { toText, withRegistryErrors } from './connection.ts'

interface EpisodeRow {
  readonly body: string
}

const RENAME_BATCH = 500

export function createEpisodeReader(pool: Pool): EpisodeReader {
  return {
    list: ({ tenant, state, after, limit }) =>
      withRegistryErrors(async () => {
        const { rows } = await pool.query<EpisodeRow>(LIST, [toText(tenant), state === 'open', toText(after), limit])
        return rows.map(toEpisode)
      }),
    get: (tenant, riskId) =>
      withRegistryErrors(async () => {
        const { rows } = await pool.query<EpisodeRow>(GET, [toText(tenant), toText(riskId)])
        return rows[0] === undefined ? null : toEpisode(rows[0])
      }),
  }
}

export function createEpisodeNames(pool: Pool): NameStore {
  return {
    replaceConsumerName: (tenant, consumer, name) =>
      withRegistryErrors(async () => {
        let replaced = 0
        for (let after = '', isMore = true; isMore;) {
          const { rows } = await pool.query<EpisodeRow>(NAMED, [
            toText(tenant),
            after,
            toText(JSON.stringify(consumer)),
            RENAME_BATCH,
          ])
          const episodes = rows.map(toEpisode)
          const renamed = renameEpisodes(episodes, consumer, name)
          await pool.query(RENAME, [
            renamed.map(({ riskId }) => riskId),
            renamed.map((episode) => JSON.stringify(episode)),
          ])
          replaced += renamed.length
          after = episodes.at(-1)?.riskId ?? ''
          isMore = episodes.length === RENAME_BATCH
        }
        return replaced
      }),
  }
}

function toEpisode({ body }: EpisodeRow): SavedEpisode {
  return JSON.parse(body) as SavedEpisode
}

const LIST = `SELECT body FROM risk_episode WHERE tenant = $1 AND is_open = $2 AND risk_id > $3 ORDER BY risk_id LIMIT $4`
const GET = 'SELECT body FROM risk_episode WHERE tenant = $1 AND risk_id = $2'
const NAMED = `SELECT body FROM risk_episode WHERE tenant = $1 AND NOT is_open AND risk_id > $2 AND strpos(body, $3) > 0
  ORDER BY risk_id LIMIT $4`
/** A cleared episode does not change otherwise. */
const RENAME = `UPDATE risk_episode AS e SET body = n.body FROM unnest($1::text[], $2::text[]) AS n (risk_id, body)
  WHERE e.risk_id = n.risk_id AND NOT e.is_open`
