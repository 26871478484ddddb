/**
 * Deduplication tokens of inserts into the store.
 *
 * A token contains a hash of the range of the spool, or of the events. An older copy of the checkpoint uses the same number again for
 * another range: with a token of only the number, the store would drop those rows as duplicates.
 */

import { createHash } from 'node:crypto'
import type { PendingFlush, SpoolPosition } from './checkpoint.ts'
import type { OutboxBatch } from './risk-checkpoint.ts'

const HASH_CHARS = 24

/** Returns the token of a flush. A flush that an earlier version began keeps the token of that version. */
export function flushToken(table: string, instance: string, flush: PendingFlush): string {
  const plain = `${table}-${instance}-${flush.number}`
  if (flush.tokens !== 'range') return plain
  const token = `${plain}-${hash([placesOf(flush.from), placesOf(flush.to)])}`
  return flush.attempt === undefined ? token : `${token}-${flush.attempt}`
}

/** Returns the token of a batch of risk events. A batch that an earlier version claimed keeps the token of that version. */
export function riskToken(instance: string, { number, events, isNumbered }: OutboxBatch): string {
  const plain = `risk-${instance}-${number}`
  return isNumbered ? plain : `${plain}-${hash(events.map(({ id }) => id))}`
}

/** Returns only the fields that identify bytes, in sorted order, so that equal ranges have equal hashes. */
function placesOf(position: SpoolPosition): unknown {
  return Object.entries(position)
    .map(([source, { segment, offset }]) => [source, segment, offset] as const)
    .sort(([a], [b]) => (a < b ? -1 : 1))
}

function hash(value: unknown): string {
  return createHash('sha256').update(JSON.stringify(value)).digest('hex').slice(0, HASH_CHARS)
}
