/** The gateway from outside: refusals with their codes, request bodies, requests to the backend, and invalid HTTP. */

import { createServer, type Server } from 'node:http'
import { connect, type Socket } from 'node:net'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { createService, enrol, publish, type Enrolled, type Service, TWO_THREADS } from './service.ts'
import { bearerOf, callGateway, document, listen } from './things-api.ts'

let service: Service
let backend: Server
let caller: Enrolled
let otherCaller: Enrolled
const seen: { url: string; headers: NodeJS.Dict<string | string[]> }[] = []

const declaration = {
  opensla: '1.0.0',
  info: { title: 'Things', version: '1.0.0' },
  limits: [{ name: 'few', operationIds: ['limited'], totals: { day: 2 } }],
  quotas: { period: 'Monthly', resourceUnits: 100 },
  resourceUnits: { default: 0, operations: { dear: 60 } },
}

beforeAll(async () => {
  backend = createServer((incoming, response) => {
    seen.push({ url: incoming.url ?? '', headers: incoming.headers })
    let bytes = 0
    incoming.on('data', (chunk: Buffer) => (bytes += chunk.length))
    incoming.on('end', () => response.end(JSON.stringify({ bytes })))
  })
  const url = await listen(backend)
  service = await createService({ args: ['--empty'], env: TWO_THREADS })
  await service.start()
  await publish(service, 'things-v1', document('Things'), url)
  await publish(service, 'others-v1', document('Others'), url)
  const specification = Buffer.from(JSON.stringify(declaration)).toString('base64')
  await service.platform.post('/v1/openslaspecs', { api: 'things-v1', specification })
  caller = await enrol(service, 'things-v1', { scopes: ['things:read'] })
  otherCaller = await enrol(service, 'others-v1')
})

afterAll(async () => {
  await service.remove()
  backend.closeAllConnections()
  backend.close()
})

const call = (path: string, options?: Parameters<typeof callGateway>[2]) => callGateway(service, path, options)
const bearer = (by = caller) => bearerOf(by)
const withType = async (type: string) => ({ ...(await bearer()), 'content-type': type })

describe('the gateway', () => {
  it('responds to each fault of a credential with its own code and challenge', async () => {
    const metadata = `resource_metadata="${service.gatewayUrl}/.well-known/oauth-protected-resource/things-v1"`
    const missing = await call('/things-v1/things')
    expect([missing.status, missing.code, missing.headers['www-authenticate']]).toEqual([
      401,
      'credential_missing',
      `Bearer ${metadata}`,
    ])
    const wrong = await call('/things-v1/things', { headers: { authorization: 'Bearer a.b.c' } })
    expect([wrong.status, wrong.code, wrong.headers['www-authenticate']]).toEqual([
      401,
      'credential_invalid',
      `Bearer error="invalid_token", ${metadata}`,
    ])
    const forbidden = await call('/things-v1/things', {
      method: 'POST',
      headers: await withType('application/json'),
      body: '{"name":"a"}',
    })
    expect([forbidden.status, forbidden.code]).toEqual([403, 'operation_forbidden'])
    expect(forbidden.headers['www-authenticate']).toContain('error="insufficient_scope"')
    const foreign = await call('/things-v1/things', { headers: { 'x-api-key': otherCaller.apiKey } })
    expect([foreign.status, foreign.code]).toEqual([403, 'subscription_required'])
    const other = await call('/things-v1/things', { headers: await bearer(otherCaller) })
    expect([other.status, other.code]).toEqual([401, 'credential_invalid'])
  })

  it('accepts a key in x-api-key, and a public operation without a credential', async () => {
    expect((await call('/things-v1/things', { headers: { 'x-api-key': caller.apiKey } })).status).toBe(200)
    expect((await call('/things-v1/things', { headers: { authorization: `Bearer ${caller.apiKey}` } })).status).toBe(
      401,
    )
    expect((await call('/things-v1/public')).status).toBe(200)
  })

  it('answers 404 and 405, and rejects ambiguous paths', async () => {
    expect((await call('/nothing-v1/things')).code).toBe('not_found')
    expect((await call('/things-v1/a/b/c', { headers: await bearer() })).code).toBe('not_found')
    const method = await call('/things-v1/things', { method: 'DELETE', headers: await bearer() })
    expect([method.status, method.code]).toEqual([405, 'method_not_allowed'])
    expect(method.headers['allow']).toContain('GET')
    for (const path of [
      '/things-v1//things',
      '/things-v1/%2e%2e/things',
      '/things-v1/a%2Fb',
      '/things-v1/%zz',
      '/things-v1/a\\b',
    ]) {
      expect(await raw(`GET ${path} HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n`), path).toContain(
        'path_not_canonical',
      )
    }
  })

  it('rejects calls over a total with 429 and Retry-After, and over a quota with 402', async () => {
    const headers = await bearer()
    const statuses = []
    for (let index = 0; index < 3; index++) statuses.push((await call('/things-v1/limited', { headers })).status)
    expect(statuses).toEqual([200, 200, 429])
    const limited = await call('/things-v1/limited', { headers })
    expect([limited.code, Number(limited.headers['retry-after']) > 0]).toEqual(['rate_limited', true])
    expect((await call('/things-v1/dear', { headers })).status).toBe(200)
    const dear = await call('/things-v1/dear', { headers })
    expect([dear.status, dear.code]).toEqual([402, 'quota_exhausted'])
  })
})

