/** A slow client affects neither the health of the backend nor other callers. */

import { request } from 'node:http'
import { describe, expect, it } from 'vitest'
import { FLAG_FORWARDED } from '../../../src/record/call-record.ts'
import { openBackend, openTestGateway, received, receivedUntil, type TestGateway } from '../../fixtures/test-gateway.ts'

const UPLOADS = { windowMs: 100, bytesPerSecondMin: 1_000, totalMs: 600_000 }
const READERS = { windowMs: 100, pendingBytesMax: 1e9, scanEveryMs: 20 }
const upload = (headers: string, key = 'a', path = '/things-v1/keyed'): string =>
  `POST ${path} HTTP/1.1\r\nHost: a\r\nx-api-key: key-${key}\r\nContent-Type: application/octet-stream\r\n${headers}\r\n\r\n`

const download = (key = 'a'): string => `GET /things-v1/keyed HTTP/1.1\r\nHost: a\r\nx-api-key: key-${key}\r\n\r\n`

function get(gateway: TestGateway, key: string): Promise<number> {
  return new Promise((resolve, reject) => {
    const options = {
      port: gateway.port,
      path: '/things-v1/keyed',
      agent: false,
      headers: { 'x-api-key': `key-${key}` },
    }
    request(options, (response) => {
      response.resume()
      response.on('end', () => resolve(response.statusCode ?? 0))
    })
      .on('error', reject)
      .end()
  })
}

describe('a client that uploads too slowly', () => {
  it.each([
    ['streamed', 'Transfer-Encoding: chunked', '5\r\nhello\r\n'],
    ['long', 'Content-Length: 100000', 'hello'],
    ['short', 'Content-Length: 10', 'hello'],
    ['not begun', 'Content-Length: 10', ''],
  ])('(%s) gets 408, is charged no units, and does not count as a failure of the backend', async (_, headers, body) => {
    const origin = await openBackend((incoming) => void incoming.resume())
    const gateway = await openTestGateway({ backend: { origin, timeoutMs: 20 }, uploads: UPLOADS })
    const answer = await gateway.raw(upload(headers) + body)
    expect(answer).toMatch(/^HTTP\/1.1 408 [^]*"code":"request_timeout"/)
    expect(gateway.records).toMatchObject([{ outcome: 'request_timeout', status: 408, subscription: 'a', flags: 0 }])
    expect(gateway.revision.backend?.gate.hasFailed).toBe(false)
  })

  it('gets 408 after the time limit for the whole body, at any rate', async () => {
    const origin = await openBackend((incoming) => void incoming.resume())
    const uploads = { windowMs: 50, bytesPerSecondMin: 1, totalMs: 100 }
    const gateway = await openTestGateway({ backend: { origin }, uploads })
    const socket = await gateway.open()
    const answer = received(socket)
    socket.write(upload('Transfer-Encoding: chunked'))
    const pump = (): void => void (socket.destroyed || socket.write('5\r\nhello\r\n', () => setImmediate(pump)))
    pump()
    expect(await answer).toContain('HTTP/1.1 408')
  })

  it('gets 200 if only back-pressure of the backend delays its upload', async () => {
    const { promise: isFull, resolve: full } = Promise.withResolvers<() => void>()
    const origin = await openBackend((incoming, response) => {
      incoming.on('end', () => response.end('ok'))
      full(() => incoming.resume())
    })
    const uploads = { windowMs: 60, bytesPerSecondMin: 100_000, totalMs: 600_000 }
    const gateway = await openTestGateway({ backend: { origin }, uploads })
    const socket = await gateway.open()
    const answer = receivedUntil(socket, /\r\n\r\nok/)
    socket.write(upload('Content-Length: 30000000'))
    socket.write(Buffer.alloc(30_000_000))
    const read = await isFull
    // Several windows pass in which the client cannot send, because the backend does not read.
    const other = await gateway.raw(upload('Content-Length: 10', 'b'))
    expect(other).toContain('HTTP/1.1 408')
    read()
    expect(await answer).toMatch(/^HTTP\/1.1 200 /)
  })

  it('gets an early response of the backend, and the connection stays usable', async () => {
    const origin = await openBackend((_, response) => response.writeHead(413).end('too long'))
    const gateway = await openTestGateway({ backend: { origin } })
    const socket = await gateway.open()
    const early = receivedUntil(socket, /too long/)
    socket.write(`${upload('Content-Length: 70001')}x`)
    expect(await early).toMatch(/^HTTP\/1.1 413 /)
    const next = receivedUntil(socket, /too long/)
    socket.write(Buffer.alloc(70_000))
    socket.write(download())
    expect(await next).toMatch(/^HTTP\/1.1 413 /)
    expect(gateway.records.map(({ outcome }) => outcome)).toEqual(['served', 'served'])
  })

  it('does not time out a backend that needs the rest of the body to complete its response', async () => {
    const origin = await openBackend((incoming, response) => {
      if (incoming.method === 'GET') return
      response.writeHead(200)
      response.write('begun')
      incoming.resume()
      incoming.on('end', () => response.end('done'))
    })
    const gateway = await openTestGateway({ backend: { origin, timeoutMs: 20 } })
    const socket = await gateway.open()
    const begun = receivedUntil(socket, /begun/)
    const done = receivedUntil(socket, /done/)
    socket.write(`${upload('Transfer-Encoding: chunked')}5\r\nhello\r\n`)
    await begun
    // A later call exceeds the deadline of the backend, so the first call has survived that deadline.
    expect(await get(gateway, 'b')).toBe(504)
    expect(gateway.records).toMatchObject([{ outcome: 'upstream_timeout', subscription: 'b' }])
    socket.write('0\r\n\r\n')
    expect(await done).toMatch(/^HTTP\/1.1 200 /)
  })

  it('is disconnected if its response has started', async () => {
    const origin = await openBackend((incoming, response) => {
      incoming.resume()
      response.writeHead(200)
      response.write('begun')
    })
    const gateway = await openTestGateway({ backend: { origin }, uploads: UPLOADS })
    const text = await gateway.raw(`${upload('Transfer-Encoding: chunked')}5\r\nhello\r\n`)
    expect(text).toMatch(/^HTTP\/1.1 200 [^]*begun\r\n$/)
    expect(gateway.records).toMatchObject([{ outcome: 'request_timeout', status: 200, flags: FLAG_FORWARDED }])
    expect(gateway.revision.backend?.gate.hasFailed).toBe(false)
  })

  it('causes 503 for further bodies when the memory for bodies is full', async () => {
    const origin = await openBackend((incoming) => void incoming.resume())
    const gateway = await openTestGateway({ backend: { origin }, bodyBytesHeldMax: 95_000 })
    for (const key of ['a', 'b']) {
      const slow = await gateway.open()
      slow.write(upload('Content-Length: 60000', key))
      slow.write(Buffer.alloc(45_000))
    }
    const body = 'x'.repeat(10_000)
    const answer = await gateway.raw(`${upload('Content-Length: 10000\r\nConnection: close', 'c')}${body}`)
    expect(answer).toContain('HTTP/1.1 503')
  })

  it.each([
    ['a subscription', 'a', '/things-v1/keyed'],
    ['the public calls of an API', '', '/things-v1/open'],
  ])('occupies at most half of the memory for bodies as %s', async (_, key, path) => {
    const origin = await openBackend((incoming, response) => {
      incoming.resume()
      incoming.on('end', () => response.end())
    })
    const gateway = await openTestGateway({ backend: { origin }, bodyBytesHeldMax: 100_000 })
    const long = 'Content-Length: 30000\r\nConnection: close'
    const slow = await gateway.open()
    slow.write(upload('Content-Length: 60000', key, path).replace(/x-api-key: key-\r\n/, ''))
    slow.write(Buffer.alloc(45_000))
    const body = 'x'.repeat(30_000)
    expect(await gateway.raw(upload(long, key, path).replace(/x-api-key: key-\r\n/, '') + body)).toContain(
      'HTTP/1.1 503',
    )
    expect(await gateway.raw(upload(long, 'other') + body)).toContain('HTTP/1.1 200')
    // The ended call has released its memory.
    const gone = new Promise((resolve) => slow.once('close', resolve))
    slow.destroy()
    await gone
    await gateway.recorded(3)
    expect(await gateway.raw(upload(long, key, path).replace(/x-api-key: key-\r\n/, '') + body)).toContain(
      'HTTP/1.1 200',
    )
  })
})

