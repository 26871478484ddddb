/** Bodies over HTTP/2: back-pressure both ways, clients that go away, and slow ones. */

import { describe, expect, it } from 'vitest'
import { FLAG_FORWARDED } from '../../../src/storage/spool/call-record.ts'
import { answerTo, call, KEYED, openClient, openHttp2Gateway, UPLOAD } from '../../fixtures/http2-calls.ts'
import { openBackend } from '../../fixtures/test-gateway.ts'
import { untilStill } from '../../fixtures/until-still.ts'

describe('a call over HTTP/2', () => {
  it.each([
    ['with a length, read before it is forwarded', 1_000, true],
    ['with a length, streamed', 1_000_000, true],
    ['without a length', 1_000_000, false],
  ])('passes on a body %s', async (_, bytes, hasLength) => {
    const origin = await openBackend((request, response) => {
      let received = 0
      request.on('data', (chunk: Buffer) => (received += chunk.length))
      const framing = request.headers['content-length'] ?? request.headers['transfer-encoding']
      request.on('end', () => response.end(`${received} ${framing}`))
    })
    const gateway = await openHttp2Gateway({ backend: { origin } })
    const length = hasLength ? { 'content-length': String(bytes) } : {}
    const { body } = await call(openClient(gateway), { ...UPLOAD, ...length }, Buffer.alloc(bytes))
    expect(body).toBe(`${bytes} ${hasLength ? bytes : 'chunked'}`)
    await gateway.recorded(1)
    expect(gateway.records).toMatchObject([{ outcome: 'served' }])
  })

  it('streams both ways: the response begins before the body is complete', async () => {
    const origin = await openBackend((request, response) => {
      request.on('data', (chunk: Buffer) => response.write(chunk.toString().toUpperCase()))
      request.on('end', () => response.end())
    })
    const gateway = await openHttp2Gateway({ backend: { origin } })
    const stream = openClient(gateway).request(UPLOAD)
    const answer = answerTo(stream)
    let text = ''
    stream.on('data', (chunk: string) => (text += chunk))
    for (const word of ['one', 'two', 'three']) {
      stream.write(word)
      await expect.poll(() => text).toContain(word.toUpperCase())
    }
    stream.end()
    expect(await answer).toMatchObject({ status: 200, body: 'ONETWOTHREE' })
  })

  it('pauses the client while the backend does not read its body', async () => {
    const incoming: (() => void)[] = []
    const origin = await openBackend((request, response) => {
      incoming.push(() => request.resume())
      request.on('end', () => response.end('ok'))
    })
    const gateway = await openHttp2Gateway({ backend: { origin } })
    const stream = openClient(gateway).request(UPLOAD)
    const answer = answerTo(stream)
    stream.end(Buffer.alloc(30_000_000))
    await expect.poll(() => incoming.length).toBe(1)
    const written = (): number => stream.session?.socket.bytesWritten ?? 0
    await untilStill(written)
    // The kernel buffers a few megabytes between the gateway and its backend.
    expect(written()).toBeLessThan(20_000_000)
    incoming[0]!()
    expect(await answer).toMatchObject({ status: 200, body: 'ok' })
  })

  it('pauses the backend while the client does not read, and not the other calls', async () => {
    let isSent = false
    const origin = await openBackend((request, response) => {
      if (request.method === 'POST') return void response.end('ok')
      response.on('finish', () => (isSent = true))
      response.end(Buffer.alloc(30_000_000))
    })
    const gateway = await openHttp2Gateway({ backend: { origin } })
    const client = openClient(gateway)
    const stream = client.request(KEYED)
    await new Promise((resolve) => stream.once('response', resolve))
    for (let round = 0; round < 50; round++) {
      expect(await call(client, UPLOAD, 'x')).toMatchObject({ status: 200, body: 'ok' })
    }
    expect(isSent).toBe(false)
    const { body, rstCode } = await answerTo(stream)
    expect([body.length, rstCode]).toEqual([30_000_000, 0])
  })

  it('is recorded as aborted, once, if its client resets it in the middle of the response', async () => {
    let backendClosed = 0
    const origin = await openBackend((_request, response) => {
      response.on('close', () => backendClosed++)
      response.write('part')
    })
    const gateway = await openHttp2Gateway({ backend: { origin } })
    const client = openClient(gateway)
    const stream = client.request(KEYED)
    stream.on('error', () => {})
    stream.once('data', () => stream.close(8))
    await gateway.recorded(1)
    expect(gateway.records).toEqual([
      { outcome: 'client_aborted', status: 200, subscription: 'a', flags: FLAG_FORWARDED },
    ])
    await expect.poll(() => backendClosed).toBe(1)
    expect(gateway.inFlight()).toBe(0)
    expect(await call(client, { ':path': '/things-v1/keyed' })).toMatchObject({ status: 401 })
  })

  it('is recorded as aborted if its connection ends', async () => {
    const origin = await openBackend((_request, response) => void response.write('part'))
    const gateway = await openHttp2Gateway({ backend: { origin } })
    const client = openClient(gateway)
    const streams = [client.request(KEYED), client.request(KEYED)]
    for (const stream of streams) stream.on('error', () => {})
    await Promise.all(streams.map((stream) => new Promise((resolve) => stream.once('data', resolve))))
    client.destroy()
    await gateway.recorded(2)
    expect(gateway.records.map(({ outcome }) => outcome)).toEqual(['client_aborted', 'client_aborted'])
    expect(gateway.inFlight()).toBe(0)
  })

  it('is reset, not ended, if its backend breaks off the response', async () => {
    const origin = await openBackend((_request, response) => {
      response.writeHead(200)
      response.write('part', () => setImmediate(() => response.destroy()))
    })
    const gateway = await openHttp2Gateway({ backend: { origin } })
    const client = openClient(gateway)
    expect(await call(client)).toMatchObject({ status: 200, rstCode: 2 })
    await gateway.recorded(1)
    expect(gateway.records).toMatchObject([{ outcome: 'upstream_broken' }])
  })

  it('ends alone if its reader is too slow', async () => {
    const origin = await openBackend((request, response) => {
      if (request.headers['x-large'] === undefined) response.end('small')
      else response.end(Buffer.alloc(10_000_000))
    })
    const readers = { windowMs: 100, pendingBytesMax: 1e9, scanEveryMs: 20 }
    const root = { 'x-tollgate-min-read-bytes-per-second': 1_000_000 }
    const gateway = await openHttp2Gateway({ backend: { origin }, readers, root })
    const client = openClient(gateway)
    const slow = client.request({ ...KEYED, 'x-large': '1' })
    slow.on('error', () => {})
    // The client reads nothing, so that the window of the stream stays closed.
    await new Promise((resolve) => slow.once('response', resolve))
    const closed = new Promise((resolve) => slow.once('close', () => resolve(slow.rstCode)))
    await gateway.recorded(1)
    expect(gateway.records).toMatchObject([{ outcome: 'client_too_slow' }])
    expect(await call(client)).toMatchObject({ status: 200, body: 'small' })
    slow.resume()
    expect(await closed).toBe(2)
  })

  it('gets 408 if it uploads too slowly, and its connection serves others', async () => {
    const origin = await openBackend((request, response) => {
      if (request.method === 'GET') response.end('ok')
      else request.resume()
    })
    const uploads = { windowMs: 100, bytesPerSecondMin: 1_000, totalMs: 600_000 }
    const gateway = await openHttp2Gateway({ backend: { origin }, uploads })
    const client = openClient(gateway)
    const stream = client.request({ ...UPLOAD, 'content-length': '100000' })
    const answer = answerTo(stream)
    stream.write('hello')
    expect(await answer).toMatchObject({ status: 408 })
    await gateway.recorded(1)
    expect(gateway.records).toMatchObject([{ outcome: 'request_timeout', flags: 0 }])
    expect(await call(client)).toMatchObject({ status: 200, body: 'ok' })
  })

  it('gets 100 Continue when its body is wanted, which is after authentication', async () => {
    const origin = await openBackend((request, response) => {
      request.resume()
      request.on('end', () => response.end('ok'))
    })
    const gateway = await openHttp2Gateway({ backend: { origin } })
    const client = openClient(gateway)
    const expecting = { ...UPLOAD, expect: '100-continue', 'content-length': '2' }
    const stream = client.request(expecting)
    const answer = answerTo(stream)
    stream.once('continue', () => stream.end('hi'))
    expect(await answer).toMatchObject({ status: 200, body: 'ok' })

    const { 'x-api-key': _key, ...unknown } = expecting
    const refused = client.request(unknown)
    let continued = false
    refused.once('continue', () => (continued = true))
    expect(await answerTo(refused)).toMatchObject({ status: 401 })
    expect(continued).toBe(false)
  })

  it('has only the body of its own stream', async () => {
    const origin = await openBackend((request, response) => {
      let text = ''
      request.setEncoding('latin1').on('data', (chunk: string) => (text += chunk))
      request.on('end', () =>
        response.end(`${String(request.headers['x-number'])} ${text.length} ${[...new Set(text)].join('')}`),
      )
    })
    const gateway = await openHttp2Gateway({ backend: { origin } })
    const client = openClient(gateway)
    const calls = Array.from({ length: 40 }, (_, number) => {
      const fields = { ...UPLOAD, 'x-number': String(number), 'x-api-key': `key-${number}` }
      return call(client, fields, String.fromCharCode(65 + number).repeat(1_000 * (number + 1)))
    })
    const expected = calls.map((_, number) => `${number} ${1_000 * (number + 1)} ${String.fromCharCode(65 + number)}`)
    expect((await Promise.all(calls)).map(({ body }) => body)).toEqual(expected)
    await gateway.recorded(40)
    expect(new Set(gateway.records.map(({ subscription }) => subscription)).size).toBe(40)
  })
})
