/** Requests to a collector that is away, slow, hostile or well, over real connections. */

import { createServer as createHttpsServer } from 'node:https'
import { createServer, type AddressInfo, type Socket } from 'node:net'
import type { TLSSocket } from 'node:tls'
import { describe, expect, it, onTestFinished } from 'vitest'
import { systemClock } from '../../../../src/foundation/runtime/clock.ts'
import type { SignalConfig } from '../../../../src/pipeline/telemetry/telemetry-settings.ts'
import { createOtlpClient } from '../../../../src/pipeline/telemetry/otlp-client.ts'
import { createFakeClock } from '../../../fixtures/fake-clock.ts'
import { createTestAuthority } from '../../../fixtures/test-certificates.ts'
import { createCollector } from '../../../fixtures/otlp-collector.ts'

const CONFIG = {
  headers: { 'x-key': 'marker' },
  timeoutMs: 10_000,
  isCompressed: false,
  format: 'protobuf',
  tls: {},
} as const
const NEVER = new AbortController().signal
const BYTES = Buffer.from('spans')

function open(config: Partial<SignalConfig> & { url: string }, clock = systemClock) {
  const client = createOtlpClient({ ...CONFIG, ...config }, clock, 'tollgate/1')
  onTestFinished(() => client.close())
  return client
}

async function openCollector() {
  const collector = await createCollector()
  onTestFinished(() => collector.close())
  return collector
}

