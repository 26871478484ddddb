/** Everything that is stored about calls, computed in one pass and stored in one flush: usage, service levels, request log. */

import type { RecordBatch } from '../../storage/spool/record-batch.ts'
import type { ServiceLevelRow } from '../../storage/store/service-level-store.ts'
import type { LineItem } from '../../storage/store/usage-store.ts'
import { createMeter } from './meter.ts'
import type { LoggedRequest } from '../../storage/store/request-store.ts'
import { createRequestLog, type RequestLogMode } from './request-log.ts'
import { createServiceMeter } from '../service-level/service-meter.ts'
import type { CountEvent } from '../../foundation/runtime/event-reasons.ts'

export interface Metered {
  readonly items: readonly LineItem[]
  readonly levels: readonly ServiceLevelRow[]
  readonly requests: readonly LoggedRequest[]
}

export interface Metering {
  add(batch: RecordBatch): void
  take(): Metered
  /** The next flush has reached its size limit. */
  readonly isFull: boolean
  readonly isEmpty: boolean
}

export interface MeteringOptions {
  readonly requestLog: RequestLogMode
  readonly count: CountEvent
}

export function createMetering({ requestLog: mode, count }: MeteringOptions): Metering {
  const meter = createMeter()
  const serviceMeter = createServiceMeter()
  const requestLog = createRequestLog(mode, count)
  return {
    add(batch) {
      meter.add(batch)
      serviceMeter.add(batch)
      requestLog.add(batch)
    },
    take: () => ({ items: meter.take(), levels: serviceMeter.take(), requests: requestLog.take() }),
    get isFull() {
      return meter.isFull || serviceMeter.isFull
    },
    get isEmpty() {
      return meter.isEmpty
    },
  }
}
