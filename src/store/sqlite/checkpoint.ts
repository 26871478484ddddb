/** The pipeline's checkpoint in a SQLite file of its own: every method that changes something is one transaction on disk. */

import { DatabaseSync } from 'node:sqlite'
import { SEVERITIES, type RiskEvent } from '../../domain/risk.ts'
import type { Checkpoint, PendingFlush, SpoolPosition } from '../checkpoint.ts'
import type { LimitCheckpoint } from '../limit-checkpoint.ts'
import type { LevelMark, OutboxBatch, RiskCheckpoint, SavedEpisode } from '../risk-checkpoint.ts'
import type { RiskPosition, RiskPositionQuery } from '../risk-store.ts'
import { openCounterTable } from './counter-table.ts'
import { transact } from './transaction.ts'

const SCHEMA = `
  CREATE TABLE IF NOT EXISTS state (name TEXT PRIMARY KEY, value TEXT NOT NULL) STRICT;
  CREATE TABLE IF NOT EXISTS episode (
    risk_id TEXT PRIMARY KEY, tenant TEXT NOT NULL, state TEXT NOT NULL, last_seen_ms INTEGER NOT NULL, body TEXT NOT NULL
  ) STRICT;
  CREATE INDEX IF NOT EXISTS episode_by_state ON episode (state, tenant, risk_id);
  CREATE INDEX IF NOT EXISTS episode_by_age ON episode (state, last_seen_ms);
  CREATE TABLE IF NOT EXISTS outbox (id TEXT PRIMARY KEY, batch INTEGER, body TEXT NOT NULL) STRICT;
`
const BATCH_EVENTS_MAX = 5_000
/** Some 200 MB, for a store that stays away for long. */
const OUTBOX_MAX = 200_000

export interface SqliteCheckpoint extends Checkpoint, RiskCheckpoint, LimitCheckpoint {
  /** Distinguishes the insert tokens of this data folder from those of any other. */
  readonly instance: string
  close(): void
}

export interface SqliteCheckpointOptions {
  readonly path: string
  readonly newInstance: () => string
  readonly outboxMax?: number
}

