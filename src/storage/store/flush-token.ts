/**
 * Deduplication tokens of inserts into the store.
 *
 * A token contains a hash of the range of the spool, or of the events. The number alone is not enough: after an older checkpoint is
 * restored, the service uses a number again for another range, and the store would drop the new rows as duplicates.
 */

import { createHash } from 'node:crypto'
import type { PendingFlush, SpoolPosition } from './checkpoint.ts'
import type { OutboxBatch } from './risk-checkpoint.ts'
import type { HistoryBatch } from './shared-risks.ts'

const HASH_CHARS = 24

/** Returns the token of a flush. A flush that an earlier release of tollgate began keeps that release's token format. */
export function flushToken(table: string, instance: string, flush: PendingFlush): string {
  const numberToken = `${table}-${instance}-${flush.number}`
  if (flush.tokens !== 'range') return numberToken
  const token = `${numberToken}-${hash([segmentOffsetsOf(flush.from), segmentOffsetsOf(flush.to)])}`
  return flush.attempt === undefined ? token : `${token}-${flush.attempt}`
}

/** The columns of a row that tell which insert stored it. */
export interface Written {
  readonly writer: string
  readonly flush_number: number
}

const BY_NOBODY: Written = { writer: '', flush_number: 0 }

/** Returns instance and number of a flush from one of its tokens. Rows under a token of another form have no writer. */
export function writtenWith(token: string): Written {
  const [, writer, number] = /^(?:usage-totals|[a-z]+)-(\w+)-(\d+)/.exec(token) ?? []
  return writer === undefined ? BY_NOBODY : { writer, flush_number: Number(number) }
}

/** Returns the token of a batch of risk events. A batch that an earlier release claimed keeps that release's token format. */
export function riskToken(instance: string, { number, events, isNumbered }: OutboxBatch): string {
  const numberToken = `risk-${instance}-${number}`
  return isNumbered ? numberToken : `${numberToken}-${hash(events.map(({ id }) => id))}`
}

/** Returns the token of a batch of the risk events of several nodes. */
export function sharedRiskToken({ from, to, events }: HistoryBatch): string {
  return `risk-nodes-${from}-${to}-${hash(events.map(({ id }) => id))}`
}

/** Returns only the fields that locate a byte in the spool, sorted by source, so that equal ranges have equal hashes. */
function segmentOffsetsOf(position: SpoolPosition): unknown {
  return Object.entries(position)
    .map(([source, { segment, offset }]) => [source, segment, offset] as const)
    .sort(([a], [b]) => (a < b ? -1 : 1))
}

function hash(value: unknown): string {
  return createHash('sha256').update(JSON.stringify(value)).digest('hex').slice(0, HASH_CHARS)
}
