/**
 * Reads the spool for metering and for risk, which have separate positions.
 *
 * Usually both have the same position, and a record is read once for both. The positions differ when metering is full because
 * the store is unavailable, or after a crash between their commits. Then risk reads ahead, because subscribers watch it live,
 * and metering follows when it has room. Memory is bounded by what metering holds; other records stay in the spool.
 */

import type { RecordBatch } from '../record/record-batch.ts'
import type { SpoolReader } from '../record/spool-reader.ts'
import type { SpoolPosition } from '../store/checkpoint.ts'
import { isSame, isWithin } from '../record/spool-position.ts'
import type { CountEvent } from '../runtime/event-reasons.ts'

export interface IntakeOptions {
  readonly reader: Pick<SpoolReader, 'read'>
  readonly metered: SpoolPosition
  readonly judged: SpoolPosition
  readonly meter: (batch: RecordBatch) => void
  readonly judge: (batch: RecordBatch) => void
  /** Whether metering has reached its size limit. */
  readonly isFull: () => boolean
  readonly count: CountEvent
}

export interface Intake {
  /** Everything before this position was metered. */
  readonly metered: SpoolPosition
  /** Everything before this position was examined for risk. */
  readonly judged: SpoolPosition
  /** Risk has read everything that was written at its last read, so that the absence of calls means silence. */
  readonly isLevel: boolean
  /** Reads one stretch; returns whether there is more to read. */
  read(): boolean
}

/** About 50 ms of work, so that a long replay leaves room for other tasks. */
const STRETCH_BYTES = 4 * 1024 * 1024
/** A stretch with fewer records ended at the end of the spool. */
const RECORDS_MANY = 1_024

export function createIntake({ reader, meter, judge, isFull, count, ...from }: IntakeOptions): Intake {
  let { metered, judged } = from
  let isLevel = false
  let isBlocked = false

  function read(): boolean {
    updateBlocked(isFull())
    if (!isBlocked && isSame(metered, judged)) return readTogether()
    return readSeparately()
  }

  function readTogether(): boolean {
    let records = 0
    metered = judged = reader.read(
      judged,
      (batch) => {
        records += batch.count
        meter(batch)
        judge(batch)
      },
      { bytesMax: STRETCH_BYTES },
    )
    isLevel = records < RECORDS_MANY
    return !isLevel
  }

  function readSeparately(): boolean {
    let records = 0
    judged = reader.read(
      judged,
      (batch) => {
        records += batch.count
        judge(batch)
      },
      { bytesMax: STRETCH_BYTES },
    )
    isLevel = records < RECORDS_MANY
    if (isBlocked) return !isLevel
    const before = metered
    metered = reader.read(metered, meter, { bytesMax: STRETCH_BYTES, until: judged })
    // Nothing readable is left between the two. Metering never moves back: it would bill twice.
    if (isSame(metered, before) && isWithin(metered, judged)) metered = judged
    return !isLevel || !isSame(metered, before)
  }

  function updateBlocked(isNowFull: boolean): void {
    if (isNowFull && !isBlocked) count('metering_held_back')
    isBlocked = isNowFull
  }

  return {
    get metered() {
      return metered
    },
    get judged() {
      return judged
    },
    get isLevel() {
      return isLevel
    },
    read,
  }
}
