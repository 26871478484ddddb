/**
 * Deduplication tokens of what is inserted.
 *
 * A token names the exact range of the spool (or the events) that it stands for. A checkpoint that went back uses a number a second
 * time for another range; under a token of the number alone the store would drop those rows.
 */

import { createHash } from 'node:crypto'
import type { PendingFlush, SpoolPosition } from './checkpoint.ts'
import type { OutboxBatch } from './risk-checkpoint.ts'

const HASH_CHARS = 24

/** A flush that an earlier version began is repeated under the token of that version. */
export function flushToken(table: string, instance: string, flush: PendingFlush): string {
  const plain = `${table}-${instance}-${flush.number}`
  return flush.tokens === 'range' ? `${plain}-${hash([placesOf(flush.from), placesOf(flush.to)])}` : plain
}

/** Risk events that an earlier version claimed are sent under the token of that version. */
export function riskToken(instance: string, { number, events, isNumbered }: OutboxBatch): string {
  const plain = `risk-${instance}-${number}`
  return isNumbered ? plain : `${plain}-${hash(events.map(({ id }) => id))}`
}

/** Only what names bytes, in one order: the same range gives the same text. */
function placesOf(position: SpoolPosition): unknown {
  return Object.entries(position)
    .map(([source, { segment, offset }]) => [source, segment, offset] as const)
    .sort(([a], [b]) => (a < b ? -1 : 1))
}

function hash(value: unknown): string {
  return createHash('sha256').update(JSON.stringify(value)).digest('hex').slice(0, HASH_CHARS)
}