export function openSqliteCheckpoint(options: SqliteCheckpointOptions): SqliteCheckpoint {
  const { path, newInstance, outboxMax = OUTBOX_MAX } = options
  const database = new DatabaseSync(path)
  database.exec('PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; PRAGMA busy_timeout = 5000')
  database.exec(SCHEMA)
  const counterTable = openCounterTable(database)
  const readState = database.prepare('SELECT value FROM state WHERE name = ?')
  const writeState = database.prepare(
    'INSERT INTO state (name, value) VALUES (?, ?) ON CONFLICT (name) DO UPDATE SET value = excluded.value',
  )
  const dropState = database.prepare('DELETE FROM state WHERE name = ?')
  const saveEpisode = database.prepare(
    `INSERT INTO episode (risk_id, tenant, state, last_seen_ms, body) VALUES (?, ?, ?, ?, ?)
     ON CONFLICT (risk_id) DO UPDATE SET state = excluded.state, last_seen_ms = excluded.last_seen_ms, body = excluded.body`,
  )
  const forget = database.prepare(`DELETE FROM episode WHERE state = 'cleared' AND last_seen_ms < ?`)
  const open = database.prepare(`SELECT body FROM episode WHERE state = 'open' ORDER BY risk_id`)
  const cleared = database.prepare(
    `SELECT body FROM episode WHERE state = 'cleared' AND tenant = ? AND risk_id > ? ORDER BY risk_id`,
  )
  const clearedOne = database.prepare(`SELECT body FROM episode WHERE state = 'cleared' AND tenant = ? AND risk_id = ?`)
  const post = database.prepare('INSERT INTO outbox (id, body) VALUES (?, ?)')
  const claim = database.prepare(
    `UPDATE outbox SET batch = ? WHERE id IN (SELECT id FROM outbox WHERE batch IS NULL ORDER BY id LIMIT ${BATCH_EVENTS_MAX})`,
  )
  const claimed = database.prepare('SELECT batch, body FROM outbox WHERE batch IS NOT NULL ORDER BY id')
  const dropBatch = database.prepare('DELETE FROM outbox WHERE batch = ?')
  const isWaiting = database.prepare('SELECT 1 FROM outbox LIMIT 1')
  const waiting = database.prepare(`SELECT body FROM outbox WHERE id > ? AND body ->> 'tenant' = ? ORDER BY id`)
  const countWaiting = database.prepare('SELECT count(*) AS events FROM outbox')
  // What is claimed stays: its batch must be the same each time it is sent.
  const dropOldest = database.prepare(
    'DELETE FROM outbox WHERE id IN (SELECT id FROM outbox WHERE batch IS NULL ORDER BY id LIMIT ?)',
  )

  function state<T>(name: string, fallback: T): T {
    const row = readState.get(name) as { value: string } | undefined
    return row === undefined ? fallback : (JSON.parse(row.value) as T)
  }

  const once = (work: () => void): void => transact(database, work)
  const outboxSize = (): number => (countWaiting.get() as { events: number }).events
  let inOutbox = outboxSize()
  const instance = state('instance', '') || newInstance()
  writeState.run('instance', JSON.stringify(instance))

  return {
    instance,
    position: () => state<SpoolPosition>('position', {}),
    pending: () => state<PendingFlush | null>('pending', null),
    begin(to) {
      const flush: PendingFlush = { number: state('flushes', 0) + 1, from: state<SpoolPosition>('position', {}), to }
      writeState.run('pending', JSON.stringify(flush))
      return flush
    },
    commit(flush) {
      once(() => {
        writeState.run('position', JSON.stringify(flush.to))
        writeState.run('flushes', JSON.stringify(flush.number))
        dropState.run('pending')
      })
    },
    limitPosition: () => state<SpoolPosition>('limit_position', {}),
    countersOf: counterTable.of,
    saveCounters(position, counters, nowMs) {
      once(() => {
        writeState.run('limit_position', JSON.stringify(position))
        counterTable.save(counters, nowMs)
      })
    },
    riskPosition: () => state<SpoolPosition>('risk_position', {}),
    openEpisodes: () => (open.all() as { body: string }[]).map(({ body }) => JSON.parse(body) as SavedEpisode),
    lastEventId: () => state('last_event', ''),
    levelMark: () => state<LevelMark | null>('level_mark', null),
    commitRisk(position, episodes, events, forgetBeforeMs, level = null) {
      const excess = Math.max(0, inOutbox + events.length - outboxMax)
      let dropped = 0
      once(() => {
        writeState.run('risk_position', JSON.stringify(position))
        if (level !== null) writeState.run('level_mark', JSON.stringify(level))
        const last = events.at(-1)
        if (last !== undefined) writeState.run('last_event', JSON.stringify(last.id))
        for (const episode of episodes) {
          const { riskId, tenant, state: is, event } = episode
          saveEpisode.run(riskId, tenant, is, event.lastSeenMs, JSON.stringify(episode))
        }
        for (const event of events) post.run(event.id, JSON.stringify(event))
        if (excess > 0) dropped = Number(dropOldest.run(excess).changes)
        forget.run(forgetBeforeMs)
      })
      inOutbox += events.length - dropped
      return dropped
    },
    clearedEpisode(tenant, riskId) {
      const row = clearedOne.get(tenant, riskId) as { body: string } | undefined
      return row === undefined ? null : (JSON.parse(row.body) as SavedEpisode).event
    },
    clearedEpisodes(query) {
      const found: RiskPosition[] = []
      for (const row of cleared.iterate(query.tenant, query.after ?? '') as Iterable<{ body: string }>) {
        const { event } = JSON.parse(row.body) as SavedEpisode
        if (matches(event, query)) found.push({ event, state: 'cleared' })
        if (found.length >= query.limit) break
      }
      return found
    },
    nextBatch(): OutboxBatch | null {
      let rows = claimed.all() as { batch: number; body: string }[]
      if (rows.length === 0 && isWaiting.get() !== undefined) {
        const number = state('batches', 0) + 1
        once(() => {
          writeState.run('batches', JSON.stringify(number))
          claim.run(number)
        })
        rows = claimed.all() as { batch: number; body: string }[]
      }
      const [first] = rows
      if (first === undefined) return null
      return { number: first.batch, events: rows.map(({ body }) => JSON.parse(body) as RiskEvent) }
    },
    sent({ number }) {
      dropBatch.run(number)
      inOutbox = outboxSize()
    },
    waiting: (tenant, afterId) =>
      (waiting.all(afterId, tenant) as { body: string }[]).map(({ body }) => JSON.parse(body) as RiskEvent),
    close: () => database.close(),
  }
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
