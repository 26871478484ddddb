import { describe, expect, it } from 'vitest'
import type { TraceSampler } from '../../../../src/foundation/domain/trace-sampler.ts'
import {
  createTracer,
  noteAttempt,
  noteSettled,
  noteStatus,
  toTraceLines,
} from '../../../../src/gateway/tracing/tracer.ts'

const PREFIX = '0123456789abcdef'
const TRACE = '4bf92f3577b34da6a3ce929d0e0e4736'
const SPAN = '00f067aa0ba902b7'
const REQUEST = { method: 'GET', httpVersionMinor: 1, socket: {}, rawHeaders: [] }
const ALL: TraceSampler = { isParentBased: true, ratio: 1 }

function begin(sampler: TraceSampler, traceParent = '', traceState = '', target = '/a-v1/b?secret=1', queryAt = 7) {
  return createTracer(sampler, PREFIX).begin(REQUEST, { traceParent, traceState }, 5, target, queryAt)
}

describe('A call without a trace of its client', () => {
  it('begins a trace, whose span for the backend is the end of the request id', () => {
    const trace = begin(ALL)
    expect(trace).toMatchObject({
      parentId: '',
      flags: 1,
      method: 'GET',
      path: '/a-v1/b',
      scheme: 'http',
      protocol: '1.1',
    })
    expect(toTraceLines(`${PREFIX}00000005`, trace)).toBe(
      `X-Request-Id: ${PREFIX}00000005\r\ntraceparent: 00-${trace.traceId}-89abcdef00000005-01\r\n`,
    )
  })

  it('drops a tracestate, which belongs to no trace', () => {
    expect(begin(ALL, '', 'a=1').traceState).toBe('')
    expect(begin(ALL, 'not valid', 'a=1')).toMatchObject({ parentId: '', traceState: '' })
  })

  it('keeps nothing of a target that is not canonical, which may have a query', () => {
    expect(begin(ALL, '', '', 'http://user:password@host/?secret=1', -1).path).toBe('')
  })
})

describe('A call with a trace of its client', () => {
  it('joins it', () => {
    const trace = begin(ALL, `00-${TRACE}-${SPAN}-01`, 'a=1, b=2')
    expect(trace).toMatchObject({ traceId: TRACE, parentId: SPAN, flags: 1, traceState: 'a=1,b=2' })
    expect(toTraceLines(`${PREFIX}00000005`, trace)).toContain(
      `traceparent: 00-${TRACE}-89abcdef00000005-01\r\ntracestate: a=1,b=2\r\n`,
    )
  })

  it.each([
    ['parentbased_always_on', { isParentBased: true, ratio: 1 }, [true, false]],
    ['parentbased_always_off', { isParentBased: true, ratio: 0 }, [true, false]],
    ['always_on', { isParentBased: false, ratio: 1 }, [true, true]],
    ['always_off', { isParentBased: false, ratio: 0 }, [false, false]],
  ])('is sampled by %s as that says', (_, sampler, expected) => {
    const flags = ['01', '00'].map((flag) => begin(sampler, `00-${TRACE}-${SPAN}-${flag}`).isSampled)
    expect(flags).toEqual(expected)
  })

  it('is sampled by a ratio whatever id the client has chosen', () => {
    const tracer = createTracer({ isParentBased: false, ratio: 0.01 }, PREFIX)
    const sampledOf = (traceId: string): number => {
      const traceParent = `00-${traceId}-${SPAN}-01`
      const calls = Array.from({ length: 2_000 }, (_, sequence) =>
        tracer.begin(REQUEST, { traceParent, traceState: '' }, sequence, '/a-v1/b', 7),
      )
      expect(calls.every((call) => call.traceId === traceId)).toBe(true)
      return calls.filter(({ isSampled }) => isSampled).length
    }
    const counts = ['f'.repeat(32), `1${'0'.repeat(31)}`, TRACE].map(sampledOf)
    expect(Math.min(...counts)).toBeGreaterThan(0)
    expect(Math.max(...counts)).toBeLessThan(100)
  })

  it('tells the backend the decision, and keeps the flag of a random id', () => {
    const lines = (sampler: TraceSampler, flags: string) =>
      toTraceLines(`${PREFIX}00000005`, begin(sampler, `00-${TRACE}-${SPAN}-${flags}`))
    expect(lines({ isParentBased: false, ratio: 0 }, '01')).toMatch(/-00\r\n$/)
    expect(lines(ALL, '03')).toMatch(/-03\r\n$/)
    expect(lines({ isParentBased: false, ratio: 0 }, '03')).toMatch(/-02\r\n$/)
  })
})

describe('An attempt at the backend', () => {
  it('is noted without the query; another one is a resend', () => {
    const call = { trace: begin(ALL), startedAt: performance.now() }
    noteAttempt(call, 'GET', 'http://one:1', '/b?secret=1')
    noteStatus(call, 503)
    noteAttempt(call, 'GET', 'http://two:2', '/b?secret=1')
    noteSettled(call)
    expect(call.trace).toMatchObject({
      upstreamUrl: 'http://two:2/b',
      upstreamMethod: 'GET',
      upstreamStatus: 0,
      resends: 1,
    })
    expect(call.trace.settledUs).toBeGreaterThanOrEqual(call.trace.forwardedUs)
  })

  it('is not noted for a call that is not sampled, or while no traces are exported', () => {
    const call = { trace: begin({ isParentBased: false, ratio: 0 }), startedAt: 0 }
    noteAttempt(call, 'GET', 'http://one:1', '/b')
    expect(call.trace).toMatchObject({ forwardedUs: -1, method: '', path: '' })
    const untraced = { trace: null, startedAt: 0 }
    noteAttempt(untraced, 'GET', 'http://one:1', '/b')
    noteStatus(untraced, 200)
    noteSettled(untraced)
  })
})
