/** What a client must not make the gateway do for ever: each flood ends its connection, and others are served. */

import { EventEmitter, once } from 'node:events'
import type { Socket } from 'node:net'
import { describe, expect, it } from 'vitest'
import type { ClientRequest, ClientResponse } from '../../../../../src/gateway/connection/client.ts'
import { HTTP2_BOUNDS } from '../../../../../src/gateway/connection/http2/http2-bounds.ts'
import { toResponseFields } from '../../../../../src/gateway/connection/response-fields.ts'
import * as h2 from './frames.ts'
import { exchange, openSessions, type OpenedSessions, type RawClient } from './open-sessions.ts'

const CALM = 11
const EMPTY = toResponseFields(['Content-Length', '0'])

/** Answers `/` only. */
function onRequest(request: ClientRequest, response: ClientResponse): void {
  if (request.url !== '/') return
  response.start(200, EMPTY)
  response.end()
}

function many(count: number, part: (index: number) => Buffer): Buffer {
  return Buffer.concat(Array.from({ length: count }, (_, index) => part(index)))
}

const streamOf = (index: number): number => index * 2 + 1
const unanswered = h2.pseudo('GET', '/never')
const upload = h2.headers(1, h2.pseudo('POST', '/never'), h2.END_HEADERS)

async function begin({ raw }: OpenedSessions): Promise<RawClient> {
  const client = raw()
  await client.frame(h2.SETTINGS)
  return client.send(h2.ACKNOWLEDGED)
}

async function expectOthersServed({ client, sessions, faults }: OpenedSessions): Promise<void> {
  const other = client()
  expect(await exchange(other, { ':path': '/' })).toMatchObject({ status: 200 })
  other.close()
  await expect.poll(() => sessions.size).toBe(0)
  expect(faults).toEqual([])
}

