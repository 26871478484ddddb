/** Traces, metrics and logs of the whole service, at a collector that speaks OTLP. */

import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { createServer, type Server } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { request } from 'undici'
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest'
import { accept, createCollector, type Collector, type ReceivedSpan } from '../fixtures/otlp-collector.ts'
import { OWN_ADDRESS } from '../fixtures/own-address.ts'
import { createService, enrol, publish, type Enrolled, type Service } from './service.ts'
import { bearerOf, callGateway, document, listen } from './things-api.ts'
import { PLAIN_ENVIRONMENT } from './plain-environment.ts'

const MAIN = join(import.meta.dirname, '../../src/main.ts')
const TRACE = '4bf92f3577b34da6a3ce929d0e0e4736'
const PARENT = '00f067aa0ba902b7'
const HEADER_SECRET = 'marker-of-the-collector'
const QUERY_SECRET = 'marker-of-the-query'
const BODY_SECRET = 'marker-of-the-body'

let collector: Collector
let service: Service
let backend: Server
let backendUrl: string
let caller: Enrolled
const seen: NodeJS.Dict<string | string[]>[] = []

beforeAll(async () => {
  backend = createServer((incoming, response) => {
    seen.push(incoming.headers)
    incoming.resume()
    incoming.on('end', () => response.writeHead(incoming.url?.startsWith('/dear') === true ? 503 : 200).end('{}'))
  })
  backendUrl = await listen(backend)
  collector = await createCollector()
  service = await createService({
    args: ['--empty'],
    env: {
      LOG_LEVEL: 'info',
      OTEL_EXPORTER_OTLP_ENDPOINT: collector.url,
      OTEL_EXPORTER_OTLP_HEADERS: `authorization=Bearer%20${HEADER_SECRET}`,
      OTEL_EXPORTER_OTLP_METRICS_PROTOCOL: 'http/json',
      OTEL_EXPORTER_OTLP_LOGS_PROTOCOL: 'http/json',
      OTEL_EXPORTER_OTLP_COMPRESSION: 'gzip',
      OTEL_BSP_SCHEDULE_DELAY: '100',
      OTEL_BSP_MAX_QUEUE_SIZE: '64',
      OTEL_METRIC_EXPORT_INTERVAL: '500',
      OTEL_RESOURCE_ATTRIBUTES: 'deployment.environment.name=test',
      OTEL_TRACES_SAMPLER_ARG: '2',
      OTEL_LOGS_EXPORTER: 'console',
    },
  })
  await service.start()
  await publish(service, 'things-v1', document('Things'), backendUrl)
  caller = await enrol(service, 'things-v1', { scopes: ['things:read', 'things:write'] })
})

afterAll(async () => {
  await service.remove()
  await collector.close()
  backend.closeAllConnections()
  backend.close()
})

const call = (path: string, options?: Parameters<typeof callGateway>[2]) => callGateway(service, path, options)
const spanIdOf = (answer: { headers: NodeJS.Dict<string | string[]> }): string =>
  String(answer.headers['x-request-id']).slice(8)

/** Waits until the spans of a call are there. */
async function spansOf(answer: { headers: NodeJS.Dict<string | string[]> }, count: number): Promise<ReceivedSpan[]> {
  const id = String(answer.headers['x-request-id'])
  const own = [id.slice(8), id.slice(0, 8) + id.slice(16)]
  const find = () => collector.spans().filter(({ spanId }) => own.includes(spanId))
  await expect.poll(() => find().length, { timeout: 10_000 }).toBe(count)
  return find().toSorted((a, b) => a.kind - b.kind)
}

async function metric(name: string): Promise<string> {
  const { body } = await request(`${service.baseUrl}/metrics`)
  return (await body.text())
    .split('\n')
    .filter((line) => line.startsWith(name))
    .join('\n')
}

