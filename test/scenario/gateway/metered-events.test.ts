/** Calls that pay for the server-sent events that their clients have received. */

import type { IncomingMessage, ServerResponse } from 'node:http'
import { gzipSync } from 'node:zlib'
import { describe, expect, it } from 'vitest'
import { openMcpClient } from '../../fixtures/mcp-client.ts'
import { openMeteredGateway } from '../../fixtures/metered-gateway.ts'
import { openBackend, receivedUntil } from '../../fixtures/test-gateway.ts'

const responses = { 200: { description: 'ok' } }
const PATHS = {
  '/chat': {
    get: { operationId: 'chat', 'x-tollgate-units': { per: 'event', units: 2, reserve: 5 }, responses },
    head: { operationId: 'headChat', 'x-tollgate-units': { per: 'event', units: 2, reserve: 5 }, responses },
  },
  '/public': { get: { operationId: 'public', security: [], 'x-tollgate-units': { per: 'event' }, responses } },
  '/plain': { get: { operationId: 'plain', responses } },
}
const DECLARATION = { quotas: { period: 'Annual', resourceUnits: 100 }, resourceUnits: { default: 3 } }
const STREAM = { 'content-type': 'text/event-stream' }
const EVENT = 'event: token\r\ndata: {"a":1}\r\n\r\n'

async function openChat(listener: (request: IncomingMessage, response: ServerResponse) => void, root: object = {}) {
  const origin = await openBackend(listener)
  const gateway = await openMeteredGateway({ backend: { origin }, paths: PATHS, root }, DECLARATION)
  const url = (path: string) => `http://127.0.0.1:${gateway.port}/things-v1${path}`
  return {
    ...gateway,
    calls: gateway.calls,
    call: (path: string, subscription = 'a', init: RequestInit = {}) =>
      fetch(url(path), { ...init, headers: { ...init.headers, 'x-api-key': `key-${subscription}` } }),
  }
}

/** Writes the parts of a body, each once the one before has left. */
function writeParts(response: ServerResponse, parts: readonly string[]): void {
  const [part, ...rest] = parts
  if (part === undefined) response.end()
  else response.write(part, () => setImmediate(() => writeParts(response, rest)))
}

