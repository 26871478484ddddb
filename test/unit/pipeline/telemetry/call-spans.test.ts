/** Spans by the semantic conventions for HTTP. */

import { describe, expect, it } from 'vitest'
import { ANONYMOUS } from '../../../../src/foundation/domain/attribution.ts'
import { outcomeIndex, type Outcome } from '../../../../src/foundation/domain/outcome.ts'
import type { CallRecord } from '../../../../src/storage/spool/call-record.ts'
import type { StoredTrace } from '../../../../src/storage/spool/call-trace.ts'
import { clientSpan, serverSpan, type TracedCall } from '../../../../src/pipeline/telemetry/call-spans.ts'
import { createOrigin } from '../../../../src/pipeline/telemetry/origin.ts'

const ORIGIN = createOrigin({ version: '1.2.3', node: 'a', resource: {} })
const SERVER = { address: 'gateway.example', port: 443 }
const TRACE = '4bf92f3577b34da6a3ce929d0e0e4736'
const PARENT = '00f067aa0ba902b7'
const ATTRIBUTION = {
  ...ANONYMOUS,
  tenant: 'acme',
  api: 'payments-v1',
  operation: 'readPayment',
  consumer: 'con_1',
  consumerName: 'Ada Secret',
  subscription: 'sub_1',
  agent: 'con_2',
  person: 'ada@example.com',
  route: 'GET /payments/{paymentId}',
}

interface Changes extends Partial<Omit<CallRecord, 'outcome'>> {
  readonly outcome?: Outcome
}

function call({ outcome = 'served', ...record }: Changes = {}, trace: Partial<StoredTrace> = {}): TracedCall {
  return {
    requestId: '0123456789abcdef0000000a',
    record: {
      attribution: ATTRIBUTION,
      timeMs: 1_700_000_000_500,
      durationUs: 200_000,
      upstreamUs: 0,
      status: 200,
      outcome: outcomeIndex[outcome],
      flags: 0,
      admittedAgoMs: 0,
      unitsMicro: 0,
      requestBytes: 0,
      responseBytes: 0,
      sequence: 10,
      ...record,
    },
    trace: {
      traceId: TRACE,
      parentId: PARENT,
      flags: 1,
      traceState: 'a=1',
      method: 'GET',
      path: '/payments-v1/payments/7',
      scheme: 'https',
      protocol: '2',
      forwardedUs: 10_000,
      settledUs: 150_000,
      resends: 0,
      upstreamMethod: 'GET',
      upstreamStatus: 200,
      upstreamUrl: 'http://backend:8000/base/payments/7',
      ...trace,
    },
  }
}

const server = (...given: Parameters<typeof call>) => serverSpan(call(...given), SERVER, ORIGIN)
const client = (...given: Parameters<typeof call>) => clientSpan(call(...given), ORIGIN)

