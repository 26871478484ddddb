/** The random id of a node: it belongs to the data folder, so that two processes with one id have a copied folder. */

import { randomUUID } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { StartRefused } from '../runtime/start-refused.ts'
import { writeWhole } from '../runtime/sync-folder.ts'

const FILE = 'node.id'
const ID = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}\n$/

/** Reads the id of the folder, or creates it. Throws `StartRefused` if the file holds something else. */
export function readIncarnation(dataDir: string): string {
  const path = join(dataDir, FILE)
  const stored = readIfThere(path)
  if (stored === null) return create(path)
  if (ID.test(stored)) return stored.trim()
  throw new StartRefused(`${path} is damaged; remove it, and this node joins as a new one`)
}

function readIfThere(path: string): string | null {
  try {
    return readFileSync(path, 'utf8')
  } catch (cause) {
    if ((cause as NodeJS.ErrnoException).code === 'ENOENT') return null
    throw cause
  }
}

function create(path: string): string {
  const incarnation = randomUUID()
  writeWhole(path, `${incarnation}\n`)
  return incarnation
}
