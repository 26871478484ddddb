import { describe, expect, it } from 'vitest'
import { Problem } from '../../../../src/foundation/domain/problem.ts'
import { checkDeclaration, parseDeclaration } from '../../../../src/documents/opensla/declaration.ts'
import { bytesOf, faultsOf, LIBRARY, warningsOf } from '../../../fixtures/test-declaration.ts'

function caught(run: () => unknown): unknown {
  try {
    return run()
  } catch (error) {
    return error
  }
}

describe('an invalid declaration', () => {
  it.each([
    ['limits: [{ name: a, operationIds: [readBook, burnBook], concurrent: 1 }]', ['/limits/0/operationIds/1']],
    ['limits: [{ name: a, operationIds: [toString], concurrent: 1 }]', ['/limits/0/operationIds/0']],
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

  it('names the operations of the API', () => {
    const text = 'opensla: 1.0.0\nlimits: [{ name: a, operationIds: [burnBook], concurrent: 1 }]'
    const many = Array.from({ length: 12 }, (_, index) => `op${index}`)
    const detailOf = (operationIds: readonly string[]): string | undefined => {
      const fault = caught(() => parseDeclaration(bytesOf(text), { ...LIBRARY, operationIds }))
      return (fault as Problem).errors[0]?.detail
    }
    expect(detailOf(LIBRARY.operationIds)).toMatch(/"burnBook"\. .*: listBooks, readBook, addBook, .*__proto__\.$/)
    expect(detailOf(many)).toMatch(/op9 and 2 more\.$/)
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
      expect(() => parseDeclaration(bytes, LIBRARY)).toThrow(Problem)
    }
  })

  it.each([
    ['opensla: 1.0.0\nlimits:\n  - name: a\n    totals:\n      day: -5\n', '/limits/0/totals/day', 5, 7],
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
    const error = caught(() => parseDeclaration(bytesOf(text), LIBRARY))

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

it('Definitions of one name count apart, under names of their own', () => {
  const rows =
    'operationIds: [readBook], concurrent: 1 }, { name: a, concurrent: 2 }, { name: a (2), totals: { day: 3 } }'
  const { limits } = parseDeclaration(bytesOf(`opensla: 1.0.0\nlimits: [{ name: a, ${rows}]`), LIBRARY)
  expect(limits.map(({ name, key }) => `${name}: ${key}`)).toEqual([
    'a: a/concurrent',
    'a (2): a (2)/concurrent',
    'a (2) (2): a (2) (2)/totals.day',
  ])
})

describe('a part of a declaration without effect', () => {
  it.each([
    ['limits: [{ name: a, concurrent: 1 }, { name: b, concurrent: 2 }]', ['/limits/1/concurrent']],
    ['limits: [{ name: a, concurrent: 1 }, { name: a, totals: { day: 2 } }]', ['/limits/1/name']],
    ['limits: [{ name: a, totals: { period: 5 } }]', ['/limits/0/totals/period']],
    ['limits: [{ name: a, totals: { decade: 1, "a/b": 1 } }]', ['/limits/0/totals/decade', '/limits/0/totals/a~1b']],
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
      LIBRARY,
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
