/** Traces of calls at the gateway: what the backend gets, and what is stored beside the record. */

import type { Socket } from 'node:net'
import { describe, expect, it } from 'vitest'
import type { TraceSampler } from '../../../src/foundation/domain/trace-sampler.ts'
import { createTracer } from '../../../src/gateway/tracing/tracer.ts'
import type { CallTrace } from '../../../src/storage/spool/call-trace.ts'
import { answerTo, openClient, openHttp2Gateway } from '../../fixtures/http2-calls.ts'
import { openBackend, openRawBackend, openTestGateway, type TestGatewayOptions } from '../../fixtures/test-gateway.ts'

const PREFIX = '0123456789abcdef'
const TRACE = '4bf92f3577b34da6a3ce929d0e0e4736'
const SPAN = '00f067aa0ba902b7'
const PARENT = `traceparent: 00-${TRACE}-${SPAN}-01\r\n`
const ALL: TraceSampler = { isParentBased: true, ratio: 1 }

/** The options of a gateway that keeps the traces of its calls. */
function traced(origin: string, sampler: TraceSampler | null = ALL) {
  const traces: (CallTrace | null | undefined)[] = []
  const options: TestGatewayOptions = {
    backend: { origin },
    server: { tracer: sampler === null ? null : createTracer(sampler, PREFIX) },
    append(call, record) {
      traces.push(call.trace)
      record(call)
    },
  }
  return { options, traces }
}

const get = (path: string, headers = '') => `GET ${path} HTTP/1.1\r\nHost: a\r\n${headers}Connection: close\r\n\r\n`

/** Calls a backend that echoes its trace headers. */
async function callWith(headers: string, sampler: TraceSampler | null = ALL) {
  const seen: string[][] = []
  const origin = await openBackend((request, response) => {
    const own = request.rawHeaders.flatMap((name, index, raw) =>
      index % 2 === 0 && name.toLowerCase().startsWith('trace') ? [`${name}: ${raw[index + 1]}`] : [],
    )
    seen.push(own)
    response.end()
  })
  const { options, traces } = traced(origin, sampler)
  const gateway = await openTestGateway(options)
  const answer = await gateway.raw(get('/things-v1/open?secret=1', headers))
  expect(answer).toContain('HTTP/1.1 200')
  const requestId = /x-request-id: (\w+)/i.exec(answer)?.[1] ?? ''
  return { seen: seen[0] ?? [], trace: traces[0], requestId, origin }
}

describe('The backend', () => {
  it('gets the trace of the client, with the span of the request to it as parent, and the tracestate', async () => {
    const { seen, trace, requestId, origin } = await callWith(`${PARENT}tracestate: a=1\r\nTraceState: b=2\r\n`)
    expect(seen).toEqual([`traceparent: 00-${TRACE}-${requestId.slice(8)}-01`, 'tracestate: a=1,b=2'])
    expect(trace).toMatchObject({
      traceId: TRACE,
      parentId: SPAN,
      method: 'GET',
      path: '/things-v1/open',
      protocol: '1.1',
      upstreamUrl: `${origin}/open`,
      upstreamStatus: 200,
      resends: 0,
    })
  })

  it.each([
    ['no trace', ''],
    ['two traces', `${PARENT}Traceparent: 00-${TRACE}-${SPAN}-01\r\n`],
    ['an empty trace and one', `traceparent: \r\ntraceparent: nonsense\r\n`],
    ['nonsense', 'traceparent: mine\r\n'],
    ['a name with an underscore', `trace_parent: 00-${TRACE}-${SPAN}-01\r\n`],
    ['a tracestate alone', 'tracestate: a=1\r\n'],
  ])('gets one new trace if the client sends %s', async (_, headers) => {
    const { seen, trace, requestId } = await callWith(headers)
    const own = seen.filter((line) => !line.startsWith('trace_'))
    expect(own).toEqual([`traceparent: 00-${trace?.traceId}-${requestId.slice(8)}-01`])
    expect([trace?.traceId === TRACE, trace?.parentId]).toEqual([false, ''])
  })

  it('gets no tracestate that is not valid, and the trace all the same', async () => {
    const { seen } = await callWith(`${PARENT}tracestate: a=1\r\ntracestate: a=2\r\n`)
    expect(seen).toEqual([expect.stringContaining(TRACE)])
  })

  it('gets the decision if the call is not sampled, and nothing is kept of the call', async () => {
    const { seen, trace } = await callWith(PARENT, { isParentBased: false, ratio: 0 })
    expect(seen[0]).toMatch(/-00$/)
    expect(trace).toMatchObject({ isSampled: false, method: '', path: '', upstreamUrl: '' })
  })

  it('gets a new trace while no traces are exported, and no trace is kept', async () => {
    const { seen, trace } = await callWith(`${PARENT}tracestate: a=1\r\n`, null)
    expect(seen).toEqual([expect.stringMatching(/^traceparent: 00-[0-9a-f]{32}-[0-9a-f]{16}-01$/)])
    expect(seen[0]).not.toContain(TRACE)
    expect(trace).toBeNull()
  })
})

describe('A trace', () => {
  it('of a call that is refused has no request to a backend', async () => {
    const { options, traces } = traced('http://127.0.0.1:1')
    const gateway = await openTestGateway(options)
    expect(await gateway.raw(get('/things-v1/keyed?secret=1'))).toContain('HTTP/1.1 401')
    expect(traces[0]).toMatchObject({ path: '/things-v1/keyed', forwardedUs: -1, settledUs: -1, upstreamUrl: '' })
  })

  it('has no part of a target that is not canonical', async () => {
    const { options, traces } = traced('http://127.0.0.1:1')
    const gateway = await openTestGateway(options)
    await gateway.raw(get('/things-v1/../open?secret=1', 'x-api-key: key-a\r\n'))
    expect(traces[0]).toMatchObject({ path: '', method: 'GET' })
  })

  it('counts a request that was sent again after a reset', async () => {
    let connections = 0
    const origin = await openRawBackend((socket: Socket) => {
      const isFirst = ++connections === 1
      socket.once('data', () => {
        if (isFirst) socket.resetAndDestroy()
        else socket.end('HTTP/1.1 204 No Content\r\nConnection: close\r\n\r\n')
      })
    })
    const { options, traces } = traced(origin)
    const gateway = await openTestGateway(options)
    expect(await gateway.raw(get('/things-v1/open'))).toContain('HTTP/1.1 204')
    expect(traces[0]).toMatchObject({ resends: 1, upstreamStatus: 204 })
  })

  it('of a backend that does not answer has no status of it', async () => {
    const origin = await openRawBackend((socket) => void socket.once('data', () => socket.end('nonsense\r\n\r\n')))
    const { options, traces } = traced(origin)
    const gateway = await openTestGateway(options)
    await gateway.raw(get('/things-v1/open'))
    expect(traces[0]).toMatchObject({ upstreamStatus: 0, upstreamUrl: `${origin}/open` })
    expect(traces[0]?.settledUs).toBeGreaterThanOrEqual(traces[0]?.forwardedUs ?? Infinity)
  })

  it('of a call over HTTP/2 names that version', async () => {
    const origin = await openBackend((_, response) => response.end())
    const { options, traces } = traced(origin)
    const gateway = await openHttp2Gateway(options)
    const fields = { ':path': '/things-v1/open', traceparent: `00-${TRACE}-${SPAN}-01` }
    expect((await answerTo(openClient(gateway).request(fields))).status).toBe(200)
    expect(traces[0]).toMatchObject({ traceId: TRACE, protocol: '2', path: '/things-v1/open' })
  })
})
