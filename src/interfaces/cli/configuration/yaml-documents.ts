/** Parses the YAML documents of a file, which is untrusted input. */

import { isCollection, isMap, isScalar, isSeq, parseAllDocuments } from 'yaml'

export type Parsed = { readonly values: readonly unknown[] } | { readonly fault: string }

const ALIASES_MAX = 100
/** A dump has files of about half a megabyte, and to parse two takes a second or more. */
const CHARACTERS_MAX = 2 * 1024 * 1024

/** Returns the value of each document, or why the file cannot be read. */
export function parseDocuments(text: string): Parsed {
  if (text.length > CHARACTERS_MAX) return { fault: 'is larger than 2 MB.' }
  try {
    // The parser compares each key of a map with all others.
    const documents = parseAllDocuments(text, { uniqueKeys: false })
    if (!Array.isArray(documents)) return { values: [] }
    const error = documents.flatMap(({ errors }) => errors)[0]
    if (error?.message.startsWith('Maximum call stack') === true) return { fault: 'is nested too deeply.' }
    if (error !== undefined) return { fault: `cannot be read: ${error.message.split('\n')[0]}` }
    if (documents.some(({ contents }) => hasKeyTwice(contents))) return { fault: 'has a key twice in one map.' }
    return { values: documents.map((document) => document.toJS({ maxAliasCount: ALIASES_MAX }) as unknown) }
  } catch (cause) {
    return { fault: cause instanceof RangeError ? 'is nested too deeply.' : 'has too many aliases.' }
  }
}

function hasKeyTwice(node: unknown): boolean {
  if (isSeq(node)) return node.items.some(hasKeyTwice)
  if (!isMap(node)) return false
  const keys = new Set(node.items.map(({ key }) => (isScalar(key) ? String(key.value) : key)))
  return keys.size < node.items.length || node.items.some(({ value }) => isCollection(value) && hasKeyTwice(value))
}
