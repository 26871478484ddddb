/** Records of a range of the spool, read to its end. */

import { readRange } from '../../src/storage/spool/read-range.ts'
import type { CallRecord } from '../../src/storage/spool/call-record.ts'
import type { RecordBatch } from '../../src/storage/spool/record-batch.ts'
import type { SpoolReader } from '../../src/storage/spool/spool-reader.ts'
import { isSame } from '../../src/storage/spool/spool-position.ts'
import type { SpoolPosition } from '../../src/storage/store/checkpoint.ts'

export interface ReadRecord {
  readonly id: string
  readonly record: CallRecord
}

/** Returns the records between `from` and `to`. */
export function readRest(reader: SpoolReader, from: SpoolPosition, to: SpoolPosition): ReadRecord[] {
  const records: ReadRecord[] = []
  readRange(reader, from, to, (batch) => records.push(...recordsOf(batch)))
  return records
}

/** Returns all records after `from`, and their end. */
export function readAll(reader: SpoolReader, from: SpoolPosition): { records: ReadRecord[]; to: SpoolPosition } {
  const records: ReadRecord[] = []
  for (let at = from; ;) {
    const to = reader.read(at, (batch) => records.push(...recordsOf(batch)))
    if (isSame(at, to)) return { records, to }
    at = to
  }
}

function* recordsOf(batch: RecordBatch): Iterable<ReadRecord> {
  for (let index = 0; index < batch.count; index++) yield { id: batch.requestId(index), record: batch.at(index) }
}