describe('a connection over HTTP/2 that is flooded', () => {
  it('ends after more resets than it may have in ten seconds, each before its response', async () => {
    const requests = new EventEmitter()
    const opened = await openSessions((request, response) => {
      onRequest(request, response)
      requests.emit('request')
    })
    const client = await begin(opened)
    for (let index = 0; index <= HTTP2_BOUNDS.resetsMax; index++) {
      const arrived = once(requests, 'request')
      client.send(h2.headers(streamOf(index), unanswered))
      await arrived
      client.send(h2.reset(streamOf(index)))
    }
    expect((await client.frame(h2.GOAWAY)).payload.readUInt32BE(4)).toBe(CALM)
    await client.closed
    expect(opened.counts).toContain('http2_flood')
    await expectOthersServed(opened)
  })

  it('ends without a call if requests and their resets arrive together', async () => {
    let requests = 0
    const opened = await openSessions((request, response) => {
      if (request.url === '/never') requests++
      onRequest(request, response)
    })
    const client = await begin(opened)
    client.send(
      many(1_000, (index) => Buffer.concat([h2.headers(streamOf(index), unanswered), h2.reset(streamOf(index))])),
    )
    await client.closed
    expect(requests).toBeLessThanOrEqual(HTTP2_BOUNDS.streamsMax)
    await expectOthersServed(opened)
  })

  it('ends after more requests than it may reset by its own faults', async () => {
    const opened = await openSessions(onRequest)
    const client = await begin(opened)
    const fault = (index: number) => h2.headers(streamOf(index), [...unanswered, ['connection', 'close']])
    client.send(many(HTTP2_BOUNDS.resetsMax + 2, fault))
    await client.closed
    await expectOthersServed(opened)
  })

  it.each([
    ['SETTINGS', many(HTTP2_BOUNDS.settingsMax + 1, () => h2.settings())],
    ['PING', many(HTTP2_BOUNDS.pingsMax + 1, () => h2.ping())],
  ])('ends after too many %s', async (_, flood) => {
    const opened = await openSessions(onRequest)
    const client = await begin(opened)
    client.send(flood)
    expect((await client.frame(h2.GOAWAY)).payload.readUInt32BE(4)).toBe(CALM)
    await client.closed
    expect(opened.counts).toEqual(['http2_flood'])
    await expectOthersServed(opened)
  })

  it.each([
    ['CONTINUATION', [h2.headers(1, h2.pseudo(), 0), many(1_000, () => h2.frame(h2.CONTINUATION, 0, 1))]],
    ['empty DATA', [upload, many(1_000, () => h2.data(1, ''))]],
  ])('ends after too many %s frames', async (_, flood) => {
    const opened = await openSessions(onRequest)
    const client = await begin(opened)
    client.send(...flood)
    await client.closed
    await expectOthersServed(opened)
  })

  it.each([
    ['PRIORITY', h2.frame(h2.PRIORITY, 0, 1, Buffer.alloc(5, 1))],
    ['WINDOW_UPDATE', h2.windowUpdate(0, 1)],
    ['unknown', h2.frame(0x42, 0, 0, Buffer.alloc(16_384))],
  ])('ends after more bytes of %s frames than its requests can need', async (_, part) => {
    const opened = await openSessions(onRequest, { scanEveryMs: 200 })
    const client = await begin(opened)
    client.send(many(Math.ceil(6_000_000 / part.length), () => part))
    expect((await client.frame(h2.GOAWAY)).payload.readUInt32BE(4)).toBe(CALM)
    await client.closed
    expect(opened.counts).toEqual(['http2_flood'])
    await expectOthersServed(opened)
  })

  it('is not read further while its client does not read the heads that answer it', async () => {
    let requests = 0
    let socket: Socket | null = null
    const fields = toResponseFields(['X-Large', 'x'.repeat(8_000)])
    const opened = await openSessions((request, response) => {
      if (request.url === '/') return onRequest(request, response)
      requests++
      socket = request.socket
      response.start(204, fields)
      response.end()
    })
    const client = await begin(opened)
    client.socket.pause()
    let sent = 0
    const sendSome = (): void => {
      client.send(many(20, (index) => h2.headers(streamOf(sent + index), h2.pseudo('GET', '/large'))))
      sent += 20
    }
    const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve))
    // The kernel takes some megabytes.
    while (socket === null || !(socket as Socket).writableNeedDrain) {
      sendSome()
      while (requests < sent) await turn()
      await turn()
    }
    // What is answered now waits for the client.
    sendSome()
    while (requests < sent) await turn()
    sendSome()
    for (let turns = 0; turns < 500; turns++) await turn()
    expect(requests).toBe(sent - 20)
    client.socket.resume()
    await expect.poll(() => requests).toBe(sent)
    expect(opened.counts).toEqual([])
    client.socket.destroy()
    await expectOthersServed(opened)
  })

  it('serves a client that sends as many requests as it may, one after the other', async () => {
    const opened = await openSessions(onRequest, { scanEveryMs: 50 })
    const client = opened.client()
    for (let round = 0; round < 500; round++)
      expect(await exchange(client, { ':path': '/' })).toMatchObject({ status: 200 })
    expect(opened.counts).toEqual([])
  })

  it('serves a client that has many requests at a time', async () => {
    const opened = await openSessions((request, response) => {
      request.on('end', () => {
        response.start(200, toResponseFields([]))
        response.end('text')
      })
      request.resume()
    })
    const client = opened.client()
    await once(client, 'remoteSettings')
    for (let round = 0; round < 5; round++) {
      const all = await Promise.all(Array.from({ length: 90 }, () => exchange(client, { ':path': '/' })))
      expect(all.filter(({ body, rstCode }) => body !== 'text' || rstCode !== 0)).toEqual([])
    }
    expect(opened.counts).toEqual([])
  })

  it('refuses streams above those that a connection may have', async () => {
    let requests = 0
    const opened = await openSessions(() => void requests++)
    const client = await begin(opened)
    await client.frame(h2.SETTINGS, ({ flags }) => flags === h2.ACK)
    client.send(many(HTTP2_BOUNDS.streamsMax + 1, (index) => h2.headers(streamOf(index), unanswered)))
    await Promise.race([client.frame(h2.RST_STREAM), client.frame(h2.GOAWAY)])
    expect(requests).toBeLessThanOrEqual(HTTP2_BOUNDS.streamsMax)
  })

  it('refuses streams above those that a thread may have, and accepts them again later', async () => {
    const responses: ClientResponse[] = []
    const opened = await openSessions((_, response) => void responses.push(response), { connectionsMax: 2 })
    const [first, second] = [await begin(opened), await begin(opened)]
    first.send(h2.headers(1), h2.headers(3))
    await expect.poll(() => responses.length).toBe(2)
    second.send(h2.headers(1))
    const refused = await second.frame(h2.RST_STREAM)
    expect(refused.payload.readUInt32BE(0)).toBe(7)
    expect(opened.counts).toEqual(['http2_stream_refused'])

    for (const response of responses) {
      response.start(200, EMPTY)
      response.end()
    }
    await first.frame(h2.HEADERS, ({ stream }) => stream === 3)
    second.send(h2.headers(3))
    await expect.poll(() => responses.length).toBe(3)
  })
})
