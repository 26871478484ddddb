/**
 * Names of tools: the operationId in the characters that all clients accept, at most 48 of them.
 *
 * A name is abbreviated with a hash of the operationId if it is too long, or if two operations would have the same name. It
 * therefore stays the same from revision to revision.
 */

import { createHash } from 'node:crypto'

const LENGTH_MAX = 48
const HASH_LENGTH = 8

/** Returns the names in the order of the ids. */
export function toToolNames(operationIds: readonly string[]): string[] {
  const plain = operationIds.map(toPlainName)
  const uses = new Map<string, number>()
  for (const name of plain) uses.set(name, (uses.get(name) ?? 0) + 1)
  const isKept = plain.map(
    (name, index) => name.length <= LENGTH_MAX && (uses.get(name) === 1 || name === operationIds[index]),
  )
  const taken = new Set(plain.filter((_, index) => isKept[index]))
  return plain.map((name, index) => (isKept[index] ? name : hashed(name, operationIds[index] ?? '', taken)))
}

function toPlainName(operationId: string): string {
  if (/^[A-Za-z0-9_-]+$/.test(operationId)) return operationId
  return operationId.replace(/[^A-Za-z0-9-]+/g, '_').replace(/^_|_$/g, '') || 'operation'
}

/** Uses more of the hash in the unlikely case that the name is taken. */
function hashed(name: string, operationId: string, taken: Set<string>): string {
  const hash = createHash('sha256').update(operationId).digest('hex')
  for (let length = HASH_LENGTH; ; length++) {
    const result = `${name.slice(0, LENGTH_MAX - 1 - length)}_${hash.slice(0, length)}`
    if (taken.has(result) && length < LENGTH_MAX - 1) continue
    taken.add(result)
    return result
  }
}
