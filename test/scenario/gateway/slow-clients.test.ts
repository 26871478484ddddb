/** A slow client affects neither the health of the backend nor other callers. */

import { request } from 'node:http'
import { describe, expect, it } from 'vitest'
import { FLAG_FORWARDED } from '../../../src/storage/spool/call-record.ts'
import { openBackend, openTestGateway, received, receivedUntil, type TestGateway } from '../../fixtures/test-gateway.ts'

const UPLOAD_LIMITS = { windowMs: 100, bytesPerSecondMin: 1_000, totalMs: 600_000 }
const READER_LIMITS = { windowMs: 100, pendingBytesMax: 1e9, scanEveryMs: 20 }
const uploadRequest = (headers: string, key = 'a', path = '/things-v1/keyed'): string =>
  `POST ${path} HTTP/1.1\r\nHost: a\r\nx-api-key: key-${key}\r\nContent-Type: application/octet-stream\r\n${headers}\r\n\r\n`

const downloadRequest = (key = 'a'): string =>
  `GET /things-v1/keyed HTTP/1.1\r\nHost: a\r\nx-api-key: key-${key}\r\n\r\n`

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
    ['no body sent yet', 'Content-Length: 10', ''],
  ])('(%s) gets 408 and is charged no units, and the backend is not marked as failed', async (_, headers, body) => {
    const origin = await openBackend((incoming) => void incoming.resume())
    const gateway = await openTestGateway({ backend: { origin, timeoutMs: 20 }, uploads: UPLOAD_LIMITS })
    const answer = await gateway.raw(uploadRequest(headers) + body)
    expect(answer).toMatch(/^HTTP\/1.1 408 [^]*"code":"request_timeout"/)
    expect(gateway.records).toMatchObject([{ outcome: 'request_timeout', status: 408, subscription: 'a', flags: 0 }])
    expect(gateway.revision.backend?.only?.gate.hasFailed).toBe(false)
  })

  it('gets 408 when the time limit for the whole body expires, however fast it uploads', async () => {
    const origin = await openBackend((incoming) => void incoming.resume())
    const uploads = { windowMs: 50, bytesPerSecondMin: 1, totalMs: 100 }
    const gateway = await openTestGateway({ backend: { origin }, uploads })
    const socket = await gateway.open()
    const answer = received(socket)
    socket.write(uploadRequest('Transfer-Encoding: chunked'))
    const pump = (): void => void (socket.destroyed || socket.write('5\r\nhello\r\n', () => setImmediate(pump)))
    pump()
    expect(await answer).toContain('HTTP/1.1 408')
  })

  it('gets 200 if its upload is slow only because the backend applies back-pressure', async () => {
    const { promise: requestArrived, resolve: onRequest } = Promise.withResolvers<() => void>()
    const origin = await openBackend((incoming, response) => {
      incoming.on('end', () => response.end('ok'))
      onRequest(() => incoming.resume())
    })
    const uploads = { windowMs: 60, bytesPerSecondMin: 100_000, totalMs: 600_000 }
    const gateway = await openTestGateway({ backend: { origin }, uploads })
    const socket = await gateway.open()
    const answer = receivedUntil(socket, /\r\n\r\nok/)
    socket.write(uploadRequest('Content-Length: 30000000'))
    socket.write(Buffer.alloc(30_000_000))
    const startReading = await requestArrived
    // This call waits for its own 408, so several windows pass in which the first client cannot send.
    const other = await gateway.raw(uploadRequest('Content-Length: 10', 'b'))
    expect(other).toContain('HTTP/1.1 408')
    startReading()
    expect(await answer).toMatch(/^HTTP\/1.1 200 /)
  })

  it('receives a response that the backend sends before the upload is complete, and can reuse the connection', async () => {
    const origin = await openBackend((_, response) => response.writeHead(413).end('too long'))
    const gateway = await openTestGateway({ backend: { origin } })
    const socket = await gateway.open()
    const early = receivedUntil(socket, /too long/)
    socket.write(`${uploadRequest('Content-Length: 70001')}x`)
    expect(await early).toMatch(/^HTTP\/1.1 413 /)
    const next = receivedUntil(socket, /too long/)
    socket.write(Buffer.alloc(70_000))
    socket.write(downloadRequest())
    expect(await next).toMatch(/^HTTP\/1.1 413 /)
    expect(gateway.records.map(({ outcome }) => outcome)).toEqual(['served', 'served'])
  })

  it('keeps its call beyond the deadline of the backend if the backend has begun to respond and needs the rest of the body', async () => {
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
    socket.write(`${uploadRequest('Transfer-Encoding: chunked')}5\r\nhello\r\n`)
    await begun
    // This later call times out, so the deadline of the first call has passed too.
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
    const gateway = await openTestGateway({ backend: { origin }, uploads: UPLOAD_LIMITS })
    const text = await gateway.raw(`${uploadRequest('Transfer-Encoding: chunked')}5\r\nhello\r\n`)
    expect(text).toMatch(/^HTTP\/1.1 200 [^]*begun\r\n$/)
    expect(gateway.records).toMatchObject([{ outcome: 'request_timeout', status: 200, flags: FLAG_FORWARDED }])
    expect(gateway.revision.backend?.only?.gate.hasFailed).toBe(false)
  })

  it('makes other requests with a body get 503 while the body memory is full', async () => {
    const origin = await openBackend((incoming) => void incoming.resume())
    const gateway = await openTestGateway({ backend: { origin }, bodyBytesHeldMax: 95_000 })
    for (const key of ['a', 'b']) {
      const slow = await gateway.open()
      slow.write(uploadRequest('Content-Length: 60000', key))
      slow.write(Buffer.alloc(45_000))
    }
    const body = 'x'.repeat(10_000)
    const answer = await gateway.raw(`${uploadRequest('Content-Length: 10000\r\nConnection: close', 'c')}${body}`)
    expect(answer).toContain('HTTP/1.1 503')
  })

  it.each([
    ['a subscription', 'a', '/things-v1/keyed'],
    ['the public calls of an API', '', '/things-v1/open'],
  ])('can fill at most half of the body memory through %s', async (_, key, path) => {
    const origin = await openBackend((incoming, response) => {
      incoming.resume()
      incoming.on('end', () => response.end())
    })
    const gateway = await openTestGateway({ backend: { origin }, bodyBytesHeldMax: 100_000 })
    const longBodyHeaders = 'Content-Length: 30000\r\nConnection: close'
    const slow = await gateway.open()
    slow.write(uploadRequest('Content-Length: 60000', key, path).replace(/x-api-key: key-\r\n/, ''))
    slow.write(Buffer.alloc(45_000))
    const body = 'x'.repeat(30_000)
    expect(
      await gateway.raw(uploadRequest(longBodyHeaders, key, path).replace(/x-api-key: key-\r\n/, '') + body),
    ).toContain('HTTP/1.1 503')
    expect(await gateway.raw(uploadRequest(longBodyHeaders, 'other') + body)).toContain('HTTP/1.1 200')
    // The end of the slow call releases its memory.
    const gone = new Promise((resolve) => slow.once('close', resolve))
    slow.destroy()
    await gone
    await gateway.recorded(3)
    expect(
      await gateway.raw(uploadRequest(longBodyHeaders, key, path).replace(/x-api-key: key-\r\n/, '') + body),
    ).toContain('HTTP/1.1 200')
  })
})