describe('The server span', () => {
  it('has the name, the kind, the parent and the attributes of the conventions', () => {
    const span = server()
    expect([span.name, span.kind, span.status]).toEqual(['GET /payments-v1/payments/{paymentId}', 1, { code: 0 }])
    expect(span.spanContext()).toMatchObject({ traceId: TRACE, spanId: '012345670000000a', traceFlags: 1 })
    expect(span.spanContext().traceState?.serialize()).toBe('a=1')
    expect(span.parentSpanContext).toMatchObject({ traceId: TRACE, spanId: PARENT, isRemote: true })
    expect(span.attributes).toEqual({
      'http.request.method': 'GET',
      'url.path': '/payments-v1/payments/7',
      'url.scheme': 'https',
      'http.route': '/payments-v1/payments/{paymentId}',
      'http.response.status_code': 200,
      'network.protocol.version': '2',
      'server.address': 'gateway.example',
      'server.port': 443,
      'tollgate.tenant': 'acme',
      'tollgate.api': 'payments-v1',
      'tollgate.operation': 'readPayment',
      'tollgate.outcome': 'served',
      'tollgate.consumer.id': 'con_1',
      'tollgate.subscription.id': 'sub_1',
      'tollgate.agent.id': 'con_2',
    })
    expect([span.startTime, span.endTime]).toEqual([
      [1_700_000_000, 300_000_000],
      [1_700_000_000, 500_000_000],
    ])
  })

  it('names neither persons nor consumers by name', () => {
    expect(JSON.stringify([server(), client()])).not.toMatch(/Ada|ada@example/)
  })

  it.each([
    ['a refusal', { status: 429, outcome: 'rate_limited' }, 0, undefined, 429],
    ['an error of the backend', { status: 503 }, 2, '503', 503],
    ['a backend that does not answer', { status: 504, outcome: 'upstream_timeout' }, 2, 'upstream_timeout', 504],
    ['a response that breaks off', { status: 200, outcome: 'upstream_broken' }, 2, 'upstream_broken', 200],
    ['a fault of the gateway', { status: 500, outcome: 'internal' }, 2, 'internal', 500],
    ['a client that is gone', { status: 499, outcome: 'client_aborted' }, 0, undefined, undefined],
  ] as const)('of %s', (_, record, code, error, status) => {
    const span = server(record)
    expect(span.status).toEqual({ code })
    expect(span.attributes['error.type']).toBe(error)
    expect(span.attributes['http.response.status_code']).toBe(status)
  })

  it('of a call that matches no operation has a name without a route', () => {
    const { route: _, ...unrouted } = ATTRIBUTION
    const span = server({ attribution: { ...unrouted, operation: '' } }, { method: 'BREW' })
    expect(span.name).toBe('HTTP')
    expect(span.attributes).toMatchObject({ 'http.request.method': '_OTHER', 'http.request.method_original': 'BREW' })
    expect(span.attributes).not.toHaveProperty('http.route')
  })

  it('has no original method if the method is known or missing', () => {
    const methods = ['GET', ''].map((method) => server({}, { method }).attributes)
    expect(methods.filter((attributes) => 'http.request.method_original' in attributes)).toEqual([])
  })

  it('of a tool call over MCP has the route of the endpoint', () => {
    const attribution = { ...ATTRIBUTION, channel: 'mcp' } as const
    const span = server({ attribution }, { method: 'POST', path: '/payments-v1/mcp' })
    expect(span.name).toBe('POST /payments-v1/mcp')
    expect(span.attributes['tollgate.operation']).toBe('readPayment')
  })

  it('begins the trace if the client has none', () => {
    expect(server({}, { parentId: '' })).not.toHaveProperty('parentSpanContext')
  })
})

describe('The client span', () => {
  it('is a child of the server span, with the id that the backend got', () => {
    const span = client()
    expect([span?.name, span?.kind]).toEqual(['GET', 2])
    expect(span?.spanContext()).toMatchObject({ traceId: TRACE, spanId: '89abcdef0000000a' })
    expect(span?.parentSpanContext).toMatchObject({ spanId: '012345670000000a', isRemote: false })
    expect(span?.attributes).toMatchObject({
      'http.request.method': 'GET',
      'server.address': 'backend',
      'server.port': 8000,
      'url.full': 'http://backend:8000/base/payments/7',
      'http.response.status_code': 200,
    })
    expect(span?.attributes).not.toHaveProperty('http.request.resend_count')
    expect([span?.startTime, span?.endTime]).toEqual([
      [1_700_000_000, 310_000_000],
      [1_700_000_000, 450_000_000],
    ])
  })

  it.each([
    ['an answer with 404', { status: 404 }, { upstreamStatus: 404 }, '404', 404],
    ['no answer', { status: 504, outcome: 'upstream_timeout' }, { upstreamStatus: 0 }, 'upstream_timeout', undefined],
    ['an answer that breaks off', { outcome: 'upstream_broken' }, {}, 'upstream_broken', 200],
  ] as const)('with %s is an error', (_, record, trace, error, status) => {
    const span = client(record, trace)
    expect(span?.status).toEqual({ code: 2 })
    expect(span?.attributes['error.type']).toBe(error)
    expect(span?.attributes['http.response.status_code']).toBe(status)
  })

  it('counts resends, and has the address of the last attempt', () => {
    const span = client({}, { resends: 2, upstreamUrl: 'https://[::1]/x' })
    expect(span?.attributes).toMatchObject({
      'http.request.resend_count': 2,
      'server.address': '::1',
      'server.port': 443,
    })
  })

  it('has the original method, and the revision of the API as a number, as the server span has it', () => {
    const given = [{ attribution: { ...ATTRIBUTION, revision: 7 } }, { method: 'get', upstreamMethod: 'get' }] as const
    for (const span of [server(...given), client(...given)])
      expect(span?.attributes).toMatchObject({
        'http.request.method': '_OTHER',
        'http.request.method_original': 'get',
        'tollgate.revision': 7,
      })
    expect(server().attributes).not.toHaveProperty('tollgate.revision')
  })

  it('is missing if nothing was forwarded', () => {
    expect(client({ outcome: 'rate_limited' }, { forwardedUs: -1, settledUs: -1 })).toBeNull()
  })
})
