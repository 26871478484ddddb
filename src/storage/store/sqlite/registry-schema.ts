/**
 * Schema of the registry, as a list of migrations.
 *
 * `change` is both the change feed and the audit log of changes; `note` is the audit log of reads. Triggers make both append-only,
 * also for manual changes. Migrations are never edited, only added.
 */

import type { DatabaseSync } from 'node:sqlite'
import { StartRefused } from '../../../foundation/runtime/start-refused.ts'
import { NAME_KEY, toNameKey } from '../name-key.ts'
import { SEARCH_KEY, SEARCHED_KINDS, searchValues } from '../search-key.ts'
import { checksumOf } from './row-checksum.ts'

/** About 300 ms. */
const CHECKSUMS_MAX = 20_000
const STEPS = [
  `CREATE TABLE IF NOT EXISTS document (
     kind TEXT NOT NULL, id TEXT NOT NULL, tenant TEXT NOT NULL, revision INTEGER NOT NULL, body TEXT NOT NULL,
     created_at_ms INTEGER NOT NULL, updated_at_ms INTEGER NOT NULL,
     PRIMARY KEY (kind, id)
   ) STRICT, WITHOUT ROWID;
   CREATE INDEX IF NOT EXISTS document_by_tenant ON document (kind, tenant, id);
   CREATE TABLE IF NOT EXISTS document_key (
     kind TEXT NOT NULL, name TEXT NOT NULL, value TEXT NOT NULL, id TEXT NOT NULL, is_unique INTEGER NOT NULL,
     PRIMARY KEY (kind, name, value, id)
   ) STRICT, WITHOUT ROWID;
   CREATE TABLE IF NOT EXISTS change (
     position INTEGER PRIMARY KEY AUTOINCREMENT, kind TEXT NOT NULL, id TEXT NOT NULL, tenant TEXT NOT NULL,
     revision INTEGER NOT NULL, body TEXT NOT NULL, created_at_ms INTEGER NOT NULL, updated_at_ms INTEGER NOT NULL,
     removed INTEGER NOT NULL, before TEXT, author TEXT NOT NULL, action TEXT NOT NULL
   ) STRICT;
   CREATE TABLE IF NOT EXISTS note (
     position INTEGER PRIMARY KEY AUTOINCREMENT, kind TEXT NOT NULL, id TEXT NOT NULL, tenant TEXT NOT NULL,
     at_ms INTEGER NOT NULL, author TEXT NOT NULL, action TEXT NOT NULL
   ) STRICT;`,
  // Keys are in the order of a tenant's list, so that a filter reads only the documents that it returns.
  `CREATE TABLE key_of_document (
     kind TEXT NOT NULL, name TEXT NOT NULL, value TEXT NOT NULL, tenant TEXT NOT NULL, id TEXT NOT NULL,
     is_unique INTEGER NOT NULL,
     PRIMARY KEY (kind, name, value, tenant, id)
   ) STRICT, WITHOUT ROWID;
   INSERT INTO key_of_document (kind, name, value, tenant, id, is_unique)
     SELECT k.kind, k.name, k.value, d.tenant, k.id, k.is_unique
     FROM document_key k JOIN document d ON d.kind = k.kind AND d.id = k.id;
   DROP TABLE document_key;
   ALTER TABLE key_of_document RENAME TO document_key;
   CREATE UNIQUE INDEX document_key_unique ON document_key (kind, name, value) WHERE is_unique = 1;
   CREATE INDEX document_key_by_id ON document_key (kind, id);
   CREATE TRIGGER change_stays BEFORE UPDATE ON change BEGIN SELECT RAISE(ABORT, 'the audit is only added to'); END;
   CREATE TRIGGER change_remains BEFORE DELETE ON change BEGIN SELECT RAISE(ABORT, 'the audit is only added to'); END;
   CREATE TRIGGER note_stays BEFORE UPDATE ON note BEGIN SELECT RAISE(ABORT, 'the audit is only added to'); END;
   CREATE TRIGGER note_remains BEFORE DELETE ON note BEGIN SELECT RAISE(ABORT, 'the audit is only added to'); END;`,
  `CREATE INDEX change_of_tenant ON change (tenant, position);
   CREATE INDEX change_of_document ON change (tenant, kind, id, position);
   CREATE INDEX note_of_tenant ON note (tenant, position);`,
  // Deliveries outnumber all other changes; this index lets a page of the audit log skip them.
  `CREATE INDEX change_but_deliveries ON change (tenant, position) WHERE kind <> 'webhook_delivery';`,
  // Existing rows get a checksum now if they are few, otherwise at their next write.
  `ALTER TABLE document ADD COLUMN checksum INTEGER;
   UPDATE document SET checksum = document_checksum(kind, id, tenant, revision, body)
     WHERE (SELECT count(*) FROM (SELECT 1 FROM document LIMIT ${CHECKSUMS_MAX} + 1)) <= ${CHECKSUMS_MAX};`,
  // Consumers are found by the beginning of their names, and by their state.
  `INSERT OR IGNORE INTO document_key (kind, name, value, tenant, id, is_unique)
     SELECT kind, '${NAME_KEY}', name_key(tenant, json_extract(body, '$.name')), tenant, id, 0
     FROM document WHERE kind = 'consumer' AND json_valid(body);
   INSERT OR IGNORE INTO document_key (kind, name, value, tenant, id, is_unique)
     SELECT kind, 'state', iif(json_extract(body, '$.isDisabled') = 1, 'Disabled', 'Active'), tenant, id, 0
     FROM document WHERE kind = 'consumer' AND json_valid(body);`,
  `INSERT OR IGNORE INTO document_key (kind, name, value, tenant, id, is_unique)
     SELECT d.kind, '${SEARCH_KEY}', v.value, d.tenant, d.id, 0
     FROM document d, json_each(document_search_values(d.kind, d.tenant, d.body)) v
     WHERE d.kind IN (${SEARCHED_KINDS.map((kind) => `'${kind}'`).join(', ')});`,
  // Proxies are listed by whether a revision is staged. Those from before revisions existed have none.
  `INSERT OR IGNORE INTO document_key (kind, name, value, tenant, id, is_unique)
     SELECT kind, 'hasStaging', iif(json_extract(body, '$.actor.context.stagingRevision') IS NULL, 'false', 'true'), tenant, id, 0
     FROM document WHERE kind = 'proxy' AND json_valid(body);`,
  // A number of changes of checkpoint.db that it had a minute before, so that an older copy of everything else is detected.
  `CREATE TABLE IF NOT EXISTS noted (name TEXT PRIMARY KEY, value INTEGER NOT NULL) STRICT, WITHOUT ROWID;`,
  `CREATE TABLE IF NOT EXISTS credential_use (
     credential TEXT PRIMARY KEY, minute INTEGER NOT NULL
   ) STRICT, WITHOUT ROWID;`,
]

