/** The pipeline's checkpoint in a SQLite file of its own: every method that changes something is one transaction on disk. */

import { SEVERITIES, type RiskEvent } from '../../domain/risk.ts'
import type { Checkpoint, CheckpointClaims, CheckpointRepair, PendingFlush, SpoolPosition } from '../checkpoint.ts'
import type { LimitCheckpoint } from '../limit-checkpoint.ts'
import type { LevelMark, OutboxBatch, RiskCheckpoint, SavedEpisode } from '../risk-checkpoint.ts'
import type { RiskPosition, RiskPositionQuery } from '../risk-store.ts'
import { openCheckpointFile } from './checkpoint-file.ts'
import { openCounterTable } from './counter-table.ts'
import { checksumOf, verifyRow } from './row-checksum.ts'

const BATCH_EVENTS_MAX = 5_000
/** Some 200 MB, for a store that stays away for long. */
const OUTBOX_MAX = 200_000

export interface SqliteCheckpoint extends Checkpoint, RiskCheckpoint, LimitCheckpoint {
  /** Distinguishes the insert tokens of this data folder from those of any other. */
  readonly instance: string
  claims(): CheckpointClaims
  repair(repair: CheckpointRepair): void
  close(): void
}

export interface SqliteCheckpointOptions {
  readonly path: string
  readonly newInstance: () => string
  readonly outboxMax?: number
}

