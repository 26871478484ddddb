import { once } from 'node:events'
import { connect as connectHttp2 } from 'node:http2'
import { connect, createServer, type Socket } from 'node:net'
import { createServer as createTlsServer } from 'node:tls'
import { describe, expect, it, onTestFinished, vi } from 'vitest'
import type { ClientResponse } from '../../../../../src/gateway/connection/client.ts'
import { toResponseFields } from '../../../../../src/gateway/connection/response-fields.ts'
import { listen } from '../../../../fixtures/test-backend.ts'
import { createTestAuthority } from '../../../../fixtures/test-certificates.ts'
import * as h2 from './frames.ts'
import { exchange, openSessions } from './open-sessions.ts'
import { untilStill } from '../../../../fixtures/until-still.ts'

const EMPTY = toResponseFields(['Content-Length', '0'])

function answer(response: ClientResponse): void {
  response.start(200, EMPTY)
  response.end()
}

describe('Http2Sessions', () => {
  it('lets streams end when it leaves, and accepts no others on their connections', async () => {
    const responses: ClientResponse[] = []
    const { client, sessions } = await openSessions((_, response) => void responses.push(response))
    const session = client()
    const pending = exchange(session, { ':path': '/' })
    await expect.poll(() => responses.length).toBe(1)
    sessions.leave()
    await once(session, 'goaway')
    answer(responses[0]!)
    expect(await pending).toMatchObject({ status: 200 })
    await once(session, 'close')
    await expect.poll(() => sessions.size).toBe(0)
  })

  it('serves the first requests of a connection that arrives while it leaves', async () => {
    const { client, sessions } = await openSessions((_, response) => answer(response))
    sessions.leave()
    const session = client()
    expect(await exchange(session, { ':path': '/' })).toMatchObject({ status: 200 })
    await once(session, 'close')
  })

  it('serves what a client sends before it knows that the gateway leaves, and names the last stream once', async () => {
    const { raw, sessions } = await openSessions((request, response) => request.url === '/' && answer(response))
    const client = raw()
    client.send(h2.ACKNOWLEDGED, h2.headers(1))
    await client.frame(h2.HEADERS)
    sessions.leave()
    const ping = await client.frame(h2.PING)
    client.send(h2.headers(3))
    await client.frame(h2.HEADERS, ({ stream }) => stream === 3)
    client.send(h2.headers(5, h2.pseudo('GET', '/never')), h2.frame(h2.PING, h2.ACK, 0, ping.payload))
    await client.frame(h2.GOAWAY, ({ payload }) => payload.readUInt32BE(0) === 5)
    // Not served any more, and the fault behind it must not make the client believe that it was.
    client.send(h2.headers(7), h2.windowUpdate(0, 0))
    await client.closed
    const last = client.frames.filter(({ type }) => type === h2.GOAWAY).map(({ payload }) => payload.readUInt32BE(0))
    expect(last).toEqual([0x7fff_ffff, 5, 5])
    expect(client.frames.some(({ type, stream }) => type === h2.HEADERS && stream === 7)).toBe(false)
  })

  it('serves the requests that a client sends behind its GOAWAY', async () => {
    const { client } = await openSessions((_, response) => answer(response))
    const session = client()
    await once(session, 'remoteSettings')
    const pending = Array.from({ length: 20 }, () => exchange(session, { ':path': '/' }))
    session.close()
    for (const each of pending) expect(await each).toMatchObject({ status: 200, rstCode: 0 })
  })

  it('does not close a connection as idle while its client has not got the last response', async () => {
    const finished: boolean[] = []
    let socket: Socket | null = null
    const { raw, sessions } = await openSessions((request, response) => {
      socket = request.socket
      response.on('close', () => finished.push(response.writableFinished))
      response.start(200, toResponseFields([]))
      response.end(Buffer.alloc(16_000))
    })
    const client = raw()
    client.send(h2.ACKNOWLEDGED, h2.settings([[h2.SETTING.window, 2 ** 30]]), h2.windowUpdate(0, 2 ** 30))
    await client.frame(h2.SETTINGS, ({ flags }) => flags === h2.ACK)
    client.socket.pause()
    let sent = 0
    const isBlocked = (): boolean => socket !== null && socket.writableLength > 0
    while (!isBlocked()) {
      client.send(h2.headers(sent++ * 2 + 1))
      while (finished.length < sent && !isBlocked()) await new Promise((resolve) => setImmediate(resolve))
    }
    sessions.closeIdleConnections()
    expect(sessions.size).toBe(1)
    client.socket.resume()
    const endsOf = () => client.frames.filter(({ type, flags }) => type === h2.DATA && (flags & h2.END_STREAM) !== 0)
    await expect.poll(() => endsOf().length, { timeout: 10_000 }).toBe(sent)
    await expect.poll(() => (sessions.closeIdleConnections(), sessions.size)).toBe(0)
    expect(finished).toEqual(Array(sent).fill(true))
  })

  it('closes idle connections only', async () => {
    const responses: ClientResponse[] = []
    const { client, sessions } = await openSessions((_, response) => void responses.push(response))
    const [busy, idle] = [client(), client()]
    const pending = exchange(busy, { ':path': '/' })
    await Promise.all([once(idle, 'remoteSettings'), once(idle, 'localSettings')])
    await expect.poll(() => responses.length).toBe(1)
    await expect.poll(() => (sessions.closeIdleConnections(), sessions.size)).toBe(1)
    answer(responses[0]!)
    expect(await pending).toMatchObject({ status: 200 })
  })

  it('ends all calls when it closes all connections', async () => {
    const closed: boolean[] = []
    const { client, sessions } = await openSessions((_, response) => {
      response.on('close', () => closed.push(response.writableFinished))
      response.start(200, EMPTY)
      response.flushHeaders()
    })
    const stream = client().request({ ':path': '/' })
    stream.on('error', () => {})
    await once(stream, 'response')
    sessions.closeAllConnections()
    await expect.poll(() => closed).toEqual([false])
    await expect.poll(() => sessions.size).toBe(0)
  })

  it.each([
    ['an incomplete preface', h2.PREFACE.subarray(0, 10), 'request_too_slow'],
    ['a preface without SETTINGS', h2.PREFACE, 'request_too_slow'],
    ['nothing', Buffer.alloc(0), 'request_too_slow'],
  ])('closes a connection that sends %s in time', async (_, bytes, reason) => {
    const { raw, counts, sessions } = await openSessions(() => {}, { scanEveryMs: 5 })
    await raw(bytes).closed
    expect(counts).toEqual([reason])
    await expect.poll(() => sessions.size).toBe(0)
  })

  it.each([
    ['the first head', [h2.headers(1, h2.pseudo(), h2.END_STREAM)]],
    ['a later head', [h2.headers(1), h2.headers(3, h2.pseudo(), h2.END_STREAM)]],
    ['a head in several frames', [h2.headers(1, h2.pseudo(), h2.END_STREAM), h2.frame(h2.CONTINUATION, 0, 1)]],
  ])('closes a connection on which %s does not end, in the time of a head', async (_, frames) => {
    vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] })
    onTestFinished(() => void vi.useRealTimers())
    const { raw, counts, sessions } = await openSessions((_request, response) => answer(response))
    const client = raw()
    client.send(h2.ACKNOWLEDGED, ...frames)
    await expect.poll(() => sessions.size).toBe(1)
    await client.frame(h2.SETTINGS, ({ flags }) => flags === h2.ACK)
    for (let scan = 0; scan < 10 && sessions.size > 0; scan++) {
      vi.advanceTimersByTime(5_000)
      await new Promise((resolve) => setImmediate(resolve))
      if (scan === 1) expect(sessions.size).toBe(1)
    }
    await client.closed
    expect(counts).toEqual(['request_too_slow'])
  })

  it('closes a connection that does not acknowledge its settings', async () => {
    const { raw } = await openSessions(() => {}, { scanEveryMs: 5 })
    const client = raw()
    expect((await client.frame(h2.GOAWAY)).payload.readUInt32BE(4)).toBe(4)
    await client.closed
  })

  it('closes a connection that stays idle, although it sends PING', async () => {
    const { raw, counts } = await openSessions((_, response) => answer(response), { scanEveryMs: 30 })
    const client = raw()
    client.send(h2.ACKNOWLEDGED, h2.headers(1))
    await client.frame(h2.HEADERS)
    client.send(h2.ping())
    expect((await client.frame(h2.GOAWAY)).payload.readUInt32BE(4)).toBe(0)
    await client.closed
    expect(counts).toEqual([])
  })

  it('keeps a connection whose requests begin and end between two scans', async () => {
    vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] })
    onTestFinished(() => void vi.useRealTimers())
    const { client, sessions } = await openSessions((_, response) => answer(response))
    const session = client()
    for (let round = 0; round < 30; round++) {
      expect(await exchange(session, { ':path': '/' })).toMatchObject({ status: 200 })
      vi.advanceTimersByTime(5_000)
    }
    expect([session.closed, sessions.size]).toEqual([false, 1])
    vi.advanceTimersByTime(80_000)
    await once(session, 'close')
  })

  it('closes the connection of a client that leaves its side open', async () => {
    const { port, sessions } = await openSessions((_, response) => answer(response), { scanEveryMs: 30 })
    const socket = connect({ port, host: '127.0.0.1', allowHalfOpen: true })
    onTestFinished(() => void socket.destroy())
    socket.write(Buffer.concat([h2.OPENING, h2.ACKNOWLEDGED]))
    socket.resume()
    await expect.poll(() => sessions.size).toBe(1)
    await expect.poll(() => sessions.size, { timeout: 5_000 }).toBe(0)
  })

  it('serves a connection over TLS, and knows what its reader has accepted', async () => {
    const authority = createTestAuthority()
    onTestFinished(() => authority.remove())
    const responses: ClientResponse[] = []
    const { sessions, faults } = await openSessions((_, response) => {
      responses.push(response)
      response.start(200, toResponseFields([]))
      response.write(Buffer.alloc(10_000_000))
      response.end('end')
    })
    const options = { ...authority.sign('localhost'), ALPNProtocols: ['h2'] }
    const server = createTlsServer(options, (socket) => sessions.accept(socket))
    const port = await listen(server)
    onTestFinished(() => void server.close())
    const session = connectHttp2(`https://localhost:${port}`)
    onTestFinished(() => session.destroy())
    await once(session, 'connect')
    // The client does not read, so that the window of its stream fills up.
    const stream = session.request({ ':path': '/' })
    await once(stream, 'response')
    await untilStill(() => responses[0]!.deliveredBytes!(1e9))
    expect(responses[0]!.writableLength).toBeGreaterThan(0)

    let bytes = 0
    stream.on('data', (chunk: Buffer) => (bytes += chunk.length))
    await once(stream, 'end')
    expect(bytes).toBe(10_000_003)
    expect(faults).toEqual([])
  })

  it('ignores a connection that has ended before it is accepted', async () => {
    const { sessions, faults } = await openSessions(() => {})
    const server = createServer()
    const port = await listen(server)
    onTestFinished(() => void server.close())
    const client = connect(port, '127.0.0.1')
    const [socket] = (await once(server, 'connection')) as [Socket]
    socket.destroy()
    sessions.accept(socket)
    client.destroy()
    expect([sessions.size, faults]).toEqual([0, []])
  })
})
