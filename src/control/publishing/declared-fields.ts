/**
 * The members of an OpenSLA declaration, stored with it as JSON.
 *
 * Declarations are immutable, and reading YAML takes most of the time that a start spends on them. The plan is compiled of the members
 * at every start, so that a change of that code applies to all declarations.
 */

import { isDeepStrictEqual } from 'node:util'
import { commit } from '../command/commands.ts'
import { Problem } from '../../foundation/domain/problem.ts'
import { readDocument } from '../../documents/opensla/document.ts'
import type { Fields } from '../../documents/opensla/reader.ts'
import { documentKind, type Document, type Registry, type Write } from '../../storage/store/registry.ts'
import { readContent } from './published-content.ts'

interface DeclaredBody {
  readonly reader: number
  /** JSON */
  readonly fields: string
}

export const DECLARED_KIND = documentKind<DeclaredBody>('declared', 'hidden')

/** Version of the reader: incremented when it reads other members from the same bytes. */
const READER = 1

/** Aliases of YAML can make the members a hundred times as large as the bytes. */
const BYTES_MAX = 64 * 1024
const TEXT_MAX = 256 * 1024

export interface Declared {
  readonly bytes: Uint8Array
  /** The members that were read from the bytes. */
  readonly fields: Fields
}

/** Returns the write that stores the members of a declaration; none if JSON cannot represent them. `id` is the id of the document. */
export function declaredWrites(id: string, tenant: string, { bytes, fields: members }: Declared): readonly Write[] {
  const fields = bytes.length > BYTES_MAX ? null : toJson(members)
  if (fields === null || fields.length > TEXT_MAX || !isDeepStrictEqual(JSON.parse(fields), members)) return []
  const body: DeclaredBody = { reader: READER, fields }
  return [{ kind: DECLARED_KIND, id, tenant, expected: 0, body }]
}

/** Returns null for members that contain themselves, as aliases of YAML can. */
function toJson(members: Fields): string | null {
  try {
    return JSON.stringify(members)
  } catch {
    return null
  }
}

/** Returns the write that removes the members of a declaration, if they are stored. */
export async function declaredRemoval(registry: Registry, tenant: string, id: string): Promise<readonly Write[]> {
  const stored = await registry.get(DECLARED_KIND, id)
  if (stored?.tenant !== tenant) return []
  return [{ kind: DECLARED_KIND, id, tenant, expected: stored.revision, body: null }]
}

/** Returns the members as they are stored; null if the document has to be read again. */
export function currentFields(stored: Document<DeclaredBody> | null, tenant: string): Fields | null {
  if (stored === null || stored.tenant !== tenant || stored.body.reader !== READER) return null
  return JSON.parse(stored.body.fields) as Fields
}

/** Reads the members of a declaration, and stores them if they are missing or of an earlier version. */
export async function readDeclared(registry: Registry, tenant: string, id: string): Promise<Fields> {
  const stored = await registry.get(DECLARED_KIND, id)
  const current = currentFields(stored, tenant)
  if (current !== null) return current
  const { bytes } = await readContent(registry, tenant, id)
  const { fields } = readDocument(bytes)
  if (stored === null || stored.tenant === tenant) {
    const writes = declaredWrites(id, tenant, { bytes, fields }).map((write) => ({
      ...write,
      expected: stored?.revision ?? 0,
    }))
    await store(registry, tenant, writes)
  }
  return fields
}

async function store(registry: Registry, tenant: string, writes: readonly Write[]): Promise<void> {
  if (writes.length === 0) return
  try {
    await commit(registry, { tenant, consumer: 'system' }, 'declaration.read', writes)
  } catch (cause) {
    // The API serves without it: another start, or another command, stores it.
    if (!(cause instanceof Problem)) throw cause
  }
}
