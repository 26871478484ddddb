import { describe, expect, it } from 'vitest'
import { requestLine, riskLine, stepLine } from '../../../../../src/interfaces/cli/watch/event-lines.ts'

const PLAIN = { colour: false, columns: Infinity }
const COLOURED = { colour: true, columns: Infinity }
const risk = {
  severity: 'Critical',
  phase: 'opened',
  type: 'RateLimitBreach',
  api: 'orders-v1',
  operation: 'createOrder',
  count: 12,
  lastSeen: '2026-11-23T14:02:11.123Z',
  attributedTo: { kind: 'consumer', id: 'con_1', name: 'shop' },
  message: 'over the limit',
}
const call = {
  time: '2026-11-23T14:02:11.123Z',
  api: 'orders-v1',
  operation: 'listOrders',
  status: 200,
  outcome: 'served',
  customerName: 'shop',
  durationMs: 2.44,
  resourceUnits: 3,
}
const withoutColour = (text: string): string => text.replace(/\u001b\[\d+m/g, '')

describe('the lines of events', () => {
  it('have the severity, the party and the count of a risk', () => {
    expect(riskLine(risk, PLAIN)).toMatch(
      /^14:02:11 {2}Critical {2}opened .*orders-v1 createOrder {2}shop {2}×12 {2}over/,
    )
  })

  it('have the method, path, status, units and time of a call', () => {
    const endpoints = new Map([['listOrders', 'GET /orders']])
    expect(requestLine(call, PLAIN, endpoints)).toMatch(/^14:02:11 {2}200 {2}GET \/orders +3 units +2\.4 ms {2}shop$/)
    expect(requestLine({ ...call, operation: '', status: 404, outcome: 'not_found', customerName: '' }, PLAIN)).toMatch(
      /404 {2}orders-v1 - .* anonymous {2}not_found$/,
    )
  })

  it('have the reason of a refusal, on a line of its own if the terminal is narrow', () => {
    const refused = { ...call, status: 401, outcome: 'credential_invalid', customerName: '', resourceUnits: 1 }
    expect(requestLine(refused, { colour: false, columns: 80 })).toBe(
      '14:02:11  401  orders-v1 listOrders      1 unit       2.4 ms  anonymous\n          credential_invalid',
    )
  })

  it('have the errors of a step below it', () => {
    expect(
      stepLine({ number: 1, name: 'Validate', status: 'failed', errors: [{ detail: 'no title' }, 'x'] }, PLAIN),
    ).toMatch(/^ 1 {2}Validate +failed\n {6}no title\n {6}x$/)
  })

  it('say the same with colour', () => {
    expect(riskLine(risk, COLOURED)).toContain('\u001b[31mCritical')
    expect(withoutColour(riskLine(risk, COLOURED))).toBe(riskLine(risk, PLAIN))
    expect(withoutColour(requestLine(call, COLOURED))).toBe(requestLine(call, PLAIN))
  })

  it('fit the terminal, and send no control characters to it', () => {
    const hostile = { ...risk, message: 'a\u001b[2J\u009b', attributedTo: { name: '\u202eshop' } }
    expect(riskLine(hostile, PLAIN)).not.toMatch(/[\u001b\u009b\u202e]/)
    for (const columns of [80, 40, 30]) {
      const text = riskLine(risk, { colour: false, columns })
      expect(Math.max(...text.split('\n').map((line) => line.length))).toBeLessThanOrEqual(columns)
      for (const word of ['Critical', 'RateLimitBreach', 'orders-v1', 'createOrder', 'shop', '×12', 'over the limit'])
        expect(text).toContain(word)
    }
  })

  it.each([{}, { attributedTo: null, errors: [null] }])('survive the event %j', (event) => {
    for (const line of [riskLine(event, PLAIN), requestLine(event, PLAIN), stepLine(event, PLAIN)])
      expect(line).toBeTypeOf('string')
  })
})
