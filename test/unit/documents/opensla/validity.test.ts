import { describe, expect, it } from 'vitest'
import { parseDeclaration } from '../../../../src/documents/opensla/declaration.ts'
import { bytesOf, faultsOf, FULL_DECLARATION, LIBRARY, readPlan } from '../../../fixtures/test-declaration.ts'

const HOUR_MS = 3_600_000

describe('the times of a validity', () => {
  const at = (start: string, end: string, head = 'opensla: 1.0.0\n') =>
    parseDeclaration(
      bytesOf(`${head}limits: [{ name: a, concurrent: 1, validity: [{ name: v, start: ${start}, end: ${end} }] }]`),
      LIBRARY,
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

    expect(readPlan(`limits: [{ name: a, concurrent: 1, validity: ${validity} }]`).limits[0]?.validity).toEqual(
      hours.map(([start, end]) => ({ startMs: (start ?? 0) * HOUR_MS, endMs: (end ?? 0) * HOUR_MS })),
    )
  })

  it('keep spans separate that do not touch', () => {
    expect(readPlan(FULL_DECLARATION).limits[0]?.validity).toHaveLength(2)
  })
})