describe('A call', () => {
  it('has a server span and a client span, with the names and attributes of the conventions', async () => {
    seen.length = 0
    const headers = {
      ...(await bearerOf(caller)),
      'content-type': 'application/json',
      traceparent: `00-${TRACE}-${PARENT}-01`,
      tracestate: 'vendor=1,other=2',
    }
    const body = JSON.stringify({ name: BODY_SECRET })
    const answer = await call(`/things-v1/things?token=${QUERY_SECRET}`, { method: 'POST', headers, body })
    expect(answer.status).toBe(200)
    const [server, client] = await spansOf(answer, 2)
    expect(seen[0]).toMatchObject({ traceparent: `00-${TRACE}-${client?.spanId}-01`, tracestate: 'vendor=1,other=2' })
    expect(server).toMatchObject({
      traceId: TRACE,
      parentSpanId: PARENT,
      traceState: 'vendor=1,other=2',
      name: 'POST /things-v1/things',
      kind: 2,
      status: 0,
      resource: { 'service.name': 'tollgate', 'deployment.environment.name': 'test' },
    })
    expect(server?.attributes).toEqual({
      'http.request.method': 'POST',
      'url.path': '/things-v1/things',
      'url.scheme': 'http',
      'http.route': '/things-v1/things',
      'http.response.status_code': 200,
      'network.protocol.version': '1.1',
      'server.address': OWN_ADDRESS,
      'server.port': Number(new URL(service.gatewayUrl).port),
      'tollgate.tenant': 'default',
      'tollgate.api': 'things-v1',
      'tollgate.revision': 1,
      'tollgate.operation': 'makeThing',
      'tollgate.outcome': 'served',
      'tollgate.consumer.id': caller.consumer,
      'tollgate.subscription.id': caller.subscription,
    })
    expect(client).toMatchObject({ traceId: TRACE, parentSpanId: server?.spanId, name: 'POST', kind: 3, status: 0 })
    expect(client?.attributes).toMatchObject({
      'http.request.method': 'POST',
      'server.address': '127.0.0.1',
      'server.port': Number(new URL(backendUrl).port),
      'url.full': `${backendUrl}/things`,
      'http.response.status_code': 200,
    })
  })

  it('that is refused has a server span, and no client span', async () => {
    const answer = await call('/things-v1/things')
    const [server] = await spansOf(answer, 1)
    expect(server).toMatchObject({ name: 'GET /things-v1/things', kind: 2, status: 0, parentSpanId: '' })
    expect(server?.attributes).toMatchObject({
      'http.response.status_code': 401,
      'tollgate.outcome': 'credential_missing',
    })
  })

  it('whose backend fails has two spans with errors', async () => {
    const answer = await call('/things-v1/dear', { headers: await bearerOf(caller) })
    expect(answer.status).toBe(503)
    const spans = await spansOf(answer, 2)
    expect(spans.map(({ status, attributes }) => [status, attributes['error.type']])).toEqual([
      [2, '503'],
      [2, '503'],
    ])
  })

  it('that its client does not sample has no span, and the backend gets that decision', async () => {
    seen.length = 0
    const headers = { ...(await bearerOf(caller)), traceparent: `00-${TRACE}-${PARENT}-00` }
    const answer = await call('/things-v1/things', { headers })
    expect(seen[0]?.['traceparent']).toBe(`00-${TRACE}-${spanIdOf(answer)}-00`)
    // A later call whose spans have arrived: those of this one would have arrived before.
    await spansOf(await call('/things-v1/things', { headers: await bearerOf(caller) }), 2)
    expect(collector.spans().filter(({ spanId }) => spanId === spanIdOf(answer))).toEqual([])
  })

  it('with trace headers that are not valid begins a trace', async () => {
    seen.length = 0
    const headers = {
      ...(await bearerOf(caller)),
      traceparent: [`00-${TRACE}-${PARENT}-01`, 'mine'],
      tracestate: 'a=1',
    }
    const [server] = await spansOf(await call('/things-v1/things', { headers }), 2)
    expect(server?.traceId).not.toBe(TRACE)
    expect(server?.parentSpanId).toBe('')
    expect(seen[0]?.['traceparent']).toMatch(new RegExp(`^00-${server?.traceId}-[0-9a-f]{16}-01$`))
    expect(seen[0]).not.toHaveProperty('tracestate')
  })
})

describe('Metrics', () => {
  it('are those of /metrics, and the durations of calls', async () => {
    await call('/things-v1/public')
    const last = () => JSON.stringify(collector.json('metrics').at(-1) ?? {})
    await expect.poll(last, { timeout: 10_000 }).toContain('"http.server.request.duration"')
    await expect.poll(last, { timeout: 10_000 }).toContain('/things-v1/public')
    expect(last()).toContain('"tollgate_calls_total"')
    expect(last()).toContain('"tollgate_spool_used_ratio"')
  })
})

describe('Logs', () => {
  it('are the lines of the service, with their severity', async () => {
    const text = () => JSON.stringify(collector.json('logs'))
    await expect.poll(text, { timeout: 10_000 }).toContain('tollgate is up')
    expect(text()).toContain('"severityText":"INFO"')
    expect(service.errors()).toContain('tollgate is up')
  })

  it('report variables that are ignored', () => {
    expect(service.errors()).toContain('OTEL_LOGS_EXPORTER takes otlp or none; its value is ignored')
  })
})