describe('a request body', () => {
  it('is validated if a schema is declared', async () => {
    const writer = await enrol(service, 'things-v1')
    const headers = { ...(await bearer(writer)), 'content-type': 'application/json' }
    const post = (body: string, type = 'application/json') =>
      call('/things-v1/things', { method: 'POST', headers: { ...headers, 'content-type': type }, body })

    expect((await post('{"name":"a"}')).status).toBe(200)
    expect((await post('{"name":1}')).document['errors']).toEqual([expect.objectContaining({ pointer: '/name' })])
    expect((await post('{"name":"a","name":"b"}')).code).toBe('payload_invalid')
    expect((await post('{"name":')).code).toBe('payload_invalid')
    expect((await post('{"name":"a"}', 'text/plain')).code).toBe('media_type_unsupported')
    expect((await post(`{"name":"${'a'.repeat(1_100_000)}"}`)).code).toBe('payload_too_large')
  })

  it('above the limit is rejected while it arrives, and the connection is closed', async () => {
    const writer = await enrol(service, 'things-v1')
    const socket = open()
    const { authorization } = await bearer(writer)
    socket.write(
      `POST /things-v1/things HTTP/1.1\r\nHost: a\r\nAuthorization: ${authorization}\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n`,
    )
    const piece = 'x'.repeat(100_000)
    const pump = (): void => {
      if (!socket.destroyed) socket.write(`${piece.length.toString(16)}\r\n${piece}\r\n`, () => setImmediate(pump))
    }
    pump()
    expect(await answerOf(socket)).toContain('HTTP/1.1 413')
  })

  it('without a schema is streamed, even if it is long', async () => {
    const answer = await call('/things-v1/upload', {
      method: 'POST',
      headers: await withType('application/octet-stream'),
      body: Buffer.alloc(5_000_000, 1),
    })
    expect([answer.status, answer.document['bytes']]).toEqual([200, 5_000_000])
  })
})

describe('a request to the backend', () => {
  it('names the verified caller, and contains neither the credential nor claims of the client', async () => {
    seen.length = 0
    const headers = {
      ...(await bearer()),
      'x-consumer-id': 'con_boss',
      'X-Agent-Id': 'root',
      traceparent: 'mine',
      'x-mine': 'kept',
    }
    const answer = await call('/things-v1/things', { headers })
    const received = seen[0]?.headers ?? {}

    expect(received['x-consumer-id']).toBe(caller.consumer)
    expect(received['x-subscription-id']).toBe(caller.subscription)
    expect(received['x-mine']).toBe('kept')
    expect(received['x-agent-id']).toBeUndefined()
    expect(received['authorization']).toBeUndefined()
    expect(received['traceparent']).toMatch(/^00-[0-9a-f]{32}-[0-9a-f]{16}-01$/)
    expect(received['x-request-id']).toBe(answer.headers['x-request-id'])
  })
})

describe('a request', () => {
  it.each([
    [
      'Content-Length and Transfer-Encoding',
      'POST /things-v1/upload HTTP/1.1\r\nHost: a\r\nContent-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n',
      '400',
    ],
    [
      'two values of Content-Length',
      'POST /things-v1/upload HTTP/1.1\r\nHost: a\r\nContent-Length: 3\r\nContent-Length: 4\r\n\r\nabc',
      '400',
    ],
    ['a bare line feed', 'GET /things-v1/public HTTP/1.1\nHost: a\n\n', '400'],
    ['a space before the colon of a header', 'GET /things-v1/public HTTP/1.1\r\nHost: a\r\nX-A : b\r\n\r\n', '400'],
    ['a folded header', 'GET /things-v1/public HTTP/1.1\r\nHost: a\r\nX-A: b\r\n c\r\n\r\n', '400'],
    ['headers over 16 KB', `GET /things-v1/public HTTP/1.1\r\nHost: a\r\nX-A: ${'b'.repeat(17_000)}\r\n\r\n`, '431'],
  ])('with %s is rejected, and its connection is closed', async (_, text, status) => {
    expect(await raw(text)).toMatch(new RegExp(`^HTTP/1.1 ${status} `))
  })
})

function open(): Socket {
  const { hostname, port } = new URL(service.gatewayUrl)
  const socket = connect(Number(port), hostname)
  socket.on('error', () => {})
  return socket
}

/** Returns all bytes that arrive until the peer closes the connection. */
function answerOf(socket: Socket): Promise<string> {
  return new Promise((resolve) => {
    let text = ''
    socket.on('data', (chunk) => (text += chunk.toString('latin1')))
    socket.on('close', () => resolve(text))
  })
}

function raw(text: string): Promise<string> {
  const socket = open()
  socket.write(text)
  return answerOf(socket)
}
