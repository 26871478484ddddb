import { parseList, type Item } from 'structured-headers'
import { expect, it } from 'vitest'
import { toLimitLines, toQuotaLines } from '../../../src/limits/limit-headers.ts'
import { parseHeaderLines } from '../../../src/foundation/runtime/parse-header-lines.ts'
import { openLimit, type TestLimiter } from '../../fixtures/test-limits.ts'

function headersOf({ sla, limiter }: TestLimiter, operation = 0): Record<string, string> {
  const { verdict } = limiter
  const flat = parseHeaderLines(toLimitLines(sla, operation, verdict) + toQuotaLines(sla, verdict.quotaUsedMicro))
  return Object.fromEntries(flat.flatMap((name, index) => (index % 2 === 0 ? [[name, flat[index + 1] ?? '']] : [])))
}

it('describes the tightest limit that applied, its remaining calls and its reset', () => {
  const opened = openLimit({ totals: { hour: 10, day: 5 }, rate: { value: 100, duration: 'second' } })
  opened.take('2026-03-04T23:59:30')

  expect(headersOf(opened)).toEqual({
    'RateLimit-Policy': '"a day";q=5;w=86400',
    RateLimit: '"a day";r=4;t=30',
    'X-RU-Cost': '1',
  })
})

it('describes a rate by its span and concurrent calls by their unit', () => {
  const rate = openLimit({ rate: { value: 4, duration: 'minute' } })
  rate.take(0)
  rate.take(0)
  const gauge = openLimit({ concurrent: 3 })
  gauge.take(0)

  expect(headersOf(rate)).toMatchObject({ 'RateLimit-Policy': '"a rate";q=4;w=60', RateLimit: '"a rate";r=2;t=30' })
  expect(headersOf(gauge)).toMatchObject({
    'RateLimit-Policy': '"a concurrent";q=3;qu="concurrent-requests"',
    RateLimit: '"a concurrent";r=2;t=0',
  })
})

it('describes a period by the length of its validity', () => {
  const opened = openLimit({ totals: { period: 2 }, validity: [{ name: 'v', start: '22:00', end: '04:00' }] })
  opened.take('2026-03-04T23:00:00')

  expect(headersOf(opened)).toMatchObject({
    'RateLimit-Policy': '"a period";q=2;w=21600',
    RateLimit: '"a period";r=1;t=18000',
  })
})

it('formats units as decimals', () => {
  const opened = openLimit(
    {},
    { quotas: { period: 'Monthly', resourceUnits: 10.5 }, resourceUnits: { default: 0.25, operations: { write: 3 } } },
  )
  opened.take(0, 1)
  opened.take(0, 0)

  expect(headersOf(opened)).toEqual({
    'X-RU-Cost': '0.25',
    'X-RU-Consumed': '3.25',
    'X-RU-Period': 'Monthly',
    'X-RU-Limit': '10.5',
    'X-RU-Remaining': '7.25',
  })
})

it('contains no limit of units for PayAsYouGo', () => {
  const opened = openLimit({}, { quotas: { period: 'PayAsYouGo' } })
  opened.take(0)

  expect(Object.keys(headersOf(opened))).toEqual(['X-RU-Cost', 'X-RU-Consumed', 'X-RU-Period'])
})

it('shows no remaining calls, the time of reopening and no consumption if a limit refused', () => {
  const opened = openLimit({ totals: { minute: 1 } }, { quotas: { period: 'Daily', resourceUnits: 4 } })
  opened.take('2026-03-04T12:00:20')
  opened.take('2026-03-04T12:00:20')

  expect(headersOf(opened)).toMatchObject({
    RateLimit: '"a minute";r=0;t=40',
    'X-RU-Consumed': '1',
    'X-RU-Remaining': '3',
  })
})

it('escapes the name of a definition', () => {
  const opened = openLimit({ name: 'a";r=9, "\r\nSet-Cookie: x=1 é', concurrent: 1 })
  opened.take(0)

  expect(headersOf(opened)['RateLimit']).toBe('"a_;r=9, ___Set-Cookie: x=1 _ concurrent";r=0;t=0')
})

it.each([
  ['a total', { totals: { minute: 7 } }],
  ['a rate', { rate: { value: 3, duration: 'week' } }],
  ['concurrency', { concurrent: 2 }],
  ['a name of any text', { name: 'é "quoted" \\ back; r=0, more\t', concurrent: 2 }],
])('is valid for an independent parser of structured fields, with %s', (_, definition) => {
  const opened = openLimit(definition)
  opened.take('2026-03-04T12:00:20')
  const headers = headersOf(opened)
  const [policy, ...policies] = parseList(headers['RateLimit-Policy'] ?? '') as Item[]
  const [state, ...states] = parseList(headers['RateLimit'] ?? '') as Item[]

  expect([policies, states]).toEqual([[], []])
  expect(policy?.[0]).toBe(state?.[0])
  expect(policy?.[1].get('q')).toBe(opened.sla.limits[0]?.rule.value)
  expect(state?.[1].get('r')).toBe((opened.sla.limits[0]?.rule.value ?? 0) - 1)
  expect(state?.[1].get('t')).toEqual(expect.any(Number))
})
