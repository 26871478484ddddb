/**
 * Executes commits in one transaction: documents, their keys, the change feed and the audit log together.
 *
 * A transaction takes the lock of commits in a statement of its own before it reads; in one statement it would read a snapshot from
 * before the lock. So commits have one total order, and the positions of the feed are in that order. If the connection is lost during
 * the last statement, the transaction is looked up by its id, under the lock: it has ended then.
 */

import { randomUUID } from 'node:crypto'
import type { ClientBase, Pool, PoolClient } from 'pg'
import type { Clock } from '../../../foundation/runtime/clock.ts'
import type { StoredDocument } from '../document-row.ts'
import type { Commit } from '../registry.ts'
import type { CommitSlots } from './commit-slots.ts'
import { toRegistryError, RegistryUnreachable } from './connection.ts'
import { withClient } from './connections.ts'
import { COMMIT_LOCK } from './lock-numbers.ts'
import {
  documentsOf,
  planCommits,
  uniqueKeysOf,
  type ChangeRow,
  type CommitPlan,
  type DocumentName,
  type KeyRow,
  type ReadState,
} from './plan-commits.ts'
import type { CommitFences } from './lock-fences.ts'
import type { RunningRequests } from './running-request.ts'

export interface CommitGuards {
  readonly requests: Pick<RunningRequests, 'mark'>
  readonly fences: Pick<CommitFences, 'check' | 'committed'>
  readonly slots: CommitSlots
  /** Format in which changes are written. */
  readonly format: () => number
}

export interface WrittenCommits {
  readonly errors: readonly (Error | null)[]
  /** Position of the last change; null if nothing changed. */
  readonly position: number | null
}

/** Runs in the transaction of a commit, under the lock of commits; the commit is executed if it returns true. */
export type CommitCondition = (client: Pick<ClientBase, 'query'>) => Promise<boolean>

/** The channel on which every commit is announced. */
export const CHANGE_CHANNEL = 'tollgate_change'
const BEGIN = `BEGIN; SELECT pg_advisory_xact_lock(${COMMIT_LOCK})`
const FIND_COMMIT = 'SELECT 1 FROM change WHERE position = $1 AND commit_id = $2'
const COMMIT = `NOTIFY ${CHANGE_CHANNEL}; COMMIT`

/** Returns a function that executes commits. Throws an error of the registry or `RequestTakenOver`; then none of them had an effect. */
export function createDocumentWriter(
  pool: Pool,
  clock: Clock,
  guards: CommitGuards,
): (commits: readonly Commit[], isFenced: boolean, condition?: CommitCondition) => Promise<WrittenCommits> {
  async function wasCommitted({ position, id }: { position: number; id: string }): Promise<boolean> {
    try {
      return await withClient(pool, async (client) => {
        await client.query(BEGIN)
        const { rowCount } = await client.query(FIND_COMMIT, [position, id])
        await client.query('COMMIT')
        return rowCount === 1
      })
    } catch (cause) {
      throw new RegistryUnreachable('PostgreSQL cannot be reached; the commit may have been executed', { cause })
    }
  }

  const { requests, fences, slots, format } = guards
  async function execute(
    commits: readonly Commit[],
    isFenced: boolean,
    condition?: CommitCondition,
  ): Promise<WrittenCommits> {
    const id = randomUUID()
    const client = await connect(pool)
    let position: number | null = null
    let isEnding = false
    try {
      await client.query(BEGIN)
      const plan = planCommits(commits, await read(client, commits), clock.nowMs)
      // Before a conflict of revisions, which may only show that another node was faster.
      const refusal = isFenced ? await fences.check(client) : null
      if (refusal !== null) return await refuse(client, commits, refusal)
      if (condition !== undefined && !(await condition(client))) return await refuse(client, commits, null)
      if (plan.changes.length > 0) {
        await requests.mark(client)
        position = await write(client, plan, { id, format: format() })
      }
      isEnding = true
      await client.query(position === null ? 'ROLLBACK' : COMMIT)
      client.release()
      if (isFenced && position !== null) fences.committed()
      return { errors: plan.errors, position }
    } catch (cause) {
      // The connection is closed, which ends its transaction; a rollback could wait for a server that is gone.
      client.release(true)
      const error = toRegistryError(cause)
      if (!isEnding || position === null || !(error instanceof RegistryUnreachable)) throw error
      if (!(await wasCommitted({ position, id }))) throw error
      if (isFenced) fences.committed()
      return { errors: commits.map(() => null), position }
    }
  }
  return (commits, isFenced, condition) => slots.run(() => execute(commits, isFenced, condition))
}