/** A server that reads a request and then does what it likes with the connection. */
async function openServer(answer: (socket: Socket) => void): Promise<string> {
  const sockets = new Set<Socket>()
  const server = createServer((socket) => {
    sockets.add(socket)
    socket.on('error', () => {})
    socket.once('data', () => answer(socket))
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  onTestFinished(() => {
    for (const socket of sockets) socket.destroy()
    server.close()
  })
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1/traces`
}

describe('A request', () => {
  it('has the headers of the settings, the type of its format, and the bytes', async () => {
    const collector = await openCollector()
    const client = open({ url: `${collector.url}/v1/traces` })
    expect(await client.post(BYTES, 5_000, NEVER)).toEqual({ outcome: 'accepted', body: Buffer.alloc(0) })
    const json = open({ url: `${collector.url}/v1/traces`, format: 'json', isCompressed: true })
    expect(await json.post(BYTES, 5_000, NEVER)).toMatchObject({ outcome: 'accepted' })
    const [first, second] = collector.received
    expect(first?.headers).toMatchObject({ 'x-key': 'marker', 'content-type': 'application/x-protobuf' })
    expect(second?.headers).toMatchObject({ 'content-type': 'application/json', 'content-encoding': 'gzip' })
    expect(collector.received.map(({ bytes }) => bytes.toString())).toEqual(['spans', 'spans'])
  })

  it('names this service as user agent, unless the settings name another one', async () => {
    const collector = await openCollector()
    for (const headers of [CONFIG.headers, { 'user-agent': 'other/1', 'content-type': 'text/plain' }])
      await open({ url: `${collector.url}/v1/traces`, headers }).post(BYTES, 5_000, NEVER)
    expect(collector.received.map(({ headers }) => [headers['user-agent'], headers['content-type']])).toEqual([
      ['tollgate/1', 'application/x-protobuf'],
      ['other/1', 'application/x-protobuf'],
    ])
  })

  it.each([
    [400, { outcome: 'failed', reason: 'status 400' }],
    [401, { outcome: 'failed', reason: 'status 401' }],
    [500, { outcome: 'failed', reason: 'status 500' }],
    [429, { outcome: 'later', reason: 'status 429', afterMs: 7_000 }],
    [503, { outcome: 'later', reason: 'status 503', afterMs: 7_000 }],
  ])('that is answered with %d is sent again or not, as the specification says', async (status, expected) => {
    const collector = await openCollector()
    collector.answer = (response) => void response.writeHead(status, { 'retry-after': '7' }).end('x'.repeat(100_000))
    expect(await open({ url: collector.url }).post(BYTES, 5_000, NEVER)).toEqual(expected)
  })

  it('follows no redirect, which could carry the headers elsewhere', async () => {
    const [collector, other] = [await openCollector(), await openCollector()]
    collector.answer = (response) => void response.writeHead(307, { location: other.url }).end()
    expect(await open({ url: collector.url }).post(BYTES, 5_000, NEVER)).toMatchObject({ outcome: 'failed' })
    expect(other.received).toEqual([])
  })

  it('is accepted although the answer is endless, of which a bounded part is read', async () => {
    const url = await openServer((socket) => {
      socket.write('HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n')
      const piece = 'x'.repeat(10_000)
      const pump = (): void => {
        if (!socket.destroyed) socket.write(`${piece.length.toString(16)}\r\n${piece}\r\n`, () => setImmediate(pump))
      }
      pump()
    })
    expect(await open({ url }).post(BYTES, 5_000, NEVER)).toEqual({ outcome: 'accepted', body: new Uint8Array() })
  })

  it.each([
    ['nonsense', (socket: Socket) => void socket.end('nonsense\r\n\r\n')],
    ['a reset', (socket: Socket) => void socket.resetAndDestroy()],
    ['an end', (socket: Socket) => void socket.end()],
  ])('that is answered with %s may be sent again, and its reason has no bytes of the answer', async (_, answer) => {
    const url = await openServer(answer)
    const result = await open({ url }).post(BYTES, 5_000, NEVER)
    expect(result.outcome).toBe('later')
    expect(JSON.stringify(result)).not.toMatch(/nonsense|marker/)
  })

  it('to nobody fails with the code of the system', async () => {
    const collector = await createCollector()
    await collector.close()
    expect(await open({ url: collector.url }).post(BYTES, 5_000, NEVER)).toMatchObject({ reason: 'ECONNREFUSED' })
  })

  it('that is not answered ends at its time limit', async () => {
    const clock = createFakeClock(0)
    const { promise: arrived, resolve } = Promise.withResolvers<void>()
    const url = await openServer(() => resolve())
    const result = open({ url, timeoutMs: 3_000 }, clock).post(BYTES, 60_000, NEVER)
    await arrived
    await clock.advance(3_000)
    expect(await result).toEqual({ outcome: 'later', reason: 'no answer in time', afterMs: null })
    expect(clock.pending).toBe(0)
  })

  it('is not sent again if the rest of an answer with 200 is missing', async () => {
    const head = 'HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nx'
    const broken = await openServer((socket) => void socket.end(head))
    const accepted = { outcome: 'accepted', body: new Uint8Array() }
    expect(await open({ url: broken }).post(BYTES, 5_000, NEVER)).toEqual(accepted)
    const silent = await openServer((socket) => void socket.write(head))
    expect(await open({ url: silent }).post(BYTES, 200, NEVER)).toEqual(accepted)
  })

  it('over TLS goes only to a collector whose certificate the authorities of the settings have signed', async () => {
    const authority = createTestAuthority()
    const [own, client] = [authority.sign('127.0.0.1'), authority.sign('client.example')]
    // This process does not trust the authority by itself.
    authority.remove()
    const clients: string[] = []
    const server = createHttpsServer({ ...own, ca: authority.cert, requestCert: true }, (incoming, response) => {
      clients.push(String((incoming.socket as TLSSocket).getPeerCertificate().subject?.CN))
      response.end()
    })
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
    onTestFinished(() => void server.close())
    const url = `https://127.0.0.1:${(server.address() as AddressInfo).port}`
    expect(await open({ url }).post(BYTES, 5_000, NEVER)).toMatchObject({ outcome: 'later' })
    expect(clients).toEqual([])
    const tls = { ca: authority.cert, ...client }
    expect(await open({ url, tls }).post(BYTES, 5_000, NEVER)).toMatchObject({ outcome: 'accepted' })
    expect(clients).toEqual(['client.example'])
  })

  it('ends when the export stops', async () => {
    const stop = new AbortController()
    const url = await openServer(() => stop.abort())
    expect(await open({ url }).post(BYTES, 60_000, stop.signal)).toMatchObject({ outcome: 'later' })
  })
})
