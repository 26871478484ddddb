import { describe, expect, it } from 'vitest'
import { Problem } from '../../../src/domain/problem.ts'
import { checkDeclaration, parseDeclaration } from '../../../src/opensla/declaration.ts'

const HOUR_MS = 3_600_000
const api = {
  technicalName: 'library-v2',
  operationIds: ['listBooks', 'readBook', 'addBook', 'constructor', '__proto__'],
}

function bytesOf(text: string): Uint8Array {
  return new TextEncoder().encode(text)
}

function plan(text: string) {
  return parseDeclaration(bytesOf(`opensla: 1.0.0\n${text}`), api)
}

function caught(run: () => unknown): unknown {
  try {
    return run()
  } catch (error) {
    return error
  }
}

/** Returns the pointers of all faults. */
function faultsOf(text: string, head = 'opensla: 1.0.0\n'): string[] {
  try {
    parseDeclaration(bytesOf(head + text), api)
  } catch (error) {
    if (error instanceof Problem && error.code === 'specification_invalid') {
      return error.errors.map(({ pointer }) => pointer)
    }
    throw error
  }
  return []
}

function warningsOf(text: string): string[] {
  return checkDeclaration(bytesOf(`opensla: 1.0.0\n${text}`), api).warnings.map(({ pointer }) => pointer)
}

const FULL = `
info: { title: Library, description: All features, version: 2.1.0, variant: gold }
oas: { url: https://library.example/oas/, versions: [{ version: 2.0.0, url: '?v=2.0.0' }] }
support:
  channels: [{ name: mail, uri: help@library.example, levels: [p1] }]
  levels: [{ name: p1, response: 60 }]
continuity: { multiDatacentre: true, configuration: active-active }
recovery: { rpo: 5, rto: 1 }
runtime:
  - name: default
    availability: 99.5
    concurrency: 40
    throughput: [{ rps: 10, latency: [{ percentile: 99, maximum: 500, mean: 80 }] }]
    5xxResponsePercent: 1
limits:
  - name: reading at peak
    operationIds: [listBooks, readBook]
    totals: { period: 4000 }
    rate: { value: 100, duration: minute }
    concurrent: 4
    validity:
      - { name: morning, start: 06:00, end: 10:13:50 }
      - { name: evening, start: 16:30, end: 20:00 }
  - name: reading
    operationIds: [listBooks, readBook]
    totals: { hour: 2000, day: 50000, week: 100000, month: 300000 }
    rate: { value: 2, duration: second }
  - name: everything
    totals: { week: 25000 }
    concurrent: 2
    rate: { value: 1, duration: second }
quotas: { period: Monthly, resourceUnits: 1000.5, alertThreshold: 82.5 }
resourceUnits: { default: 1, operations: { addBook: 0.1 } }
price: { currency: EUR, perUnit: '0.000001' }
`

