/**
 * The registry of several nodes, in PostgreSQL.
 *
 * Commands and reads share a small pool; the feed reads on a connection of its own and listens on another, so that neither waits for
 * a command. A commit is durable when it resolves, as far as `synchronous_commit` of the server is on.
 */

import { AsyncLocalStorage } from 'node:async_hooks'
import type pg from 'pg'
import type { Clock } from '../../../foundation/runtime/clock.ts'
import { toDocument, type StoredDocument } from '../document-row.ts'
import type { Commit, Document, ListQuery, Registry, SearchQuery } from '../registry.ts'
import type { LockFences } from '../lock-fences.ts'
import { createAuditReader } from './audit-reader.ts'
import { createChangeFeed, type ChangeFeed, type StoredChange } from './change-feed.ts'
import { openChangeListener, type ChangeListener } from './change-listener.ts'
import type { CommitSlots } from './commit-slots.ts'
import { toText, withRegistryErrors } from './connection.ts'
import { createDocumentList, createDocumentSearch } from './document-list.ts'
import { CHANGE_CHANNEL, createDocumentWriter, type CommitCondition } from './document-writer.ts'
import { shownAuthor } from './plan-commits.ts'
import { withClient, type Connections, type Gate } from './connections.ts'
import { createLockFences } from './lock-fences.ts'
import { redactBatch } from './redaction.ts'
import type { RunningRequests } from './running-request.ts'

export interface PostgresRegistryOptions {
  readonly connections: Connections
  /** For commands and reads; its owner ends it. */
  readonly pool: pg.Pool
  readonly clock: Clock
  readonly slots: CommitSlots
  readonly requests: RunningRequests
  /** Missing: it is open. */
  readonly gate?: Gate | undefined
  /** A connection failed; the feed continues when there is one again. */
  readonly onFailed: (cause: unknown) => void
  /** The database lacks changes that this process has seen: it was restored, or a standby without them took over. */
  readonly onRewound: () => void
  /** A change has a format that only later versions read: the feed has ended. */
  readonly onOutdated: () => void
  /** Format in which changes are written. */
  readonly format: () => number
  /** Calls on further channels of the connection that listens. */
  readonly channels: ReadonlyMap<string, () => void>
}

/** A notification that was missed delays a change by this. */
const POLL_EVERY_MS = 1_000

export interface PostgresRegistry {
  readonly registry: Registry
  readonly fences: LockFences
  /** Executes a commit if the condition holds; returns whether it does. */
  readonly commitIf: (commit: Commit, condition: CommitCondition) => Promise<boolean>
  /** Begins to listen. Rejects if there is no connection; then it can be repeated. */
  connect(): Promise<void>
  /** Delivers what is there, as if every channel had been notified. */
  wake(): void
}

export function createPostgresRegistry(options: PostgresRegistryOptions): PostgresRegistry {
  const { pool, clock, slots, requests, gate, format } = options
  const { feed, connect, wake, close } = createFeed(options)
  const fences = createLockFences({ pool, delivered: (position) => feed.delivered(position), gate })
  const write = createDocumentWriter(pool, clock, { requests, fences, slots, format })
  // A listener must not act on behalf of the request or the lock whose commit it receives.
  const outside = AsyncLocalStorage.snapshot()

  async function execute(commits: readonly Commit[], isFenced: boolean): Promise<readonly (Error | null)[]> {
    const { errors, position } = await write(commits, isFenced)
    if (position !== null) await feed.delivered(position)
    return errors
  }

  async function commitIf(commit: Commit, condition: CommitCondition): Promise<boolean> {
    const { errors, position } = await write([commit], true, condition)
    if (errors[0]) throw errors[0]
    if (position !== null) await feed.delivered(position)
    return position !== null
  }

  const registry: Registry = {
    ...createReads(pool),
    async commit(author, action, writes) {
      const [error] = await execute([{ author, action, writes }], true)
      if (error) throw error
    },
    // Commits of several tasks together; none of them holds the locks of the others.
    commitEach: (commits) => (commits.length === 0 ? Promise.resolve([]) : execute(commits, false)),
    async audit(author, action, { kind, id, tenant }) {
      const values = [kind, id, tenant].map(toText)
      const shown = [JSON.stringify(author), shownAuthor(author, tenant), toText(action)]
      await withRegistryErrors(() => pool.query(INSERT_NOTE, [...values, clock.nowMs(), ...shown]))
    },
    async redact(of, edit) {
      for (let after: number | null = 0; after !== null;) {
        const from: number = after
        after = await withRegistryErrors(() => withClient(pool, (client) => redactBatch(client, of, edit, from)))
      }
    },
    watch: (position, listener) => outside(() => feed.watch(position, (change) => outside(() => listener(change)))),
    close,
  }
  return { registry, fences, commitIf, connect, wake }
}

