/**
 * Reads the spool for metering and for risk, which stand at positions of their own.
 *
 * As a rule both stand at one place and a record is read once for both. They part when metering is full
 * because the store is away, or when a crash found them committed apart: then risk reads ahead, since
 * somebody is watching, and metering follows as it has room. Memory is bounded by what metering holds;
 * the rest stays in the spool.
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
  /** Metering can hold no more. */
  readonly isFull: () => boolean
  readonly count: CountEvent
}

export interface Intake {
  /** Everything before this was metered. */
  readonly metered: SpoolPosition
  /** Everything before this was looked at for risk. */
  readonly judged: SpoolPosition
  /** Risk has read all that was written when it last looked, so silence means silence. */
  readonly isLevel: boolean
  /** Reads one stretch; true where it is worth reading on at once. */
  read(): boolean
}

/** Some 50 ms of work, so that a long replay leaves room for others. */
const STRETCH_BYTES = 4 * 1024 * 1024
/** A stretch with fewer records ended because nothing more was written. */
const RECORDS_MANY = 1_024

export function createIntake({ reader, meter, judge, isFull, count, ...from }: IntakeOptions): Intake {
  let { metered, judged } = from
  let isLevel = false
  let isHeld = false

  function read(): boolean {
    hold(isFull())
    if (!isHeld && isSame(metered, judged)) return readTogether()
    return readApart()
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

  function readApart(): boolean {
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
    if (isHeld) return !isLevel
    const before = metered
    metered = reader.read(metered, meter, { bytesMax: STRETCH_BYTES, until: judged })
    // Nothing is left between them that could be read. Metering never goes back: it would bill twice.
    if (isSame(metered, before) && isWithin(metered, judged)) metered = judged
    return !isLevel || !isSame(metered, before)
  }

  function hold(isNowFull: boolean): void {
    if (isNowFull && !isHeld) count('metering_held_back')
    isHeld = isNowFull
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