/** A damaged document is not found by a search; verification reports it. */
function searchValuesOf(kind: string, tenant: string, body: string): readonly string[] {
  try {
    return searchValues(kind, tenant, JSON.parse(body))
  } catch (cause) {
    if (cause instanceof SyntaxError) return []
    throw cause
  }
}

/** Throws `StartRefused` if a later version has written the file. */
export function migrateSchema(database: DatabaseSync, path: string): void {
  const version = Number(database.prepare('PRAGMA user_version').get()?.['user_version'])
  if (version > STEPS.length) {
    throw new StartRefused(
      `${path} was written by a later version of tollgate; start that version, or set another DATA_DIR`,
    )
  }
  database.function('document_checksum', (kind, id, tenant, revision, body) =>
    checksumOf([String(kind), String(id), String(tenant), Number(revision)], String(body)),
  )
  database.function('name_key', (tenant, name) => toNameKey(String(tenant), String(name)))
  database.function('document_search_values', (kind, tenant, body) =>
    JSON.stringify(searchValuesOf(String(kind), String(tenant), String(body))),
  )
  for (let next = version; next < STEPS.length; next++) {
    database.exec(`BEGIN IMMEDIATE; ${STEPS[next]} PRAGMA user_version = ${next + 1}; COMMIT`)
  }
}
