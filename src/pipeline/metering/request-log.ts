/**
 * Selects the calls of the request log: the refused ones, or all.
 *
 * A flush has a maximum number of rows. Above it the sampling rate halves: 1/2, 1/4, 1/8 … The hash of the request id decides,
 * so the same records give the same rows, independent of batches and order. Calls that are left out are counted.
 */

import { crc32 } from 'node:zlib'
import { UNKNOWN_REVISION } from '../../foundation/domain/attribution.ts'
import { IS_NOTE, OUTCOMES } from '../../foundation/domain/outcome.ts'
import type { RecordBatch } from '../../storage/spool/record-batch.ts'
import type { LoggedRequest } from '../../storage/store/request-store.ts'
import type { CountEvent } from '../../foundation/runtime/event-reasons.ts'

export type RequestLogMode = 'off' | 'refused' | 'all'

export interface RequestLog {
  add(batch: RecordBatch): void
  take(): readonly LoggedRequest[]
}

const ROWS_MAX = 20_000
const SERVED = 0
const HASH_MAX = 2 ** 32 - 1

export function createRequestLog(mode: RequestLogMode, count: CountEvent): RequestLog {
  let rows: LoggedRequest[] = []
  /** Rows with a higher hash are left out. */
  let hashMax = HASH_MAX
  let skipped = 0

  function add(batch: RecordBatch): void {
    for (let index = 0; index < batch.count; index++) {
      const outcome = batch.outcome(index)
      if (IS_NOTE[outcome] !== false || (outcome === SERVED && mode === 'refused')) continue
      if (hashMax < HASH_MAX && crc32(batch.requestId(index)) > hashMax) skipped++
      else rows.push(toRequest(batch, index))
      while (rows.length > ROWS_MAX) halve()
    }
  }

  function halve(): void {
    hashMax = Math.floor(hashMax / 2)
    const before = rows.length
    rows = rows.filter(({ requestId }) => crc32(requestId) <= hashMax)
    skipped += before - rows.length
  }

  return {
    add: mode === 'off' ? () => {} : add,
    take() {
      if (skipped > 0) count('request_log_skipped', skipped)
      const sorted = rows.sort((a, b) => a.timeMs - b.timeMs || (a.requestId < b.requestId ? -1 : 1))
      rows = []
      hashMax = HASH_MAX
      skipped = 0
      return sorted
    },
  }
}

export function toRequest(batch: RecordBatch, index: number): LoggedRequest {
  const { attribution, outcome, sequence: _, flags: __, admittedAgoMs: ___, ...numbers } = batch.at(index)
  const { tenant, api, operation, consumer, consumerName, subscription, agent, person, channel = 'http' } = attribution
  const { revision = UNKNOWN_REVISION } = attribution
  return {
    ...numbers,
    tenant,
    api,
    operation,
    consumer,
    consumerName,
    subscription,
    agent,
    person,
    channel,
    revision,
    requestId: batch.requestId(index),
    outcome: OUTCOMES[outcome] ?? '',
    explanation: batch.explanation(index),
  }
}
