/** The units of a response, from its head, its body and its trailer, also from hostile ones. */

import { describe, expect, it } from 'vitest'
import { outcomeIndex, type Outcome } from '../../../../src/foundation/domain/outcome.ts'
import type { Call } from '../../../../src/gateway/call/call.ts'
import { HeaderMemo } from '../../../../src/gateway/connection/header-memo.ts'
import { startMeter } from '../../../../src/gateway/forwarding/usage-meter.ts'
import { createResponseRules } from '../../../../src/gateway/headers/header-rules.ts'
import type { UnitsPlan } from '../../../../src/boundary/plan/route-plan.ts'

const MICRO = 1_000_000
const RESERVE = 'reserve'
const DECLARED = 7 * MICRO
const BY_EVENT: UnitsPlan = { per: 'event', unitsMicro: 250_000 }
const BY_HEADER: UnitsPlan = { per: 'response', unitsMicro: MICRO, header: 'x-usage-units', maxMicro: 1_000 * MICRO }

interface Response {
  readonly status?: number
  readonly method?: string
  readonly head?: readonly string[]
  readonly trailer?: readonly string[]
  readonly body?: string
  readonly outcome?: Outcome
}

/** Returns what the call is charged, the faults that are reported, and the lines for the client. */
function meter(units: UnitsPlan, response: Response) {
  const { status = 200, method = 'GET', head, trailer, body = '', outcome = 'served' } = response
  const faults: string[] = []
  let charged: number | undefined
  const call = {
    admissions: { release: (_: Call, usedMicro?: number) => void (charged = usedMicro) },
    outcome: outcomeIndex[outcome],
    status,
    unitsMicro: 1,
  } as unknown as Call
  const started = startMeter(call, units, {
    method,
    declaredMicro: DECLARED,
    onFault: (fault) => faults.push(fault),
  })
  const lines =
    head === undefined ? null : started.readHead(status, new HeaderMemo(head), createResponseRules().withoutCors).lines
  if (body !== '') started.deliver(Buffer.from(body))
  if (trailer !== undefined) started.takeTrailer(trailer)
  call.admissions!.release(call)
  return { charged: charged ?? RESERVE, faults, lines }
}

describe('Units that a response states', () => {
  const NAME = 'X-Usage-Units'
  it.each([
    ['0', 0],
    ['1', MICRO],
    ['42', 42 * MICRO],
    ['1000', 1_000 * MICRO],
    ['7 \t', 7 * MICRO],
  ])('%s are charged, from a header or a trailer', (value, expected) => {
    expect(meter(BY_HEADER, { head: ['x-usage-UNITS', value] })).toMatchObject({ charged: expected, faults: [] })
    expect(meter(BY_HEADER, { head: [], trailer: [NAME, value] })).toMatchObject({ charged: expected, faults: [] })
  })

  it.each([
    '',
    ' ',
    '-1',
    '+1',
    '01',
    '00',
    '1.0',
    '1e3',
    '0x10',
    '1001',
    '999999999999999999999',
    'NaN',
    'Infinity',
    '1,2',
    '1, 1',
    '1 1',
    '١',
    '1\u00a0',
    '1_000',
  ])('"%s" are ignored, and the reserve is charged', (value) => {
    const expected = { charged: RESERVE, faults: ['invalid'] }
    expect(meter(BY_HEADER, { head: [NAME, value] })).toMatchObject(expected)
    expect(meter(BY_HEADER, { head: [], trailer: [NAME, value] })).toMatchObject(expected)
  })

  it('are ignored if they are stated twice, even if they agree', () => {
    const expected = { charged: RESERVE, faults: ['repeated'] }
    expect(meter(BY_HEADER, { head: [NAME, '5', 'x-usage-units', '5'] })).toMatchObject(expected)
    expect(meter(BY_HEADER, { head: [NAME, '5'], trailer: [NAME, '6'] })).toMatchObject(expected)
    expect(meter(BY_HEADER, { head: [], trailer: Array.from({ length: 64 }, () => [NAME, '1']).flat() })).toMatchObject(
      expected,
    )
  })

  it('are removed from the head, and no other field is', () => {
    const { lines } = meter(BY_HEADER, { head: ['ETag', '"a"', NAME, '5', 'X-Usage-Unit', '6', 'x-usage-units', '7'] })
    expect(lines).toBe('ETag: "a"\r\nX-Usage-Unit: 6\r\n')
  })

  it.each<[Outcome, number, readonly string[]]>([
    ['served', 200, ['missing']],
    ['served', 204, ['missing']],
    ['served', 304, []],
    ['served', 404, []],
    ['client_aborted', 200, []],
    ['client_too_slow', 200, []],
  ])('are missing from a response with outcome %s and status %d: the reserve is charged', (outcome, status, faults) => {
    expect(meter(BY_HEADER, { head: [], outcome, status })).toMatchObject({ charged: RESERVE, faults })
  })

  it('are charged from the header if the client leaves before the end', () => {
    expect(meter(BY_HEADER, { head: [NAME, '5'], outcome: 'client_aborted' })).toMatchObject({ charged: 5 * MICRO })
  })
})

describe('Units by event', () => {
  const STREAM = ['Content-Type', 'text/event-stream']
  const body = 'data: a\n\n: heartbeat\n\ndata: b\n\ndata: cut'
  it.each([
    [STREAM, 500_000],
    [['content-type', 'Text/Event-Stream; charset=utf-8'], 500_000],
    [[...STREAM, 'Content-Encoding', 'identity'], 500_000],
    [['Content-Type', 'text/event-streams'], DECLARED],
    [['Content-Type', 'application/json'], DECLARED],
    [[], DECLARED],
    [[...STREAM, ...STREAM], DECLARED],
  ])('with the head %j are %d', (head, charged) => {
    expect(meter(BY_EVENT, { head, body })).toMatchObject({ charged, faults: [] })
  })

  it.each(['gzip', 'br', 'identity, gzip'])('with the coding %s are the reserve, which is reported', (coding) => {
    const head = [...STREAM, 'Content-Encoding', coding]
    expect(meter(BY_EVENT, { head, body })).toMatchObject({ charged: RESERVE, faults: ['encoded'] })
  })

  it.each([
    ['HEAD', 200],
    ['GET', 204],
    ['GET', 304],
  ])('of a %s with %d, which has no body, are those of the declaration', (method, status) => {
    expect(meter(BY_EVENT, { head: STREAM, method, status })).toMatchObject({ charged: DECLARED })
  })

  it('of a client that leaves are those of the events it was sent, or the reserve before the head', () => {
    expect(meter(BY_EVENT, { head: STREAM, body, outcome: 'client_aborted' })).toMatchObject({ charged: 500_000 })
    expect(meter(BY_EVENT, { head: STREAM, outcome: 'client_aborted' })).toMatchObject({ charged: 0 })
    expect(meter(BY_EVENT, { outcome: 'client_aborted', status: 499 })).toMatchObject({ charged: RESERVE, faults: [] })
  })

  it('stay exact, however many there are', () => {
    const dear: UnitsPlan = { per: 'event', unitsMicro: 999_999_999 * MICRO }
    const { charged } = meter(dear, { head: STREAM, body: 'data\n\n'.repeat(10_000) })
    expect(charged).toBe(1e15)
  })

  it('do not depend on a header that a response by units would have', () => {
    const head = [...STREAM, 'X-Usage-Units', '900']
    const result = meter(BY_EVENT, { head, body, trailer: ['X-Usage-Units', '900'] })
    expect(result).toMatchObject({ charged: 500_000, faults: [] })
  })
})