describe('a client that reads too slowly', () => {
  it('is disconnected, recorded as client_too_slow and charged', async () => {
    const origin = await openBackend((_, response) => response.end(Buffer.alloc(50_000_000)))
    const gateway = await openTestGateway({ backend: { origin }, readers: READERS })
    const socket = await gateway.open()
    socket.pause()
    socket.write(download())
    const [record] = await gateway.recorded(1)
    expect(record).toMatchObject({ outcome: 'client_too_slow', status: 200, flags: FLAG_FORWARDED })
    expect(gateway.revision.backend?.gate.hasFailed).toBe(false)
    expect(gateway.revision.backend?.slots.held).toBe(0)
  })

  it('is disconnected if it stops reading near the end of its response', async () => {
    const origin = await openBackend((_, response) => response.end(Buffer.alloc(50_000_000)))
    const gateway = await openTestGateway({ backend: { origin }, readers: { ...READERS, windowMs: 300 } })
    const socket = await gateway.open()
    let bytes = 0
    // Reads almost everything, then stops.
    socket.on('data', (chunk) => (bytes += chunk.length) > 49_900_000 && socket.pause())
    const closed = new Promise((resolve) => socket.once('close', resolve))
    socket.write(download())
    await gateway.recorded(1)
    socket.resume()
    await Promise.race([closed, receivedUntil(socket, /./)])
    expect(gateway.faults).toEqual([])
  })

  it('gets its whole response if it keeps the minimum rate of the document', async () => {
    const origin = await openBackend((_, response) => response.end(Buffer.alloc(8_000_000)))
    const gateway = await openTestGateway({
      backend: { origin },
      root: { 'x-tollgate-min-read-bytes-per-second': 1 },
      readers: READERS,
    })
    expect(await get(gateway, 'a')).toBe(200)
    expect(gateway.records).toMatchObject([{ outcome: 'served' }])
  })

  it('is disconnected when the queued bytes of a thread exceed their bound', async () => {
    const origin = await openBackend((_, response) => response.end(Buffer.alloc(50_000_000)))
    const readers = { windowMs: 600_000, pendingBytesMax: 100_000, scanEveryMs: 20 }
    const gateway = await openTestGateway({ backend: { origin }, readers })
    const sockets = await Promise.all(Array.from({ length: 4 }, () => gateway.open()))
    for (const socket of sockets) {
      socket.pause()
      socket.write(download())
    }
    const records = await gateway.recorded(3)
    expect(records.every(({ outcome }) => outcome === 'client_too_slow')).toBe(true)
  })
})