async function refuse(client: PoolClient, commits: readonly Commit[], refusal: Error | null): Promise<WrittenCommits> {
  await client.query('ROLLBACK')
  client.release()
  return { errors: commits.map(() => refusal), position: null }
}

async function connect(pool: Pool): Promise<PoolClient> {
  try {
    return await pool.connect()
  } catch (cause) {
    throw toRegistryError(cause)
  }
}

async function read(client: PoolClient, commits: readonly Commit[]): Promise<ReadState> {
  const names = documentsOf(commits)
  const keys = uniqueKeysOf(commits)
  const documents = await client.query<StoredDocument>(
    'SELECT * FROM document WHERE (kind, id) IN (SELECT * FROM unnest($1::text[], $2::text[]))',
    columnsOf(names, ['kind', 'id']),
  )
  if (keys.length === 0) return { documents: documents.rows, holders: [] }
  const holders = await client.query<ReadState['holders'][number]>(
    `SELECT kind, name, value, id FROM document_key
     WHERE (kind, name, value) IN (SELECT * FROM unnest($1::text[], $2::text[], $3::text[]))`,
    columnsOf(keys, ['kind', 'name', 'value']),
  )
  return { documents: documents.rows, holders: holders.rows }
}

/** Returns the position of the last change. */
async function write(
  client: PoolClient,
  plan: CommitPlan,
  { id, format }: { readonly id: string; readonly format: number },
): Promise<number> {
  const touched = columnsOf(plan.touched, NAME)
  await client.query(
    'DELETE FROM document_key WHERE (kind, id) IN (SELECT * FROM unnest($1::text[], $2::text[]))',
    touched,
  )
  await client.query('DELETE FROM document WHERE (kind, id) IN (SELECT * FROM unnest($1::text[], $2::text[]))', touched)
  await client.query(
    `INSERT INTO document (${DOCUMENT.join()}) SELECT * FROM unnest(${arrays('text,text,text,bigint,text,bigint,bigint')})`,
    columnsOf(plan.documents, DOCUMENT),
  )
  await client.query(
    `INSERT INTO document_key (${KEY.join()}) SELECT * FROM unnest(${arrays('text,text,text,text,text,boolean')})`,
    columnsOf(plan.keys, KEY),
  )
  const types = 'text,text,text,bigint,text,bigint,bigint,boolean,text,text,text,text'
  const { rows } = await client.query<{ position: number }>(
    `WITH change_end AS (UPDATE change_end SET position = position + ${plan.changes.length} RETURNING position)
     INSERT INTO change (position, commit_id, format, ${CHANGE.join()})
       SELECT e.position - ${plan.changes.length} + c.number, $${CHANGE.length + 1}::uuid, $${CHANGE.length + 2}::bigint,
         ${CHANGE.map((name) => `c.${name}`).join()}
       FROM change_end e, unnest(${arrays(types)}) WITH ORDINALITY AS c (${CHANGE.join()}, number)
     RETURNING (SELECT position FROM change_end)`,
    [...columnsOf(plan.changes, CHANGE), id, format],
  )
  return rows[0]!.position
}

const NAME = ['kind', 'id'] as const satisfies (keyof DocumentName)[]
const DOCUMENT = [
  ...NAME,
  'tenant',
  'revision',
  'body',
  'created_at_ms',
  'updated_at_ms',
] as const satisfies (keyof StoredDocument)[]
const KEY = ['kind', 'name', 'value', 'tenant', 'id', 'is_unique'] as const satisfies (keyof KeyRow)[]
const CHANGE = [
  ...DOCUMENT,
  'removed',
  'before',
  'author',
  'shown_author',
  'action',
] as const satisfies (keyof ChangeRow)[]

/** Returns the rows as an array for each column, for `unnest`. */
function columnsOf<Row extends object>(rows: readonly Row[], names: readonly (keyof Row)[]): unknown[][] {
  return names.map((name) => rows.map((row) => row[name]))
}

function arrays(types: string): string {
  return types
    .split(',')
    .map((type, index) => `$${index + 1}::${type}[]`)
    .join()
}
