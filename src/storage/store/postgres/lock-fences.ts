/**
 * Fences of locks in PostgreSQL: the row of a key names the last task that committed under it.
 *
 * A task reads the rows first. Its commits replace them, in the same transaction, if they are still the same. The keys follow the task
 * through all its asynchronous calls; a task within a task holds the keys of both.
 */

import { AsyncLocalStorage } from 'node:async_hooks'
import { randomUUID } from 'node:crypto'
import type { ClientBase, Pool } from 'pg'
import { LockLost, lockLostIn, type LockFences } from '../lock-fences.ts'
import { toText, withRegistryErrors } from './connection.ts'
import type { Gate } from './connections.ts'

export interface CommitFences extends LockFences {
  /** Checks and renews the fences of the current task within a transaction of commits. Returns why it must not commit. */
  check(client: Pick<ClientBase, 'query'>): Promise<LockLost | null>
  /** The transaction after `check` was executed. */
  committed(): void
}

export interface LockFencesOptions {
  readonly pool: Pick<Pool, 'query'>
  /** Resolves when the watchers of this process have the changes up to a position. */
  readonly delivered: (position: number) => Promise<void>
  /** Missing: it is open. */
  readonly gate?: Gate | undefined
}

interface Task {
  /** Shared with the task around it. */
  readonly id: string
  readonly around: Task | null
  /** The last task that had committed under each key when this one began; null: none. */
  readonly before: ReadonlyMap<string, string | null>
  isRunning: boolean
  hasCommitted: boolean
  /** It began before the node had joined the others: it holds nothing, and runs again before it may commit. */
  readonly isApart: boolean
}

const ATTEMPTS_MAX = 10
/** Number of old rows that each check may delete. */
const DELETED_PER_COMMIT = 4

export function createLockFences({ pool, delivered, gate }: LockFencesOptions): CommitFences {
  const current = new AsyncLocalStorage<Task>()

  async function begin(keys: readonly string[]): Promise<Task> {
    if (gate?.isOpen === false) return beginApart(keys, current.getStore() ?? null)
    const { rows } = await withRegistryErrors(() =>
      pool.query<{ end: number; locks: Readonly<Record<string, string>> | null }>(READ, [keys]),
    )
    const { end = 0, locks = null } = rows[0] ?? {}
    await delivered(end)
    const outer = current.getStore()
    const around = outer?.isRunning === true ? outer : null
    const before = new Map(keys.map((key) => [key, locks?.[key] ?? null]))
    return { id: around?.id ?? randomUUID(), around, before, isRunning: true, hasCommitted: false, isApart: false }
  }

  return {
    async runFenced(keys, work) {
      const names = [...new Set(keys.map(toText))]
      for (let attempt = 1; ; attempt++) {
        const task = await begin(names)
        try {
          return await current.run(task, work)
        } catch (cause) {
          // Keys of the task around it are read again only if that one is repeated.
          const lost = lockLostIn(cause)
          const isOwn = lost !== null && task.before.has(lost.key) && !keysOf(task.around).has(lost.key)
          if (!isOwn || task.hasCommitted || attempt === ATTEMPTS_MAX) throw cause
        } finally {
          task.isRunning = false
        }
      }
    },
    async check(client) {
      const task = current.getStore() ?? null
      const before = keysOf(task)
      if (task === null || before.size === 0) return null
      const apart = apartIn(task)
      if (apart !== null) return new LockLost(apart)
      await client.query(DELETE_OLD, [DELETED_PER_COMMIT])
      const keys = [...before.keys()]
      const { rows } = await client.query<{ key: string }>(RENEW, [keys, [...before.values()], task.id])
      const renewed = new Set(rows.map(({ key }) => key))
      const lost = keys.find((key) => !renewed.has(key))
      return lost === undefined ? null : new LockLost(lost)
    },
    committed() {
      for (let task = current.getStore() ?? null; task !== null; task = task.around) task.hasCommitted = true
    },
  }
}

function beginApart(keys: readonly string[], around: Task | null): Task {
  const before = new Map(keys.map((key) => [key, null]))
  return { id: randomUUID(), around, before, isRunning: true, hasCommitted: false, isApart: true }
}

/** Returns a key of a task that began apart, or of one around it. */
function apartIn(task: Task | null): string | null {
  for (let each = task; each !== null; each = each.around) {
    const [key] = each.before.keys()
    if (each.isApart && key !== undefined) return key
  }
  return null
}

/** Returns the keys of a task and of those around it that run; of a key that several hold, the oldest reading counts. */
function keysOf(task: Task | null): ReadonlyMap<string, string | null> {
  if (task === null) return new Map()
  return new Map([...(task.isRunning ? task.before : []), ...keysOf(task.around)])
}

const READ = `SELECT (SELECT position FROM change_end) AS end,
  (SELECT jsonb_object_agg(key, last_task) FROM lock_fence WHERE key = ANY ($1)) AS locks`
const RENEW = `INSERT INTO lock_fence AS f (key, last_task, task_before, renewed_at)
  SELECT key, $3, before, now() FROM unnest($1::text[], $2::uuid[]) AS k (key, before)
  ON CONFLICT (key) DO UPDATE SET last_task = $3, task_before = excluded.task_before, renewed_at = now()
  WHERE f.last_task = excluded.task_before OR f.last_task = $3
  RETURNING key`
/** No task runs for a day. */
const DELETE_OLD = `DELETE FROM lock_fence WHERE key IN (
    SELECT key FROM lock_fence WHERE renewed_at < now() - interval '1 day' ORDER BY renewed_at LIMIT $1
  )`
