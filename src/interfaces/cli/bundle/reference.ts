/** References of documents in several files: `pets.yaml#/Pet`, relative to the file that holds them. */

import { posix } from 'node:path'

/** A value: the path of its file relative to the root folder, and its pointer in the file. */
export interface Target {
  readonly file: string
  readonly pointer: string
}

const SCHEME = /^[a-z][a-z0-9+.-]*:/i

/** Returns a sentence if the reference names no file below the root folder. */
export function readReference(reference: string, from: string): Target | string {
  const hash = reference.indexOf('#')
  const [path, fragment] = hash < 0 ? [reference, ''] : [reference.slice(0, hash), reference.slice(hash + 1)]
  if (SCHEME.test(path) || path.startsWith('//')) return 'References to the network are not followed; copy the file.'
  if (fragment !== '' && !fragment.startsWith('/')) return 'A reference must end with a pointer, such as #/Pet.'
  const [decodedPath, pointer] = [decode(path), decode(fragment)]
  if (decodedPath === null || pointer === null) return 'The reference is not a valid URI reference.'
  if (decodedPath === '') return { file: from, pointer }
  const file = posix.join(posix.dirname(from), decodedPath)
  const isOutside = posix.isAbsolute(decodedPath) || file === '..' || file.startsWith('../') || /[\\\0]/.test(file)
  if (isOutside) return 'The reference leaves the folder of the document; --root names a folder that holds both.'
  return { file, pointer }
}

function decode(text: string): string | null {
  try {
    return text.includes('%') ? decodeURIComponent(text) : text
  } catch {
    return null
  }
}
