/**
 * Reads what has changed in the registry as of one moment, for the copy that a node keeps on its disk.
 *
 * All statements of one read see the same snapshot. It is sent in pages of limited size, because documents may be long.
 */

import type { ClientBase, Pool } from 'pg'
import type { StoredDocument } from '../document-row.ts'
import type { CopiedKey, CopiedPage, CopyReceiver, RegistryMark, RegistrySnapshots } from '../registry-copy.ts'
import { withRegistryErrors } from './connection.ts'
import { withClient } from './connections.ts'

type Client = Pick<ClientBase, 'query'>
type Name = CopiedPage['names'][number]

/** Above this number of changes, reading everything is not slower. */
const CHANGES_MAX = 20_000
const PAGE_DOCUMENTS = 200
/** Writing a page on the main thread takes some milliseconds. A longer document is a page of its own. */
const PAGE_BYTES = 1_000_000
const BEGIN = 'BEGIN TRANSACTION ISOLATION LEVEL REPEATABLE READ READ ONLY'

export function createRegistrySnapshots(pool: Pool): RegistrySnapshots {
  return {
    has: (mark) => withRegistryErrors(() => hasMark(pool, mark)),
    read: (after, except, receiver) =>
      withRegistryErrors(() =>
        withClient(pool, async (client) => {
          await client.query(BEGIN)
          const mark = await readEnd(client)
          const isKnown = after !== null && (await hasMark(client, after))
          if (isKnown && mark.position - after.position <= CHANGES_MAX) {
            await sendChanged(client, after.position, except, receiver)
          } else {
            receiver.clear()
            await sendAll(client, except, receiver)
          }
          await client.query('COMMIT')
          return mark
        }),
      ),
  }
}

/** Whether the registry has the change that was the last one at a moment. */
export async function hasMark(
  client: Pick<ClientBase | Pool, 'query'>,
  { position, commitId }: RegistryMark,
): Promise<boolean> {
  if (position === 0) return true
  const { rowCount } = await client.query(HAS_CHANGE, [position, commitId])
  return rowCount === 1
}

async function readEnd(client: Client): Promise<RegistryMark> {
  const { rows } = await client.query<{ position: number; commit_id: string | null }>(END)
  const { position = 0, commit_id: commitId = null } = rows[0] ?? {}
  return { position, commitId: commitId ?? '' }
}

async function sendChanged(
  client: Client,
  after: number,
  except: readonly string[],
  { receive }: CopyReceiver,
): Promise<void> {
  const { rows: names } = await client.query<Name>(CHANGED, [after, except])
  let sent = 0
  while (sent < names.length) {
    const asked = names.slice(sent, sent + PAGE_DOCUMENTS)
    const { rows } = await client.query<SizedDocument>(OF_NAMES, [...columnsOf(asked), PAGE_BYTES])
    const documents = rows.map(toStored)
    // A page that is cut ends with a document; those after it are asked for again.
    const last = rows.at(-1)
    const isLast = ({ kind, id }: Name): boolean => kind === last?.kind && id === last.id
    const page = last?.is_cut === true ? asked.slice(0, asked.findIndex(isLast) + 1) : asked
    receive({ names: page, documents, keys: await keysOf(client, documents) })
    sent += page.length
  }
}

async function sendAll(client: Client, except: readonly string[], { receive }: CopyReceiver): Promise<void> {
  for (let last: Name = { kind: '', id: '' }; ;) {
    const { rows } = await client.query<SizedDocument>(NEXT, [last.kind, last.id, except, PAGE_BYTES])
    if (rows.length === 0) return
    const documents = rows.map(toStored)
    receive({ names: [], documents, keys: await keysOf(client, documents) })
    last = documents.at(-1)!
  }
}

async function keysOf(client: Client, documents: readonly Name[]): Promise<readonly CopiedKey[]> {
  if (documents.length === 0) return []
  return (await client.query<CopiedKey>(KEYS, columnsOf(documents))).rows
}

interface SizedDocument extends StoredDocument {
  /** More documents follow that were asked for. */
  readonly is_cut: boolean
}

function toStored({ is_cut: _, ...document }: SizedDocument): StoredDocument {
  return document
}

function columnsOf(names: readonly Name[]): (readonly string[])[] {
  return [names.map(({ kind }) => kind), names.map(({ id }) => id)]
}

const END = `SELECT e.position, c.commit_id::text FROM change_end e LEFT JOIN change c ON c.position = e.position`
const HAS_CHANGE = 'SELECT 1 FROM change WHERE position = $1 AND commit_id::text = $2'
const CHANGED = `SELECT DISTINCT kind, id FROM change WHERE position > $1 AND kind <> ALL ($2::text[]) ORDER BY kind, id`
const COLUMNS = 'kind, id, tenant, revision, body, created_at_ms, updated_at_ms'
const within = (found: string, bytes: string): string => `WITH found AS (${found}), sized AS (
    SELECT *, sum(octet_length(body)) OVER (ORDER BY kind, id) AS size, row_number() OVER (ORDER BY kind, id) AS number
    FROM found)
  SELECT ${COLUMNS}, number < (SELECT count(*) FROM found) AS is_cut FROM sized
  WHERE size <= ${bytes} OR number = 1 ORDER BY kind, id`
const OF_NAMES = within(
  `SELECT ${COLUMNS} FROM document WHERE (kind, id) IN (SELECT * FROM unnest($1::text[], $2::text[]))`,
  '$3::bigint',
)
const NEXT = within(
  `SELECT ${COLUMNS} FROM document WHERE (kind, id) > ($1::text, $2::text) AND kind <> ALL ($3::text[])
   ORDER BY kind, id LIMIT ${PAGE_DOCUMENTS}`,
  '$4::bigint',
)
const KEYS = `SELECT kind, name, value, tenant, id, is_unique FROM document_key
  WHERE (kind, id) IN (SELECT * FROM unnest($1::text[], $2::text[]))`
