/**
 * Reads the spool for metering and for risk, which have a position each.
 *
 * Usually both have the same position, and a record is read once for both. The positions differ when metering is full because
 * the store is unavailable, or after a crash between their commits. Then risk reads ahead, because subscribers watch it live,
 * and metering follows when it has room. Memory is bounded by what metering holds; other records stay in the spool.
 */

import type { RecordBatch } from '../../storage/spool/record-batch.ts'
import type { SpoolReader } from '../../storage/spool/spool-reader.ts'
import type { SpoolPosition } from '../../storage/store/checkpoint.ts'
import { isSame, isWithin } from '../../storage/spool/spool-position.ts'
import type { CountEvent } from '../../foundation/runtime/event-reasons.ts'

export interface IntakeOptions {
  readonly reader: Pick<SpoolReader, 'read'>
  readonly metered: SpoolPosition
  readonly evaluated: SpoolPosition
  readonly meter: (batch: RecordBatch) => void
  readonly evaluate: (batch: RecordBatch) => void
  /** Whether metering has reached its size limit. */
  readonly isFull: () => boolean
  readonly count: CountEvent
}

export interface Intake {
  /** Everything before this position was metered. */
  readonly metered: SpoolPosition
  /** Everything before this position was evaluated for risk. */
  readonly evaluated: SpoolPosition
  /** True if the last read reached the end of the spool for risk, so that an absence of calls means silence. */
  readonly isLevel: boolean
  /** Reads one stretch; returns whether there is more to read. */
  read(): boolean
}

/** About 50 ms of work, so that a long replay leaves room for other tasks. */
const STRETCH_BYTES = 4 * 1024 * 1024
/** A stretch with fewer records ended at the end of the spool. */
const RECORDS_MANY = 1_024

export function createIntake(options: IntakeOptions): Intake {
  return new SpoolIntake(options)
}

class SpoolIntake implements Intake {
  readonly #options: IntakeOptions
  metered: SpoolPosition
  evaluated: SpoolPosition
  isLevel = false
  #isBlocked = false

  constructor(options: IntakeOptions) {
    this.#options = options
    this.metered = options.metered
    this.evaluated = options.evaluated
  }

  read(): boolean {
    this.#updateBlocked()
    if (!this.#isBlocked && isSame(this.metered, this.evaluated)) return this.#readTogether()
    return this.#readSeparately()
  }

  #readTogether(): boolean {
    const { meter, evaluate } = this.#options
    this.metered = this.#readForRisk((batch) => {
      meter(batch)
      evaluate(batch)
    })
    return !this.isLevel
  }

  #readSeparately(): boolean {
    const { reader, meter, evaluate } = this.#options
    this.#readForRisk(evaluate)
    if (this.#isBlocked) return !this.isLevel
    const before = this.metered
    this.metered = reader.read(before, meter, { bytesMax: STRETCH_BYTES, until: this.evaluated })
    // If nothing between the two positions is readable, metering skips it. Metering never moves back: it would bill twice.
    if (isSame(this.metered, before) && isWithin(this.metered, this.evaluated)) this.metered = this.evaluated
    return !this.isLevel || !isSame(this.metered, before)
  }

  #readForRisk(onBatch: (batch: RecordBatch) => void): SpoolPosition {
    let records = 0
    this.evaluated = this.#options.reader.read(
      this.evaluated,
      (batch) => {
        records += batch.count
        onBatch(batch)
      },
      { bytesMax: STRETCH_BYTES },
    )
    this.isLevel = records < RECORDS_MANY
    return this.evaluated
  }

  #updateBlocked(): void {
    const isFull = this.#options.isFull()
    if (isFull && !this.#isBlocked) this.#options.count('metering_held_back')
    this.#isBlocked = isFull
  }
}
