/**
 * Verifies that a copy is usable: reads its spool with the reader of the service and opens its store.
 *
 * The engine writes into the folder that it opens, so the store is opened on a temporary clone whose parts are hard links.
 */

import { linkSync, mkdirSync, rmSync, statSync, truncateSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { PLATFORM_API } from '../../foundation/domain/platform-api.ts'
import { FLAG_FORWARDED } from '../spool/call-record.ts'
import { damageText, type Damage } from '../spool/damage.ts'
import type { RecordBatch } from '../spool/record-batch.ts'
import { segmentName } from '../spool/segment-name.ts'
import { createSpoolGaugeMemory, openSpoolGauge } from '../spool/spool-gauge.ts'
import { openSpoolReader } from '../spool/spool-reader.ts'
import { StartRefused, toStartRefused } from '../../foundation/runtime/start-refused.ts'
import type { SpoolPosition } from '../store/checkpoint.ts'
import { openClickHouse } from '../store/clickhouse/client.ts'
import { countCalls } from '../store/clickhouse/frozen-store.ts'
import { copyFile, filesIn } from './copy-files.ts'
import { frameOf } from './store-files.ts'

export interface SpoolCopy {
  readonly end: SpoolPosition
  /** Number of calls after the checkpoint, which the restored service bills. */
  readonly calls: number
}

/**
 * Reads the copied spool from the checkpoint on, and truncates a batch that was being written during the copy: its calls had not
 * been answered.
 */
export function readSpoolCopy(folder: string, from: SpoolPosition): SpoolCopy {
  const gauge = openSpoolGauge(createSpoolGaugeMemory(), Number.MAX_SAFE_INTEGER)
  const onDamage = (damage: Damage): void => {
    throw new StartRefused(`the copy of the spool lacks records: ${damage.what} ${damageText(damage)}`)
  }
  const reader = openSpoolReader({ folder, gauge, onTornTail: () => {}, onDamage })
  let calls = 0
  let position = from
  try {
    for (let isMore = true; isMore;) {
      let batches = 0
      position = reader.read(position, (batch) => {
        batches++
        calls += billedIn(batch)
      })
      isMore = batches > 0
    }
  } finally {
    reader.close()
  }
  cutOff(folder, position)
  return { end: position, calls }
}

/** Number of billed calls; the platform's own API is not billed. */
function billedIn(batch: RecordBatch): number {
  let calls = 0
  for (let index = 0; index < batch.count; index++) {
    const { api } = batch.attributions[batch.attributionId(index)]!
    if ((batch.flags(index) & FLAG_FORWARDED) !== 0 && api !== PLATFORM_API) calls++
  }
  return calls
}

function cutOff(folder: string, end: SpoolPosition): void {
  for (const [source, { segment, offset }] of Object.entries(end)) {
    const path = join(folder, source, segmentName(segment))
    const { size } = statSync(path, { throwIfNoEntry: false }) ?? { size: 0 }
    if (offset > 0 && size > offset) truncateSync(path, offset)
  }
}

/** Opens a clone of the copied store and counts the calls of its line items. Throws `StartRefused`. */
export async function countCallsOfStoreCopy(folder: string, scratch: string): Promise<number> {
  cloneStore(folder, scratch)
  const client = openClickHouse({ url: null, folder: scratch })
  try {
    return await countCalls(client, PLATFORM_API)
  } catch (cause) {
    throw new StartRefused(`the copy of the store cannot be read (${String(cause).slice(0, 200)})`, { cause })
  } finally {
    await client.close()
    rmSync(scratch, { recursive: true, force: true })
  }
}

function cloneStore(folder: string, scratch: string): void {
  const frame = new Set(frameOf(folder))
  try {
    for (const path of filesIn(folder)) {
      const to = join(scratch, path)
      mkdirSync(dirname(to), { recursive: true, mode: 0o700 })
      if (frame.has(path)) copyFile(join(folder, path), to)
      else linkSync(join(folder, path), to)
    }
  } catch (cause) {
    throw toStartRefused(scratch, cause)
  }
}
