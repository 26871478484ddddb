import { parseList, type Item } from 'structured-headers'
import { expect, it } from 'vitest'
import { appendLimitHeaders, refundUnits } from '../../../../src/gateway/limits/limit-headers.ts'
import { openLimit, type Desk } from '../../../fixtures/test-limits.ts'

function headersOf({ sla, limiter }: Desk, operation = 0): Record<string, string> {
  const flat = appendLimitHeaders(['X-Request-Id', '1'], sla, operation, limiter.verdict)
  return Object.fromEntries(flat.flatMap((name, index) => (index % 2 === 0 ? [[name, flat[index + 1] ?? '']] : [])))
}

it('names the tightest limit that applied, what is left of it and when it is whole again', () => {
  const desk = openLimit({ totals: { hour: 10, day: 5 }, rate: { value: 100, duration: 'second' } })
  desk.take('2026-03-04T23:59:30')

  expect(headersOf(desk)).toEqual({
    'X-Request-Id': '1',
    'RateLimit-Policy': '"a day";q=5;w=86400',
    RateLimit: '"a day";r=4;t=30',
    'X-RU-Cost': '1',
  })
})

it('tells a rate by its span and concurrency by its unit', () => {
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

it('tells a period by the length of its validity', () => {
  const desk = openLimit({ totals: { period: 2 }, validity: [{ name: 'v', start: '22:00', end: '04:00' }] })
  desk.take('2026-03-04T23:00:00')

  expect(headersOf(desk)).toMatchObject({
    'RateLimit-Policy': '"a period";q=2;w=21600',
    RateLimit: '"a period";r=1;t=18000',
  })
})

it('tells units as decimals', () => {
  const desk = openLimit(
    {},
    { quotas: { period: 'Monthly', resourceUnits: 10.5 }, resourceUnits: { default: 0.25, operations: { write: 3 } } },
  )
  desk.take(0, 1)
  desk.take(0, 0)

  expect(headersOf(desk)).toEqual({
    'X-Request-Id': '1',
    'X-RU-Cost': '0.25',
    'X-RU-Consumed': '3.25',
    'X-RU-Period': 'Monthly',
    'X-RU-Limit': '10.5',
    'X-RU-Remaining': '7.25',
  })
})

it('does not count units that were given back before the head was sent', () => {
  const desk = openLimit({}, { quotas: { period: 'Daily', resourceUnits: 4 }, resourceUnits: { default: 0.1 } })
  desk.take(0)
  desk.take(0)
  const headers = appendLimitHeaders([], desk.sla, 0, desk.limiter.verdict)
  refundUnits(headers, desk.sla, desk.sla.unitsMicro[0]!)

  expect(headers).toEqual([
    ...['X-RU-Cost', '0.1', 'X-RU-Consumed', '0.1', 'X-RU-Period', 'Daily'],
    ...['X-RU-Limit', '4', 'X-RU-Remaining', '3.9'],
  ])
})

it('gives no limit of units to those who pay as they go', () => {
  const desk = openLimit({}, { quotas: { period: 'PayAsYouGo' } })
  desk.take(0)

  expect(Object.keys(headersOf(desk))).toEqual(['X-Request-Id', 'X-RU-Cost', 'X-RU-Consumed', 'X-RU-Period'])
})

it('says nothing is left and when it opens where a limit refused, and that nothing was consumed', () => {
  const desk = openLimit({ totals: { minute: 1 } }, { quotas: { period: 'Daily', resourceUnits: 4 } })
  desk.take('2026-03-04T12:00:20')
  desk.take('2026-03-04T12:00:20')

  expect(headersOf(desk)).toMatchObject({
    RateLimit: '"a minute";r=0;t=40',
    'X-RU-Consumed': '1',
    'X-RU-Remaining': '3',
  })
})

it('cannot be broken out of by the name of a definition', () => {
  const desk = openLimit({ name: 'a";r=9, "\r\nSet-Cookie: x=1 é', concurrent: 1 })
  desk.take(0)

  expect(headersOf(desk)['RateLimit']).toBe('"a_;r=9, ___Set-Cookie: x=1 _ concurrent";r=0;t=0')
})

it.each([
  ['a total', { totals: { minute: 7 } }],
  ['a rate', { rate: { value: 3, duration: 'week' } }],
  ['concurrency', { concurrent: 2 }],
  ['a name of any text', { name: 'é "quoted" \\ back; r=0, more\t', concurrent: 2 }],
])('is read as structured fields by a parser of others, of %s', (_, definition) => {
  const desk = openLimit(definition)
  desk.take('2026-03-04T12:00:20')
  const headers = headersOf(desk)
  const [policy, ...policies] = parseList(headers['RateLimit-Policy'] ?? '') as Item[]
  const [state, ...states] = parseList(headers['RateLimit'] ?? '') as Item[]

  expect([policies, states]).toEqual([[], []])
  expect(policy?.[0]).toBe(state?.[0])
  expect(policy?.[1].get('q')).toBe(desk.sla.limits[0]?.rule.value)
  expect(state?.[1].get('r')).toBe((desk.sla.limits[0]?.rule.value ?? 0) - 1)
  expect(state?.[1].get('t')).toEqual(expect.any(Number))
})
