import { describe, expect, it } from 'vitest'
import { sumOfMeasures } from '../../../../src/foundation/domain/service-level.ts'
import { bucketOf } from '../../../../src/foundation/domain/latency-buckets.ts'
import { createServiceMeter } from '../../../../src/pipeline/service-level/service-meter.ts'
import type { CallRecord } from '../../../../src/storage/spool/call-record.ts'
import type { ServiceLevelRow } from '../../../../src/storage/store/service-level-store.ts'
import { createRandom } from '../../../random.ts'
import { attribution, call, someCalls, START_MS } from '../../../fixtures/calls.ts'
import { createMemorySpool } from '../../../fixtures/memory-spool.ts'

function measured(batches: readonly (readonly CallRecord[])[], meter = createServiceMeter(), firstKey = 0) {
  const spool = createMemorySpool(firstKey)
  for (const batch of batches) spool.append('one', batch)
  spool.read({}, meter.add)
  return meter.take()
}

describe('the service meter', () => {
  it('counts responses, failures and latencies by minute and operation, over all callers', () => {
    const [ada, bob] = [attribution(), attribution({ consumer: 'con_2', subscription: 'sub_2' })]
    const rows = measured([
      [
        call(ada, START_MS, 'served', { status: 200, upstreamUs: 900 }),
        call(bob, START_MS + 59_999, 'served', { status: 302, upstreamUs: 5_000 }),
        call(bob, START_MS, 'served', { status: 404, upstreamUs: 7_000 }),
        call(bob, START_MS, 'served', { status: 503, upstreamUs: 8_000 }),
        call(ada, START_MS, 'upstream_timeout', { status: 504 }),
        call(ada, START_MS, 'upstream_unhealthy', { status: 503, flags: 0 }),
        call(ada, START_MS + 60_000, 'served', { status: 200, upstreamUs: 900 }),
        call(attribution({ operation: 'other' }), START_MS, 'upstream_refused', { status: 502, flags: 0 }),
      ],
    ])

    const none = { calls: 0, unanswered: 0, errors: 0, successes: 0, latencyUs: 0 }
    expect(rows.map(({ latency: _, tenant: __, api: ___, ...row }) => row)).toEqual([
      {
        ...none,
        minuteMs: START_MS,
        operation: 'createPayment',
        calls: 6,
        unanswered: 2,
        errors: 1,
        successes: 2,
        latencyUs: 5_900,
      },
      { ...none, minuteMs: START_MS, operation: 'other', calls: 1, unanswered: 1 },
      { ...none, minuteMs: START_MS + 60_000, operation: 'createPayment', calls: 1, successes: 1, latencyUs: 900 },
    ])
    expect(rows[0]?.latency).toEqual(
      new Map([
        [bucketOf(900), 1],
        [bucketOf(5_000), 1],
      ]),
    )
  })

  it('has a row for each revision, which add up to those of records without revisions', () => {
    const random = createRandom(5)
    const unknown = someCalls(random, START_MS, 300, [attribution(), attribution({ operation: 'other' })])
    const known = unknown.map((each) => ({
      ...each,
      attribution: { ...each.attribution, revision: 9 + random.below(2) },
    }))
    const sums = (rows: readonly ServiceLevelRow[]) =>
      Object.fromEntries(
        [...Map.groupBy(rows, ({ operation }) => operation)].map(([id, of]) => [id, sumOfMeasures(of)]),
      )
    const rows = measured([known.slice(0, 100), known.slice(100)])

    expect(rows.map(({ operation, revision }) => `${operation} ${revision}`).sort()).toEqual([
      'createPayment 10',
      'createPayment 9',
      'other 10',
      'other 9',
    ])
    expect(sums(rows)).toEqual(sums(measured([unknown])))
    expect(measured([unknown]).every((row) => !('revision' in row))).toBe(true)
  })

  it('does not count what the gateway or the client caused', () => {
    const by = attribution()
    const rows = measured([
      [
        call(by, START_MS, 'rate_limited', { flags: 0 }),
        call(by, START_MS, 'credential_invalid', { flags: 0 }),
        call(by, START_MS, 'payload_invalid', { flags: 0 }),
        call(by, START_MS, 'client_aborted', { status: 499 }),
        call(by, START_MS, 'served', { flags: 0 }),
      ],
    ])

    expect(rows).toEqual([])
  })

  it('returns the same rows for the same records, independent of history and batches', () => {
    for (let seed = 1; seed <= 20; seed++) {
      const random = createRandom(seed)
      const parties = Array.from({ length: 12 }, (_, index) => attribution({ operation: `op${index % 5}` }))
      const calls = Array.from({ length: 10 }, (_, index) => someCalls(random, START_MS + index * 20_000, 40, parties))
      const used = createServiceMeter()
      measured([someCalls(random, START_MS - 90_000, 100, parties.toReversed())], used)
      const cut = calls.flatMap((batch) => [batch.slice(0, 9), batch.slice(9)])

      expect(measured(cut, used, 1_000), `seed ${seed}`).toEqual(measured(calls))
    }
  })

  it('reports when the flush has reached its size limit', () => {
    const meter = createServiceMeter()
    const spool = createMemorySpool()
    const calls = Array.from({ length: 10_000 }, (_, index) => call(attribution(), START_MS + index * 60_000))
    spool.append('one', calls)
    spool.read({}, meter.add)

    expect(meter.isFull).toBe(true)
    expect(meter.take()).toHaveLength(10_000)
    expect(meter.isFull).toBe(false)
  })
})
