/** Calls whose fields are computed from their request id, so that a record that is read can be verified. */

import { ANONYMOUS, type Attribution } from '../../src/foundation/domain/attribution.ts'
import { toRequestId } from '../../src/storage/spool/record-batch.ts'
import type { CallRecord } from '../../src/storage/spool/call-record.ts'

const CONSUMERS = 7

const attributions: readonly Attribution[] = Array.from({ length: CONSUMERS }, (_, index) => ({
  ...ANONYMOUS,
  tenant: `tenant-${index % 2}`,
  api: 'payments-v1',
  operation: `pay-${index % 3}`,
  consumer: `con_${index}`,
  consumerName: `Consumer ${index}`,
  currency: 'EUR',
  priceMicro: 1_000 + index,
}))

export function callOf(prefix: string, sequence: number): CallRecord {
  const mixed = Math.imul(Number.parseInt(prefix.slice(-7), 16) ^ sequence, 0x9e3779b1) >>> 8
  return {
    attribution: attributions[mixed % CONSUMERS]!,
    sequence,
    timeMs: 1_700_000_000_000 + sequence,
    durationUs: mixed % 5_000,
    upstreamUs: 1,
    admittedAgoMs: 0,
    status: 200,
    outcome: 0,
    flags: 1,
    unitsMicro: (mixed % 1_000) * 1_000,
    requestBytes: mixed % 77,
    responseBytes: sequence,
  }
}

/** Batches are views on a buffer, so only the id is copied, and whether the record equals the written one. */
export function isTrue(id: string, record: CallRecord): boolean {
  const [prefix, sequence] = [id.slice(0, 16), Number.parseInt(id.slice(16), 16)]
  const { attribution, ...rest } = callOf(prefix, sequence)
  const { attribution: named, ...read } = record
  return JSON.stringify(named) === JSON.stringify(attribution) && isSame(rest, read)
}

function isSame(a: Readonly<Record<string, number>>, b: Readonly<Record<string, number>>): boolean {
  return Object.keys(a).every((name) => a[name] === b[name])
}

export { toRequestId }