/** The feed, with two connections of its own. */
function createFeed({ connections, clock, onFailed, onRewound, onOutdated, channels }: PostgresRegistryOptions): {
  readonly feed: ChangeFeed
  connect(): Promise<void>
  wake(): void
  close(): Promise<void>
} {
  const { config } = connections
  const reader = connections.createPool(1)
  const feed = createChangeFeed({
    onFailed,
    onRewound,
    onOutdated,
    async readFrom(position, limit) {
      const { rows } = await reader.query<StoredChange>(CHANGES, [position, limit])
      return rows
    },
  })
  const poll = (): void => void feed.poll()
  const all = new Map([[CHANGE_CHANNEL, poll], ...channels])
  let listener: ChangeListener | null = null
  let stopPolling = (): void => {}
  return {
    feed,
    async connect() {
      if (listener !== null) return
      listener = await openChangeListener({ config, channels: all, clock, onFailed })
      stopPolling = clock.every(POLL_EVERY_MS, poll)
    },
    wake: () => all.forEach((notice) => notice()),
    async close() {
      stopPolling()
      await listener?.close()
      await feed.close()
    },
  }
}

function createReads(
  pool: pg.Pool,
): Pick<Registry, 'get' | 'getEach' | 'find' | 'list' | 'search' | 'history' | 'end'> {
  const list = createDocumentList(pool)
  const search = createDocumentSearch(pool)
  const readAudit = createAuditReader(pool)

  async function first<Body>(sql: string, values: readonly string[]): Promise<Document<Body> | null> {
    const { rows } = await withRegistryErrors(() => pool.query<StoredDocument>(sql, values.map(toText)))
    return rows[0] === undefined ? null : toDocument<Body>(rows[0])
  }

  async function all<Body>(read: () => Promise<readonly StoredDocument[]>): Promise<readonly Document<Body>[]> {
    return (await withRegistryErrors(read)).map((row) => toDocument<Body>(row))
  }

  return {
    get: <Body>(kind: string, id: string) => first<Body>(GET, [kind, id]),
    async getEach<Body>(kind: string, ids: readonly string[]) {
      const { rows } = await withRegistryErrors(() =>
        pool.query<StoredDocument>(GET_EACH, [toText(kind), ids.map(toText)]),
      )
      return new Map(rows.map((row) => [row.id, toDocument<Body>(row)]))
    },
    find: <Body>(kind: string, name: string, value: string) => first<Body>(FIND, [kind, name, value]),
    list: <Body>(kind: string, query: ListQuery) => all<Body>(() => list(kind, query)),
    search: <Body>(kind: string, query: SearchQuery) => all<Body>(() => search(kind, query)),
    history: (query) => withRegistryErrors(() => readAudit(query)),
    async end() {
      const { rows } = await withRegistryErrors(() => pool.query<{ position: number }>(END))
      return rows[0]?.position ?? 0
    },
  }
}

const GET = 'SELECT * FROM document WHERE kind = $1 AND id = $2'
const GET_EACH = 'SELECT * FROM document WHERE kind = $1 AND id = ANY ($2)'
const END = 'SELECT position FROM change_end'
const CHANGES = 'SELECT * FROM change WHERE position >= $1 ORDER BY position LIMIT $2'
const FIND = `SELECT d.* FROM document_key k JOIN document d ON d.kind = k.kind AND d.id = k.id
  WHERE k.kind = $1 AND k.name = $2 AND k.value = $3 ORDER BY k.tenant, k.id LIMIT 1`
const INSERT_NOTE =
  'INSERT INTO note (kind, id, tenant, at_ms, author, shown_author, action) VALUES ($1, $2, $3, $4, $5, $6, $7)'