describe('A stream of events', () => {
  it('costs its events, in whatever parts they arrive, and no heartbeats', async () => {
    const body = `\ufeff: hello\n\n${EVENT.repeat(3)}: heartbeat\r\n\r\ndata: last\r\rdata: cut`
    const { call, recorded, calls, used, usedAfterRestart } = await openChat((request, response) => {
      response.writeHead(200, STREAM)
      writeParts(response, request.url === '/chat?bytes' ? [...body] : [body])
    })
    for (const query of ['', '?bytes']) {
      const response = await call(`/chat${query}`)
      // The head leaves before the end: it shows the reserve.
      expect(response.headers.get('x-ru-cost')).toBe('5')
      expect(await response.text()).toBe(body.slice(1))
    }
    await recorded(2)
    expect(calls.map(({ units }) => units)).toEqual([8, 8])
    expect([used('a'), usedAfterRestart('a')]).toEqual([16, 16])
  })

  it.each([
    ['length', { 'content-length': String(EVENT.length * 2) }],
    ['close', { connection: 'close' }],
  ])('costs the same if its body ends by its %s', async (_, headers) => {
    const { call, recorded, calls } = await openChat((_, response) =>
      response.writeHead(200, { ...STREAM, ...headers }).end(EVENT.repeat(2)),
    )
    await (await call('/chat')).text()
    await recorded(1)
    expect(calls).toEqual([{ outcome: 'served', status: 200, subscription: 'a', units: 4 }])
  })

  it('costs the events that were sent if its client leaves before the end', async () => {
    let left = (): void => {}
    const gone = new Promise<void>((resolve) => (left = resolve))
    const gateway = await openChat((_, response) => {
      response.writeHead(200, STREAM).write(EVENT + EVENT)
      response.on('close', left)
    })
    const socket = await gateway.open()
    socket.write('GET /things-v1/chat HTTP/1.1\r\nHost: a\r\nx-api-key: key-a\r\n\r\n')
    await receivedUntil(socket, /(?:\{"a":1\}[^]*){2}/)
    expect(gateway.used('a')).toBe(5)
    socket.destroy()
    await Promise.all([gateway.recorded(1), gone])
    expect(gateway.calls).toEqual([{ outcome: 'client_aborted', status: 200, subscription: 'a', units: 4 }])
    expect([gateway.used('a'), gateway.usedAfterRestart('a')]).toEqual([4, 4])
  })

  it('costs the reserve if its client leaves before the backend responds', async () => {
    const { promise: arrived, resolve: arrive } = Promise.withResolvers<void>()
    const gateway = await openChat(() => arrive())
    const socket = await gateway.open()
    socket.write('GET /things-v1/chat HTTP/1.1\r\nHost: a\r\nx-api-key: key-a\r\n\r\n')
    await arrived
    socket.destroy()
    await gateway.recorded(1)
    expect(gateway.calls).toEqual([{ outcome: 'client_aborted', status: 499, subscription: 'a', units: 5 }])
    expect(gateway.used('a')).toBe(5)
  })

  it('costs nothing if the backend answers 5xx, or breaks off', async () => {
    const { call, recorded, calls, used, usedAfterRestart } = await openChat((request, response) => {
      if (request.url === '/chat?broken') {
        response.writeHead(200, STREAM).write(EVENT, () => response.destroy())
        return
      }
      response.writeHead(503, STREAM).end(EVENT)
    })
    await (await call('/chat')).text()
    await expect(call('/chat?broken').then((response) => response.text())).rejects.toThrow()
    await recorded(2)
    expect(calls.map(({ outcome, units }) => [outcome, units])).toEqual([
      ['served', 0],
      ['upstream_broken', 0],
    ])
    expect([used('a'), usedAfterRestart('a')]).toEqual([0, 0])
  })

  it('costs each consumer its own events only', async () => {
    const { call, recorded, used } = await openChat((request, response) =>
      response.writeHead(200, STREAM).end(EVENT.repeat(Number(request.url?.split('=')[1]))),
    )
    await Promise.all(
      [call('/chat?n=1', 'a'), call('/chat?n=7', 'b'), call('/chat?n=4', 'a')].map(async (each) => (await each).text()),
    )
    await recorded(3)
    expect([used('a'), used('b'), used('c')]).toEqual([10, 14, 0])
  })

  it('is asked for without a coding, and costs the reserve if it has one nevertheless', async () => {
    const asked: (string | undefined)[] = []
    const gateway = await openChat((request, response) => {
      asked.push(request.headers['accept-encoding'])
      response.writeHead(200, { ...STREAM, 'content-encoding': 'gzip' }).end(gzipSync(EVENT.repeat(20)))
    })
    const response = await gateway.call('/chat', 'a', { headers: { 'accept-encoding': 'gzip' } })
    expect(await response.text()).toBe(EVENT.repeat(20))
    await gateway.call('/plain', 'a', { headers: { 'accept-encoding': 'gzip' } }).then((plain) => plain.text())
    await gateway.recorded(2)
    expect(asked).toEqual(['identity', 'gzip'])
    expect(gateway.calls.map(({ units }) => units)).toEqual([5, 3])
    expect(gateway.counts.get('units_unknown chat encoded')).toBe(1)
  })
})

describe('A response without events of an operation that counts them', () => {
  it.each([
    ['another type', '/chat', 'GET', 200, { 'content-type': 'application/json' }, '{}'],
    ['an error', '/chat', 'GET', 404, { 'content-type': 'application/json' }, '{}'],
    ['no body', '/chat', 'GET', 204, STREAM, ''],
    ['HEAD', '/chat', 'HEAD', 200, STREAM, ''],
  ])('costs the declared units: %s', async (_, path, method, status, headers, body) => {
    const { call, recorded, calls, used } = await openChat((_, response) =>
      response.writeHead(status, headers).end(body),
    )
    await (await call(path, 'a', { method })).text()
    await recorded(1)
    expect(calls).toEqual([{ outcome: 'served', status, subscription: 'a', units: 3 }])
    expect(used('a')).toBe(3)
  })

  it('costs nothing without a credential', async () => {
    const { port, recorded, calls, faults } = await openChat((_, response) =>
      response.writeHead(200, STREAM).end(EVENT),
    )
    expect(await (await fetch(`http://127.0.0.1:${port}/things-v1/public`)).text()).toBe(EVENT)
    await recorded(1)
    expect([calls[0]!.units, faults]).toEqual([0, []])
  })
})

it('A tool call costs the events of its result', async () => {
  const { port, recorded, calls, used } = await openChat(
    (_, response) => response.writeHead(200, STREAM).end(EVENT.repeat(6)),
    { 'x-tollgate-mcp': true },
  )
  const client = await openMcpClient(`http://127.0.0.1:${port}/things-v1/mcp`, 'key-a', '2026-07-28')
  const before = calls.length
  await client.callTool({ name: 'chat', arguments: {} })
  await recorded(before + 1)
  expect(calls.filter(({ units }) => units > 0)).toEqual([
    { outcome: 'served', status: 200, subscription: 'a', units: 12 },
  ])
  expect(used('a')).toBe(12)
})
