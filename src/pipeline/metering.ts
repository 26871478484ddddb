/** All that is stored of calls, measured in one pass and stored in one flush: usage and service levels. */

import type { RecordBatch } from '../record/record-batch.ts'
import type { ServiceLevelRow } from '../store/service-level-store.ts'
import type { LineItem } from '../store/usage-store.ts'
import { createMeter } from './meter.ts'
import { createServiceMeter } from './service-meter.ts'

export interface Metered {
  readonly items: readonly LineItem[]
  readonly levels: readonly ServiceLevelRow[]
}

export interface Metering {
  add(batch: RecordBatch): void
  take(): Metered
  /** Holds as much as one flush may carry. */
  readonly isFull: boolean
  readonly isEmpty: boolean
}

export function createMetering(): Metering {
  const meter = createMeter()
  const serviceMeter = createServiceMeter()
  return {
    add(batch) {
      meter.add(batch)
      serviceMeter.add(batch)
    },
    take: () => ({ items: meter.take(), levels: serviceMeter.take() }),
    get isFull() {
      return meter.isFull || serviceMeter.isFull
    },
    get isEmpty() {
      return meter.isEmpty
    },
  }
}