describe('a declaration', () => {
  it('is read with all its sections', () => {
    const { limits, ...rest } = plan(FULL)

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
    const { byOperation, limits } = plan(FULL)
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

    expect(parseDeclaration(bytesOf(json), api).limits).toMatchObject([
      { name: 'limit 1', key: 'limit 1/rate', rule: { kind: 'rate', value: 3, spanMs: HOUR_MS }, validity: [] },
    ])
  })

  it('keeps the promises of the provider, even if members that the schema requires are missing', () => {
    expect(plan(FULL).runtime).toEqual([
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
    const [promise] = plan('guarantees: { latency: { p95: 200ms, p99: 500 }, availability: 99.9% }').runtime

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
    const { limits, byOperation } = plan(`
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
    expect(plan('')).toMatchObject({ variant: '', quota: null, alertShare: 0.8, unitsMicro: { '*': 1_000_000 } })
  })

  it('has separate values for operations with names of built-in object properties', () => {
    const { unitsMicro, byOperation } = plan(`
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

describe('the times of a validity', () => {
  const at = (start: string, end: string, head = 'opensla: 1.0.0\n') =>
    parseDeclaration(
      bytesOf(`${head}limits: [{ name: a, concurrent: 1, validity: [{ name: v, start: ${start}, end: ${end} }] }]`),
      api,
    ).limits[0]?.validity

  it.each([
    ['00:00', '03:00', 0, 3 * HOUR_MS],
    ['21:00', '24:00', 21 * HOUR_MS, 0],
    ['22:30', '02:15', 22.5 * HOUR_MS, 2.25 * HOUR_MS],
    ['10:13:50', '10:13:51', 36_830_000, 36_831_000],
    ['00:00', '24:00', 0, 0],
    ['09:00:00Z', '10:00:00Z', 9 * HOUR_MS, 10 * HOUR_MS],
    ['09:00:00+02:00', '10:00:00-02:30', 7 * HOUR_MS, 12.5 * HOUR_MS],
    ['01:00:00+02:00', '12:00:00.25Z', 23 * HOUR_MS, 12 * HOUR_MS + 250],
  ])('are read from %s to %s', (start, end, startMs, endMs) => {
    expect(at(start, end)).toEqual([{ startMs, endMs }])
    expect(at(`'${start}'`, `'${end}'`)).toEqual([{ startMs, endMs }])
  })

  it('do not read 06:00 as 360, even in a document of YAML 1.1', () => {
    expect(at('06:00', '10:13:50', '%YAML 1.1\n---\nopensla: 1.0.0\n')).toEqual([
      { startMs: 6 * HOUR_MS, endMs: 36_830_000 },
    ])
  })

  it.each([
    '24:01',
    '25:00',
    '12:60',
    '12:30:61',
    '6:00',
    '0600',
    'noon',
    '-01:00',
    '10:00+24:00',
    '360',
    'null',
    '""',
  ])('refuses %s', (time) => {
    expect(
      faultsOf(`limits: [{ name: a, concurrent: 1, validity: [{ name: v, start: ${time}, end: '12:00' }] }]`),
    ).toEqual(['/limits/0/validity/0/start'])
  })

  it.each([
    [
      'that touch at midnight',
      [
        ['00:00', '03:00'],
        ['21:00', '24:00'],
      ],
      [[21, 3]],
    ],
    [
      'in a chain, in any order',
      [
        ['12:00', '14:00'],
        ['08:00', '10:00'],
        ['10:00', '12:00'],
      ],
      [[8, 14]],
    ],
    [
      'that overlap',
      [
        ['09:00', '12:00'],
        ['11:00', '14:00'],
      ],
      [[9, 14]],
    ],
    [
      'that lie in one another',
      [
        ['09:00', '20:00'],
        ['11:00', '14:00'],
      ],
      [[9, 20]],
    ],
    [
      'over midnight',
      [
        ['22:00', '02:00'],
        ['01:00', '04:00'],
      ],
      [[22, 4]],
    ],
    [
      'that make up a day',
      [
        ['12:00', '00:00'],
        ['00:00', '12:00'],
      ],
      [[0, 0]],
    ],
    [
      'that go round',
      [
        ['20:00', '08:00'],
        ['07:00', '21:00'],
      ],
      [[0, 0]],
    ],
  ])('merge spans %s', (_, spans, hours) => {
    const validity = JSON.stringify(spans.map(([start, end]) => ({ name: 'v', start, end })))

    expect(plan(`limits: [{ name: a, concurrent: 1, validity: ${validity} }]`).limits[0]?.validity).toEqual(
      hours.map(([start, end]) => ({ startMs: (start ?? 0) * HOUR_MS, endMs: (end ?? 0) * HOUR_MS })),
    )
  })

  it('keep spans separate that do not touch', () => {
    expect(plan(FULL).limits[0]?.validity).toHaveLength(2)
  })
})

describe('the reader of units and prices', () => {
  const price = (perUnit: string) => plan(`price: { currency: EUR, perUnit: ${perUnit} }`).priceMicro

  it.each([
    ['0', 0],
    ['0.1', 100_000],
    ['"0.3"', 300_000],
    ['1.1', 1_100_000],
    ['0.000001', 1],
    ['5e-05', 50],
    ['1e-6', 1],
    ['1.5E2', 150_000_000],
    ['999999999.999999', 999_999_999_999_999],
    ['4.35', 4_350_000],
    ['.5', 500_000],
    ['12', 12_000_000],
  ])('reads %s exactly', (text, micro) => {
    expect(price(text)).toBe(micro)
  })

  it.each([
    '0.0000001',
    '1e-7',
    '0.30000000000000004',
    '0.1000000000000000055',
    '-1',
    '.inf',
    '1000000000',
    '1e9',
    '""',
    'true',
    '"1,5"',
  ])('refuses %s', (text) => {
    expect(faultsOf(`price: { currency: EUR, perUnit: ${text} }`)).toEqual(['/price/perUnit'])
  })
})

describe('an invalid declaration', () => {
  it.each([
    ['limits: [{ name: a, operationIds: [readBook, burnBook], concurrent: 1 }]', ['/limits/0/operationIds/1']],
    ['limits: [{ name: a, operationIds: [toString], concurrent: 1 }]', ['/limits/0/operationIds/0']],
    ['limits: [{ name: a, totals: { period: 5 } }]', ['/limits/0/totals/period']],
    ['limits: [{ name: a, concurrent: 1 }, { name: a, concurrent: 2 }]', ['/limits/1/name']],
    ['limits: [{ name: a, totals: { decade: 1, "a/b": 1 } }]', ['/limits/0/totals/decade', '/limits/0/totals/a~1b']],
    ['limits: [{ name: a, totals: { day: 1.5 } }]', ['/limits/0/totals/day']],
    ['limits: [{ name: a, totals: { day: -1 } }]', ['/limits/0/totals/day']],
    ['limits: [{ name: a, rate: { value: 1, duration: month } }]', ['/limits/0/rate/duration']],
    ['limits: [{ name: a, rate: { value: 1, duration: constructor } }]', ['/limits/0/rate/duration']],
    ['limits: [{ name: a, rate: { duration: day } }]', ['/limits/0/rate/value']],
    ['limits: [{ name: a, rate: { value: 900000011, duration: week } }]', ['/limits/0/rate/value']],
    ['limits: [{ name: a, concurrent: lots }]', ['/limits/0/concurrent']],
    ['limits: { name: a }', ['/limits']],
    ['limits: [a]', ['/limits/0']],
    ['quotas: { period: Weekly, resourceUnits: 1 }', ['/quotas/period']],
    ['quotas: { resourceUnits: 1 }', ['/quotas/period']],
    ['quotas: { period: Daily }', ['/quotas/resourceUnits']],
    ['quotas: { alertThreshold: 0 }', ['/quotas/alertThreshold']],
    ['quotas: { rateLimit: 5 per minute, dailyQuota: many }', ['/quotas/rateLimit', '/quotas/dailyQuota']],
    ['resourceUnits: { operations: { burnBook: 1 } }', ['/resourceUnits/operations/burnBook']],
    ['price: { perUnit: 1 }', ['/price/currency']],
    [
      'runtime: [{ name: a, availability: 101, operationIds: [x] }]',
      ['/runtime/0/operationIds/0', '/runtime/0/availability'],
    ],
    ['guarantees: { latency: { fast: 1 } }', ['/guarantees/latency/fast']],
  ])('%s', (text, pointers) => {
    expect(faultsOf(text)).toEqual(pointers)
  })

  it.each([
    ['no version', 'limits: []', ['/opensla']],
    ['a version as a number', 'opensla: 1.0', ['/opensla']],
    ['another major version', 'opensla: 2.0.0', ['/opensla']],
    ['a list', '[1]', ['']],
    ['nothing', '', ['']],
    ['no YAML', 'a: [', ['']],
    ['a key twice', 'opensla: 1.0.0\nopensla: 1.0.0', ['']],
  ])('is refused with %s', (_, text, pointers) => {
    expect(faultsOf(text, '')).toEqual(pointers)
  })

  it('is refused if it is not UTF-8, too large, or a bomb of aliases', () => {
    const bomb = [
      'a: &a [x,x,x,x,x,x,x,x,x,x]',
      ...'bcdefgh'.split('').map((to, at) => {
        const from = 'abcdefgh'[at] ?? 'a'
        return `${to}: &${to} [${Array.from({ length: 10 }, () => `*${from}`).join(',')}]`
      }),
    ].join('\n')
    for (const bytes of [new Uint8Array([0xff, 0xfe, 0xff]), new Uint8Array(1024 * 1024 + 1), bytesOf(bomb)]) {
      expect(() => parseDeclaration(bytes, api)).toThrow(Problem)
    }
  })

  it.each([
    ['opensla: 1.0.0\nlimits:\n  - name: a\n    totals:\n      period: 5\n', '/limits/0/totals/period', 5, 7],
    ['opensla: 1.0.0\nlimits:\n  - name: a\n    rate: { value: 5 }', '/limits/0/rate/duration', 4, 5],
    [
      'opensla: 1.0.0\nlimits:\n  - name: a\n    operationIds:\n      - readBook\n      - burn',
      '/limits/0/operationIds/1',
      6,
      9,
    ],
    ['x: &a\n  value: many\n  duration: day\nopensla: 1.0.0\nlimits: [{ rate: *a }]', '/limits/0/rate/value', 2, 3],
    ['\n\nlimits: []', '/opensla', 3, 1],
    ['{\n\t"opensla": "1.0.0",\n\t"price": {"currency": "EUR",\n\t\t"perUnit": -1}}', '/price/perUnit', 4, 3],
    ['opensla: 1.0.0\nlimits: [\n  a: b: c', '', 3, 6],
  ])('%j is reported with line and column', (text, pointer, line, column) => {
    const error = caught(() => parseDeclaration(bytesOf(text), api))

    expect(error).toMatchObject({ errors: [{ pointer, line, column }] })
  })

  it('is reported with all its faults', () => {
    expect(faultsOf('limits: [{ name: a, concurrent: -1, totals: { day: x } }]\nprice: {}')).toEqual([
      '/limits/0/totals/day',
      '/limits/0/concurrent',
      '/price/currency',
      '/price/perUnit',
    ])
  })
})

describe('a part of a declaration without effect', () => {
  it.each([
    ['limits: [{ name: a, concurrent: 1 }, { name: b, concurrent: 2 }]', ['/limits/1/concurrent']],
    [
      'limits: [{ name: a, totals: { day: 1 } }, { name: b, operationIds: [readBook], totals: { day: 2 } }]',
      ['/limits/1/totals/day'],
    ],
    ['limits: [{ name: a, operationIds: [readBook], concurrent: 1 }, { name: b, concurrent: 2 }]', []],
    ['limits: [{ name: a, operationIds: [], concurrent: 1 }]', ['/limits/0/operationIds']],
    ['limits: [{ name: a, concurent: 1, x-note: fine }]', ['/limits/0/concurent']],
    ['limits: [{ totals: { minute: 60, hour: 3600, day: 86400 } }]', []],
    ['limits: [{ totals: { minute: 60, hour: 3601 } }]', ['/limits/0/totals/hour']],
    ['limits: [{ totals: { day: 10, month: 310 } }]', []],
    ['limits: [{ totals: { day: 10, month: 311 } }]', ['/limits/0/totals/month']],
    ['limits: [{ totals: { minute: 6, hour: 5 } }]', ['/limits/0/totals/minute']],
    ['limits: [{ totals: { minute: 0, hour: 5 } }]', []],
    [
      'limits: [{ totals: { period: 9, hour: 5, day: 9 }, validity: [{ start: 06:00, end: 10:00 }] }]',
      ['/limits/0/totals/day'],
    ],
    ['limits: [{ totals: { hour: 5 }, validity: [{ start: 06:00, end: 06:30 }] }]', ['/limits/0/totals/hour']],
    ['limits: [{ totals: { hour: 5 }, validity: [{ start: 23:30, end: 00:30 }] }]', []],
    ['quota: { period: Daily }', ['/quota']],
    ['quotas: { period: PayAsYouGo, resourceUnits: 5 }', ['/quotas/resourceUnits']],
  ])('%s', (text, pointers) => {
    expect(warningsOf(text)).toEqual(pointers)
  })

  it('is reported with pointer, line and column', () => {
    const { warnings } = checkDeclaration(
      bytesOf(`opensla: 1.0.0\nlimits:\n  - totals: { minute: 250,\n      hour: 100000 }`),
      api,
    )

    expect(warnings).toEqual([
      {
        pointer: '/limits/0/totals/hour',
        detail: 'This limit is never reached: 250 calls per minute allow at most 15000 per hour, below 100000.',
        line: 4,
        column: 7,
      },
    ])
  })
})