export function openSqliteCheckpoint(options: SqliteCheckpointOptions): SqliteCheckpoint {
  const { path, newInstance, outboxMax = OUTBOX_MAX } = options
  const file = openCheckpointFile(path)
  const { database, state, setState, once } = file
  const counterTable = openCounterTable(database)
  const saveEpisode = database.prepare(
    `INSERT INTO episode (risk_id, tenant, state, last_seen_ms, body, checksum) VALUES (?, ?, ?, ?, ?, ?)
     ON CONFLICT (risk_id) DO UPDATE SET tenant = excluded.tenant, state = excluded.state,
       last_seen_ms = excluded.last_seen_ms, body = excluded.body, checksum = excluded.checksum`,
  )
  const forget = database.prepare(`DELETE FROM episode WHERE state = 'cleared' AND last_seen_ms < ?`)
  const open = database.prepare(`SELECT * FROM episode WHERE state = 'open' ORDER BY risk_id`)
  const cleared = database.prepare(
    `SELECT * FROM episode WHERE state = 'cleared' AND tenant = ? AND risk_id > ? ORDER BY risk_id`,
  )
  const clearedOne = database.prepare(`SELECT * FROM episode WHERE state = 'cleared' AND tenant = ? AND risk_id = ?`)
  const post = database.prepare('INSERT INTO outbox (id, body, checksum) VALUES (?, ?, ?)')
  const claim = database.prepare(
    `UPDATE outbox SET batch = ? WHERE id IN (SELECT id FROM outbox WHERE batch IS NULL ORDER BY id LIMIT ${BATCH_EVENTS_MAX})`,
  )
  const claimed = database.prepare('SELECT * FROM outbox WHERE batch IS NOT NULL ORDER BY id')
  const dropBatch = database.prepare('DELETE FROM outbox WHERE batch = ?')
  const isWaiting = database.prepare('SELECT 1 FROM outbox LIMIT 1')
  const waiting = database.prepare(`SELECT * FROM outbox WHERE id > ? AND body ->> 'tenant' = ? ORDER BY id`)
  const countWaiting = database.prepare('SELECT count(*) AS events FROM outbox')
  // A claimed batch is not dropped: it must be the same each time it is sent.
  const dropOldest = database.prepare(
    'DELETE FROM outbox WHERE id IN (SELECT id FROM outbox WHERE batch IS NULL ORDER BY id LIMIT ?)',
  )

  const outboxSize = (): number => (countWaiting.get() as { events: number }).events
  let inOutbox = outboxSize()
  let instance = state('instance', '')
  if (instance === '') {
    instance = newInstance()
    once(() => setState('instance', instance))
  }
  // Batches up to this number were claimed by a version whose tokens name the number alone.
  if (state('numbered_batches', -1) < 0) once(() => setState('numbered_batches', state('batches', 0)))

  return {
    get instance() {
      return instance
    },
    position: () => state<SpoolPosition>('position', {}),
    pending: () => state<PendingFlush | null>('pending', null),
    begin(to) {
      const flush: PendingFlush = {
        number: state('flushes', 0) + 1,
        from: state<SpoolPosition>('position', {}),
        to,
        tokens: 'range',
      }
      once(() => setState('pending', flush))
      return flush
    },
    commit(flush, registryEnd) {
      once(() => {
        setState('position', flush.to)
        setState('flushes', flush.number)
        if (flush.tokens === 'range') setState('noted', true)
        if (registryEnd !== undefined) setState('registry_end', registryEnd)
        file.dropState('pending')
      })
    },
    claims: () => ({
      instance,
      flushes: state('flushes', 0),
      position: state<SpoolPosition>('position', {}),
      pending: state<PendingFlush | null>('pending', null),
      isNoted: state('noted', false),
      registryEnd: state('registry_end', 0),
      wentBackBy: file.wentBackBy,
    }),
    repair({ levelPosition, pending, ...to }) {
      const level = state<LevelMark | null>('level_mark', null)
      once(() => {
        setState('instance', to.instance)
        setState('flushes', to.flushes)
        setState('position', to.position)
        setState('noted', to.isNoted)
        setState('registry_end', to.registryEnd)
        setState('risk_position', to.riskPosition)
        setState('limit_position', to.limitPosition)
        if (pending === null) file.dropState('pending')
        else setState('pending', pending)
        if (levelPosition === null || level === null) file.dropState('level_mark')
        else setState('level_mark', { ...level, position: levelPosition })
      })
      instance = to.instance
    },
    limitPosition: () => state<SpoolPosition>('limit_position', {}),
    countersOf: counterTable.of,
    saveCounters(position, counters, nowMs) {
      once(() => {
        setState('limit_position', position)
        counterTable.save(counters, nowMs)
      })
    },
    riskPosition: () => state<SpoolPosition>('risk_position', {}),
    openEpisodes: () => (open.all() as unknown as EpisodeRow[]).map(toEpisode),
    lastEventId: () => state('last_event', ''),
    levelMark: () => state<LevelMark | null>('level_mark', null),
    commitRisk(position, episodes, events, forgetBeforeMs, level = null) {
      const excess = Math.max(0, inOutbox + events.length - outboxMax)
      let dropped = 0
      once(() => {
        setState('risk_position', position)
        if (level !== null) setState('level_mark', level)
        const last = events.at(-1)
        if (last !== undefined) setState('last_event', last.id)
        for (const episode of episodes) {
          const { riskId, tenant, state: is, event } = episode
          const body = JSON.stringify(episode)
          const checksum = checksumOf([riskId, tenant, is, event.lastSeenMs], body)
          saveEpisode.run(riskId, tenant, is, event.lastSeenMs, body, checksum)
        }
        for (const event of events) {
          const body = JSON.stringify(event)
          post.run(event.id, body, checksumOf([event.id], body))
        }
        if (excess > 0) dropped = Number(dropOldest.run(excess).changes)
        forget.run(forgetBeforeMs)
      })
      inOutbox += events.length - dropped
      return dropped
    },
    clearedEpisode(tenant, riskId) {
      const row = clearedOne.get(tenant, riskId) as EpisodeRow | undefined
      return row === undefined ? null : toEpisode(row).event
    },
    clearedEpisodes(query) {
      const found: RiskPosition[] = []
      for (const row of cleared.iterate(query.tenant, query.after ?? '') as unknown as Iterable<EpisodeRow>) {
        const { event } = toEpisode(row)
        if (matches(event, query)) found.push({ event, state: 'cleared' })
        if (found.length >= query.limit) break
      }
      return found
    },
    nextBatch(): OutboxBatch | null {
      let rows = claimed.all() as unknown as OutboxRow[]
      if (rows.length === 0 && isWaiting.get() !== undefined) {
        const number = state('batches', 0) + 1
        once(() => {
          setState('batches', number)
          claim.run(number)
        })
        rows = claimed.all() as unknown as OutboxRow[]
      }
      const number = rows[0]?.batch ?? null
      if (number === null) return null
      return { number, events: rows.map(toEvent), isNumbered: number <= state('numbered_batches', 0) }
    },
    sent({ number }) {
      once(() => dropBatch.run(number))
      inOutbox = outboxSize()
    },
    waiting: (tenant, afterId) => (waiting.all(afterId, tenant) as unknown as OutboxRow[]).map(toEvent),
    close: file.close,
  }
}

interface EpisodeRow {
  readonly risk_id: string
  readonly tenant: string
  readonly state: string
  readonly last_seen_ms: number
  readonly body: string
  readonly checksum: number | null
}

interface OutboxRow {
  readonly id: string
  readonly batch: number | null
  readonly body: string
  readonly checksum: number | null
}

function toEpisode(row: EpisodeRow): SavedEpisode {
  const { risk_id, tenant, state, last_seen_ms, body, checksum } = row
  verifyRow(`episode ${risk_id}`, checksum, [risk_id, tenant, state, last_seen_ms], body)
  return JSON.parse(body) as SavedEpisode
}

function toEvent({ id, body, checksum }: OutboxRow): RiskEvent {
  verifyRow(`event ${id}`, checksum, [id], body)
  return JSON.parse(body) as RiskEvent
}

/** Whether an episode's last word passes the filters of a query. */
export function matches(event: RiskEvent, query: RiskPositionQuery): boolean {
  const { category, severity, api, type, attributedTo } = query
  return (
    (category === undefined || event.category === category) &&
    (severity === undefined || SEVERITIES.indexOf(event.severity) >= SEVERITIES.indexOf(severity)) &&
    (api === undefined || event.api === api) &&
    (type === undefined || event.type === type) &&
    (attributedTo === undefined || event.attributedTo.id === attributedTo)
  )
}
