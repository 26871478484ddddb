/** A spool with a real reader and real writers, and the calls to write to it. */

import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import { ANONYMOUS, type Attribution } from '../../../src/foundation/domain/attribution.ts'
import type { Damage } from '../../../src/storage/spool/damage.ts'
import type { CallRecord } from '../../../src/storage/spool/call-record.ts'
import type { SpoolPosition } from '../../../src/storage/store/checkpoint.ts'
import { createSpoolGaugeMemory, openSpoolGauge } from '../../../src/storage/spool/spool-gauge.ts'
import { openSpoolReader } from '../../../src/storage/spool/spool-reader.ts'
import { createSpoolWriter, type RecordedCall } from '../../../src/storage/spool/spool-writer.ts'
import { systemClock } from '../../../src/foundation/runtime/clock.ts'

export const attribution = (consumer: string): Attribution => ({
  ...ANONYMOUS,
  tenant: 't',
  api: 'payments-v1',
  operation: 'pay',
  consumer,
})

export function call(sequence: number, by: Attribution, outcomes?: string[]): RecordedCall {
  return {
    attribution: by,
    timeMs: 1_700_000_000_000 + sequence,
    durationUs: 1_500,
    upstreamUs: 1_000,
    admittedAgoMs: 3,
    status: 201,
    outcome: 3,
    flags: 1,
    unitsMicro: 2_500_000,
    requestBytes: 6_000_000_000,
    responseBytes: 7,
    sequence,
    onSafe: () => outcomes?.push(`safe ${sequence}`),
    onRefused: () => outcomes?.push(`refused ${sequence}`),
  }
}

export interface SpoolOptions {
  readonly segmentBytesMax?: number
  readonly bytesMax?: number
}

/** Opens a reader on `folder`, and returns a function that starts writers. */
export function openSpool(folder: string, options: SpoolOptions = {}) {
  const gauge = openSpoolGauge(createSpoolGaugeMemory(), options.bytesMax ?? 1 << 30)
  const torn: number[] = []
  const damages: Damage[] = []
  const reader = openSpoolReader({
    folder,
    gauge,
    onTornTail: (_, bytes) => torn.push(bytes),
    onDamage: (damage) => damages.push(damage),
  })
  const start = (source = 'gateway-0') =>
    createSpoolWriter({
      folder: join(folder, source),
      requestPrefix: '0123456789abcdef',
      sync: 'never',
      gauge,
      clock: systemClock,
      onGrowth: () => reader.notify(),
      onFailure: () => {},
      ...(options.segmentBytesMax && { segmentBytesMax: options.segmentBytesMax }),
    })
  return { gauge, reader, torn, damages, start }
}

/** Reads everything after `from` and returns the records. */
export function drain(reader: ReturnType<typeof openSpoolReader>, from: SpoolPosition = {}, until?: SpoolPosition) {
  const records: CallRecord[] = []
  const ids: string[] = []
  const position = reader.read(
    from,
    (batch) => {
      for (let index = 0; index < batch.count; index++) {
        records.push(batch.at(index))
        ids.push(batch.requestId(index))
      }
    },
    until && { until },
  )
  return { records, ids, position }
}

export const turn = () => new Promise<void>((resolve) => setImmediate(() => setImmediate(resolve)))
export const segmentsIn = (folder: string) => readdirSync(join(folder, 'gateway-0')).sort()