describe('a client that reads too slowly', () => {
  it('is disconnected, recorded as client_too_slow and charged', async () => {
    const origin = await openBackend((_, response) => response.end(Buffer.alloc(50_000_000)))
    const gateway = await openTestGateway({ backend: { origin }, readers: READER_LIMITS })
    const socket = await gateway.open()
    socket.pause()
    socket.write(downloadRequest())
    const [record] = await gateway.recorded(1)
    expect(record).toMatchObject({ outcome: 'client_too_slow', status: 200, flags: FLAG_FORWARDED })
    expect(gateway.revision.backend?.only?.gate.hasFailed).toBe(false)
    expect(gateway.revision.backend?.only?.slots.held).toBe(0)
  })

  it('causes no fault if it stops reading near the end of its response', async () => {
    const origin = await openBackend((_, response) => response.end(Buffer.alloc(50_000_000)))
    const gateway = await openTestGateway({ backend: { origin }, readers: { ...READER_LIMITS, windowMs: 300 } })
    const socket = await gateway.open()
    let bytes = 0
    // Reads almost everything, then stops.
    socket.on('data', (chunk) => (bytes += chunk.length) > 49_900_000 && socket.pause())
    const closed = new Promise((resolve) => socket.once('close', resolve))
    socket.write(downloadRequest())
    await gateway.recorded(1)
    socket.resume()
    await Promise.race([closed, receivedUntil(socket, /./)])
    expect(gateway.faults).toEqual([])
  })

  it('gets its whole response if it reads at least at the minimum rate that the API document sets', async () => {
    const origin = await openBackend((_, response) => response.end(Buffer.alloc(8_000_000)))
    const gateway = await openTestGateway({
      backend: { origin },
      root: { 'x-tollgate-min-read-bytes-per-second': 1 },
      readers: READER_LIMITS,
    })
    expect(await get(gateway, 'a')).toBe(200)
    expect(gateway.records).toMatchObject([{ outcome: 'served' }])
  })

  it('is disconnected when the bytes queued in its thread exceed the limit', async () => {
    const origin = await openBackend((_, response) => response.end(Buffer.alloc(50_000_000)))
    const readers = { windowMs: 600_000, pendingBytesMax: 100_000, scanEveryMs: 20 }
    const gateway = await openTestGateway({ backend: { origin }, readers })
    const sockets = await Promise.all(Array.from({ length: 4 }, () => gateway.open()))
    for (const socket of sockets) {
      socket.pause()
      socket.write(downloadRequest())
    }
    const records = await gateway.recorded(3)
    expect(records.every(({ outcome }) => outcome === 'client_too_slow')).toBe(true)
  })
})
