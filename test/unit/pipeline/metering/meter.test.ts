import { describe, expect, it } from 'vitest'
import type { Attribution } from '../../../../src/foundation/domain/attribution.ts'
import { createMeter } from '../../../../src/pipeline/metering/meter.ts'
import type { CallRecord } from '../../../../src/storage/spool/call-record.ts'
import type { LineItem } from '../../../../src/storage/store/usage-store.ts'
import { createRandom } from '../../../random.ts'
import { attribution, call, someCalls, START_MS } from '../../../fixtures/calls.ts'
import { createMemorySpool } from '../../../fixtures/memory-spool.ts'

/** Returns the line items of `batches`; a null starts another segment. */
function meterOf(
  batches: readonly (readonly CallRecord[] | null)[],
  meter = createMeter(),
  firstKey = 0,
): readonly LineItem[] {
  const spool = createMemorySpool(firstKey)
  for (const batch of batches) {
    if (batch === null) spool.roll('one')
    else spool.append('one', batch)
  }
  spool.read({}, meter.add)
  return meter.take()
}

const sums = (items: readonly LineItem[]) =>
  items.map(({ operation, windowStartMs, calls, unitsMicro }) => [
    operation,
    windowStartMs - START_MS,
    calls,
    unitsMicro,
  ])

describe('the meter', () => {
  it('sums calls and units by key and ten-second window', () => {
    const [a, b] = [attribution({ operation: 'a' }), attribution({ operation: 'b' })]
    const items = meterOf([
      [call(a, START_MS), call(b, START_MS + 9_999), call(a, START_MS + 9_999)],
      [call(a, START_MS + 10_000), call(a, START_MS)],
    ])

    expect(sums(items)).toEqual([
      ['a', 0, 3, 3_000_000n],
      ['b', 0, 1, 1_000_000n],
      ['a', 10_000, 1, 1_000_000n],
    ])
  })

  it('counts forwarded calls only; a forwarded failure counts without units', () => {
    const by = attribution()
    const items = meterOf([
      [call(by, START_MS, 'rate_limited'), call(by, START_MS, 'upstream_broken', { flags: 1, status: 502 })],
      [call(by, START_MS, 'credential_invalid')],
    ])

    expect(sums(items)).toEqual([['createPayment', 0, 1, 0n]])
  })

  it('separates tool calls over MCP from plain calls', () => {
    const [plain, tool] = [attribution(), { ...attribution(), channel: 'mcp' as const }]
    const items = meterOf([[call(plain, START_MS), call(tool, START_MS), call(tool, START_MS)]])
    const found = items.map(({ channel = 'http', calls }) => `${channel} ${calls}`)
    expect(found.sort()).toEqual(['http 1', 'mcp 2'])
  })

  it('separates the revisions of an API, whose items add up to those of calls without revisions', () => {
    const parties = [attribution({ operation: 'a' }), attribution({ operation: 'b' })]
    const random = createRandom(3)
    const unknown = someCalls(random, START_MS, 200, parties)
    const known = unknown.map((each) => ({
      ...each,
      attribution: { ...each.attribution, revision: 9 + random.below(2) },
    }))
    const items = meterOf([known.slice(0, 50), null, known.slice(50)])
    expect(new Set(items.map(({ revision }) => revision))).toEqual(new Set([9, 10]))
    const total = (rows: readonly LineItem[]) =>
      Map.groupBy(rows, ({ operation, windowStartMs }) => `${operation} ${windowStartMs}`)
        .entries()
        .map(([key, own]) => [
          key,
          own.reduce((sum, { calls }) => sum + calls, 0),
          own.reduce((sum, { unitsMicro }) => sum + unitsMicro, 0n),
        ])
        .toArray()
        .sort()
    expect(total(items)).toEqual(total(meterOf([unknown])))
  })

  it('gives records of an earlier version the rows that it gave them', () => {
    const [plain, tool] = [attribution(), attribution({ channel: 'mcp' })]
    const items = meterOf([[call(tool, START_MS), call(plain, START_MS)]])
    expect(items.map(({ channel, revision }) => [channel, revision])).toEqual([
      ['mcp', undefined],
      [undefined, undefined],
    ])
    expect(items.every((item) => !('revision' in item))).toBe(true)
  })

  it('omits only the person from line items', () => {
    const by = attribution({ agent: 'agt', person: 'Ada' })
    const others: Attribution[] = [
      { ...by, person: 'Bob' },
      ...(['tenant', 'api', 'operation', 'consumer', 'subscription', 'agent', 'variant', 'currency'] as const).map(
        (field) => ({ ...by, [field]: 'other' }),
      ),
      { ...by, priceMicro: 1 },
      { ...by, revision: 2 },
    ]
    const items = meterOf([[by, ...others].map((each) => call(each, START_MS))])

    expect(items).toHaveLength(others.length)
    expect(items.map(({ calls }) => calls).sort()).toEqual([1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 2])
    expect(items.some((item) => 'person' in item)).toBe(false)
  })

  it('is exact above the range of exact doubles', () => {
    const by = attribution()
    const unitsMicro = 999_999_999_999_999
    const items = meterOf([Array.from({ length: 1_001 }, () => call(by, START_MS, 'served', { unitsMicro }))])

    expect(items[0]?.unitsMicro).toBe(1_001n * BigInt(unitsMicro))
  })

  it('returns the same line items for the same records, independent of history and batches', () => {
    for (let seed = 1; seed <= 20; seed++) {
      const random = createRandom(seed)
      const parties = Array.from({ length: 30 }, (_, index) =>
        attribution({ consumer: `con_${index % 7}`, consumerName: `Name ${index % 3}`, operation: `op${index % 5}` }),
      )
      const calls = Array.from({ length: 10 }, (_, index) => someCalls(random, START_MS + index * 7_000, 50, parties))
      const used = createMeter()
      meterOf([someCalls(random, START_MS - 50_000, 100, parties.toReversed())], used)

      const cut = calls.flatMap((batch) => (random.below(2) ? [batch, null] : [batch.slice(0, 9), batch.slice(9)]))
      expect(meterOf(cut, used, 1_000), `seed ${seed}`).toEqual(meterOf(calls))
    }
  })

  it('agrees with a plain sum over many keys and windows', () => {
    const seed = 3
    const random = createRandom(seed)
    const parties = Array.from({ length: 3_000 }, (_, index) => attribution({ consumer: `con_${index}` }))
    const calls = Array.from({ length: 60 }, (_, index) => someCalls(random, START_MS + index * 3_000, 200, parties))
    const items = meterOf(calls)

    const expected = new Map<string, bigint>()
    for (const { attribution: by, timeMs, unitsMicro, flags } of calls.flat()) {
      if ((flags & 1) === 0) continue
      const key = `${by.consumer} ${timeMs - (timeMs % 10_000)}`
      expected.set(key, (expected.get(key) ?? 0n) + BigInt(unitsMicro))
    }
    const found = new Map(items.map((item) => [`${item.consumer} ${item.windowStartMs}`, item.unitsMicro]))
    expect(found, `seed ${seed}`).toEqual(expected)
  })

  it('reports when the flush has reached its size limit', () => {
    const meter = createMeter()
    const spool = createMemorySpool()
    const by = attribution()
    for (let window = 0; window < 10; window++)
      spool.append(
        'one',
        Array.from({ length: 10_000 }, (_, index) => call(by, START_MS + (window * 10_000 + index) * 10_000)),
      )
    spool.read({}, meter.add)

    expect(meter.isFull).toBe(true)
    expect(meter.take()).toHaveLength(100_000)
    expect(meter.isFull).toBe(false)
  })
})
