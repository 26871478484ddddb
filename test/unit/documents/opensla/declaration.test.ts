import { describe, expect, it } from 'vitest'
import { parseDeclaration } from '../../../../src/documents/opensla/declaration.ts'
import { bytesOf, FULL_DECLARATION, LIBRARY, readPlan } from '../../../fixtures/test-declaration.ts'

const HOUR_MS = 3_600_000

describe('a declaration', () => {
  it('is read with all its sections', () => {
    const { limits, ...rest } = readPlan(FULL_DECLARATION)

    expect(rest).toMatchObject({
      api: 'library-v2',
      variant: 'gold',
      version: '2.1.0',
      quota: { period: 'Monthly', unitsMicro: 1_000_500_000 },
      alertShare: 0.825,
      unitsMicro: { addBook: 100_000, '*': 1_000_000 },
      currency: 'EUR',
      priceMicro: 1,
    })
    expect(limits.map(({ key }) => key)).toEqual([
      'reading at peak/totals.period',
      'reading at peak/rate',
      'reading at peak/concurrent',
      'reading/totals.hour',
      'reading/totals.day',
      'reading/totals.week',
      'reading/totals.month',
      'reading/rate',
      'everything/totals.week',
      'everything/rate',
      'everything/concurrent',
    ])
    expect(limits[1]).toMatchObject({
      name: 'reading at peak',
      key: 'reading at peak/rate',
      rule: { kind: 'rate', value: 100, spanMs: 60_000 },
      validity: [
        { startMs: 6 * HOUR_MS, endMs: 10 * HOUR_MS + 13 * 60_000 + 50_000 },
        { startMs: 16.5 * HOUR_MS, endMs: 20 * HOUR_MS },
      ],
    })
  })

  it('resolves each property of an operation from the definitions that name it, in order', () => {
    const { byOperation, limits } = readPlan(FULL_DECLARATION)
    const keysOf = (id: string) =>
      byOperation[id]?.map((group) => group.map((position) => limits[position]?.key)).sort()

    expect(keysOf('readBook')).toEqual(
      [
        ['reading at peak/totals.period'],
        ['reading at peak/rate', 'reading/rate', 'everything/rate'],
        ['reading at peak/concurrent', 'everything/concurrent'],
        ['reading/totals.hour'],
        ['reading/totals.day'],
        ['reading/totals.week', 'everything/totals.week'],
        ['reading/totals.month'],
      ].sort(),
    )
    expect(keysOf('*')).toEqual([['everything/concurrent'], ['everything/rate'], ['everything/totals.week']])
    expect(byOperation['addBook']).toBeUndefined()
  })

  it('has the same plan as JSON, with any white space', () => {
    const json = JSON.stringify({ opensla: '1.0.0', limits: [{ rate: { value: 3, duration: 'hour' } }] }, null, '\t')

    expect(parseDeclaration(bytesOf(json), LIBRARY).limits).toMatchObject([
      { name: 'limit 1', key: 'limit 1/rate', rule: { kind: 'rate', value: 3, spanMs: HOUR_MS }, validity: [] },
    ])
  })

  it('keeps the promises of the provider, even if members that the schema requires are missing', () => {
    expect(readPlan(FULL_DECLARATION).runtime).toEqual([
      {
        name: 'default',
        operationIds: null,
        validity: [],
        availabilityPercent: 99.5,
        concurrency: 40,
        throughput: [{ rps: 10, latency: [{ percentile: 99, maximumMs: 500, meanMs: 80 }] }],
        errorPercentMax: 1,
      },
    ])
  })

  it('reads guarantees as a promise', () => {
    const [promise] = readPlan('guarantees: { latency: { p95: 200ms, p99: 500 }, availability: 99.9% }').runtime

    expect(promise).toMatchObject({
      availabilityPercent: 99.9,
      throughput: [
        {
          rps: null,
          latency: [
            { percentile: 95, maximumMs: 200 },
            { percentile: 99, maximumMs: 500 },
          ],
        },
      ],
    })
  })

  it('reads the short forms as additional limits of every operation', () => {
    const { limits, byOperation } = readPlan(`
limits: [{ name: reads, operationIds: [readBook], rate: { value: 1, duration: week } }]
quotas: { rateLimit: 5000rpm, spikeArrest: 100tps, dailyQuota: 70000 }`)

    expect(limits.slice(1).map(({ rule }) => rule)).toEqual([
      { kind: 'rate', value: 5000, spanMs: 60_000 },
      { kind: 'rate', value: 100, spanMs: 1_000 },
      { kind: 'total', value: 70_000, window: 'day' },
    ])
    expect(byOperation).toEqual({ readBook: [[0], [1], [2], [3]], '*': [[1], [2], [3]] })
  })

  it('has by default no quota, and a cost of one unit per call', () => {
    expect(readPlan('')).toMatchObject({ variant: '', quota: null, alertShare: 0.8, unitsMicro: { '*': 1_000_000 } })
  })

  it('has separate values for operations with names of built-in object properties', () => {
    const { unitsMicro, byOperation } = readPlan(`
limits: [{ name: odd, operationIds: [constructor, __proto__], concurrent: 1 }]
resourceUnits: { operations: { constructor: 3, __proto__: 4 } }`)

    expect(Object.entries(unitsMicro)).toEqual(
      expect.arrayContaining([
        ['constructor', 3_000_000],
        ['__proto__', 4_000_000],
      ]),
    )
    expect(Object.keys(byOperation).sort()).toEqual(['*', '__proto__', 'constructor'])
  })
})
