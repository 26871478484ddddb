/** Reads through the spellings of nullable: what `anyOf` or `oneOf` declares beside null counts as declared by the schema itself. */

import { fieldsOf, listOf } from '../../../foundation/json/fields.ts'
import type { SchemaSet, SchemaSets } from '../containment/schema-set.ts'

const DEPTH_MAX = 4

/** Adds the only branch of a schema that is not null; it applies to all values but null. */
export function withoutNull(sets: SchemaSets, set: SchemaSet): SchemaSet {
  let found = set
  for (let depth = 0; depth < DEPTH_MAX; depth++) {
    const branches = found.parts.flatMap(({ anyOf, oneOf }) => [anyOf, oneOf].flatMap(onlyBranch))
    const next = branches.length === 0 ? found : sets.and(found, ...branches)
    if (next.key === found.key) break
    found = next
  }
  return found
}

/** Branches other than null, whose position differs between the spellings. */
export function branchesBesideNull(branches: readonly unknown[]): readonly unknown[] {
  return branches.filter((branch) => fieldsOf(branch)['type'] !== 'null')
}

function onlyBranch(list: unknown): readonly unknown[] {
  const branches = listOf(list)
  const others = branchesBesideNull(branches)
  return others.length === 1 && branches.length > 1 ? others : []
}