describe('The collector', () => {
  it('gets the headers of the settings and no secret of a call, and no answer shows the headers', async () => {
    expect(new Set(collector.received.map(({ headers }) => headers.authorization))).toEqual(
      new Set([`Bearer ${HEADER_SECRET}`]),
    )
    const secrets = [QUERY_SECRET, BODY_SECRET, HEADER_SECRET, caller.clientSecret, caller.apiKey, 'Bearer ']
    expect(secrets.filter((secret) => collector.text().includes(secret))).toEqual([])
    const settings = JSON.stringify(await service.platform.get('/v1/settings'))
    expect(`${settings}${service.errors()}${service.output()}`).not.toContain(HEADER_SECRET)
  })

  it('delays no call if it hangs, refuses or answers nonsense; what is dropped is counted', async () => {
    const headers = await bearerOf(caller)
    const answers = [
      () => {},
      (response: Parameters<typeof accept>[0]) => void response.writeHead(400).end('x'.repeat(1_000_000)),
      (response: Parameters<typeof accept>[0]) => void response.socket?.end('HTTP/1.1 nonsense\r\n\r\n'),
      (response: Parameters<typeof accept>[0]) => void response.socket?.destroy(),
    ]
    for (const answer of answers) {
      collector.answer = answer
      const statuses = await Promise.all(Array.from({ length: 100 }, () => call('/things-v1/things', { headers })))
      expect(new Set(statuses.map(({ status }) => status))).toEqual(new Set([200]))
    }
    await expect
      .poll(() => metric('tollgate_telemetry_dropped_total{signal="traces",reason="queue_full"}'), { timeout: 10_000 })
      .toMatch(/ [1-9]\d*$/)
    await expect.poll(() => service.errors(), { timeout: 30_000 }).toContain('the collector does not accept telemetry')
  })

  it('that hangs delays the stop by no more than the export may, and the service exits with 0', async () => {
    collector.answer = () => {}
    await call('/things-v1/things', { headers: await bearerOf(caller) })
    expect(await service.stop()).toBe(0)
  })
})

describe('A service without an endpoint', () => {
  it('drops the trace headers of a client, and writes no traces', async () => {
    const other = await createService({ args: ['--empty'], env: { OTEL_TRACES_EXPORTER: 'otlp' } })
    try {
      await other.start()
      await publish(other, 'things-v1', document('Things'), backendUrl)
      seen.length = 0
      const headers = { traceparent: `00-${TRACE}-${PARENT}-00`, tracestate: 'a=1' }
      await callGateway(other, '/things-v1/public', { headers })
      expect(seen[0]?.['traceparent']).toMatch(/^00-[0-9a-f]{32}-[0-9a-f]{16}-01$/)
      expect(seen[0]?.['traceparent']).not.toContain(TRACE)
      expect(seen[0]).not.toHaveProperty('tracestate')
    } finally {
      await other.remove()
    }
  })
})

describe('A start that fails', () => {
  /** The ports of the main thread refuse for a reason that is no refusal of the start. */
  const BROKEN = `data:text/javascript,${encodeURIComponent(`
    import { Server } from 'node:net'
    import { isMainThread } from 'node:worker_threads'
    if (isMainThread) Server.prototype.listen = () => { throw new Error('broken for this test') }
  `)}`

  it('exports its last line, although the export has stopped by then, and exits with 1', async () => {
    const own = await createCollector()
    const dataDir = mkdtempSync(join(tmpdir(), 'tollgate-failed-start-'))
    onTestFinished(async () => {
      await own.close()
      rmSync(dataDir, { recursive: true, force: true })
    })
    const child = spawn(process.execPath, [`--import=${BROKEN}`, MAIN, '--empty'], {
      env: {
        ...PLAIN_ENVIRONMENT,
        DATA_DIR: dataDir,
        GATEWAY_PORT: '0',
        PLATFORM_PORT: '0',
        OTEL_EXPORTER_OTLP_ENDPOINT: own.url,
        OTEL_EXPORTER_OTLP_LOGS_PROTOCOL: 'http/json',
      },
      stdio: 'ignore',
      timeout: 60_000,
      killSignal: 'SIGKILL',
    })
    const [code] = await once(child, 'exit')
    const text = JSON.stringify(own.json('logs'))
    expect([code, text.split('the service could not start').length]).toEqual([1, 2])
    expect(text).toContain('broken for this test')
  })
})
