/**
 * Opens the embedded engine, also if it cannot parse the definition file of a view or a rollup.
 *
 * The engine does not open if one definition is not a statement. Views and rollups hold nothing that other tables lack, so the start
 * continues without them and recreates them; files of other tables are not moved.
 */

import { existsSync, renameSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { openClickHouse, type ClickHouse } from './client.ts'
import { derivedNames } from './definitions.ts'

/** If the engine does not open without them either, restores the folder and throws the first error. */
export function openEmbedded(folder: string): ClickHouse {
  try {
    return openClickHouse({ url: null, folder })
  } catch (cause) {
    const moved = moveDerived(folder)
    if (moved.length === 0) throw cause
    try {
      const client = openClickHouse({ url: null, folder })
      for (const { aside } of moved) rmSync(aside)
      return client
    } catch {
      for (const { file, aside } of moved) renameSync(aside, file)
      throw cause
    }
  }
}

/** Renames the files instead of copying them, because the disk may be full. */
function moveDerived(folder: string): readonly { readonly file: string; readonly aside: string }[] {
  const files = derivedNames().map((name) => ({
    file: join(folder, 'metadata/default', `${name}.sql`),
    aside: join(folder, `${name}.sql.aside`),
  }))
  const moved = files.filter(({ file }) => existsSync(file))
  for (const { file, aside } of moved) renameSync(file, aside)
  return moved
}
