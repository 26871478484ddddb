/** Loads the files that a document refers to, directly or through other files. Nothing is loaded twice. */

import { readReference } from './reference.ts'

/** The value of a file, or a sentence why it cannot be used. */
export type Loaded =
  | { readonly value: unknown; readonly isJson: boolean; readonly bytes: Uint8Array }
  | { readonly fault: string }
/** Reads and parses a file below the root folder. */
type LoadFile = (file: string) => Promise<Loaded>

const FILES_MAX = 5_000
const BYTES_MAX = 16 * 1024 * 1024

/** Returns all files by path; `root` among them. */
export async function loadFiles(file: string, root: Loaded, load: LoadFile): Promise<ReadonlyMap<string, Loaded>> {
  const files = new Map([[file, root]])
  let bytes = 'bytes' in root ? root.bytes.length : 0
  // The loop also visits what it adds.
  for (const [from, loaded] of files) {
    if ('fault' in loaded) continue
    for (const name of filesIn(loaded.value, from)) {
      if (files.has(name)) continue
      const isTooMuch = files.size > FILES_MAX || bytes > BYTES_MAX
      const fault = `The document has more than ${FILES_MAX} files or ${BYTES_MAX} bytes.`
      const next = isTooMuch ? { fault } : await load(name)
      if ('bytes' in next) bytes += next.bytes.length
      files.set(name, next)
    }
  }
  return files
}

/** Also finds what only looks like a reference, such as a member of an example: to load it does no harm. */
function filesIn(root: unknown, from: string): ReadonlySet<string> {
  const found = new Set<string>()
  const add = (reference: unknown): void => {
    if (typeof reference !== 'string' || reference.startsWith('#')) return
    const target = readReference(reference, from)
    if (typeof target !== 'string') found.add(target.file)
  }
  const open: unknown[] = [root]
  // Aliases of YAML name one value from many places.
  const visited = new Set<unknown>()
  for (let value = open.pop(); value !== undefined; value = open.pop()) {
    if (typeof value !== 'object' || value === null || visited.has(value)) continue
    visited.add(value)
    for (const [key, inner] of Object.entries(value)) {
      if (key === '$ref') add(inner)
      if (key === 'mapping' && typeof inner === 'object' && inner !== null) {
        Object.values(inner).filter(isFileName).forEach(add)
      }
      if (inner !== undefined) open.push(inner)
    }
  }
  found.delete(from)
  return found
}

/** The value of a discriminator's mapping may also be the name of a schema. */
export function isFileName(value: unknown): value is string {
  return typeof value === 'string' && /^[^#]*\.(?:json|ya?ml)(?:#|$)/.test(value)
}
