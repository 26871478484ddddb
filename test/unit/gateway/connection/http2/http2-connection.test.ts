/** A selection of the cases of h2spec, over raw connections: what a peer does wrong, and what must be ignored. */

import { describe, expect, it } from 'vitest'
import type { ClientRequest, ClientResponse } from '../../../../../src/gateway/connection/client.ts'
import { toResponseFields } from '../../../../../src/gateway/connection/response-fields.ts'
import { FRAME_CASES } from './frame-cases.ts'
import * as h2 from './frames.ts'
import { openSessions, type RawClient } from './open-sessions.ts'
import { REQUEST_CASES } from './request-cases.ts'

/** Answers 200 when the request is complete; `/never` is not answered. */
function onRequest(request: ClientRequest, response: ClientResponse): void {
  if (request.url === '/never') return
  expect(request.rawHeaders.filter((part) => part.startsWith('x')).join()).toBe('')
  request.on('end', () => {
    response.start(200, toResponseFields(['Content-Length', '2']))
    response.end('ok')
  })
  request.resume()
}

describe('a connection over HTTP/2', () => {
  it.each([...FRAME_CASES, ...REQUEST_CASES])('$name', async ({ send, expected, isRaw = false }) => {
    const { raw, counts, faults, sessions } = await openSessions(onRequest)
    const client = raw(isRaw ? send[0] : undefined)
    if (!isRaw) {
      await client.frame(h2.SETTINGS, ({ flags }) => (flags & h2.ACK) === 0)
      client.send(h2.ACKNOWLEDGED, ...send)
    }
    if (expected === 'closed') {
      await client.closed
      expect(client.frames.filter(({ type }) => type === h2.HEADERS)).toEqual([])
    } else if (expected === 'ignored') {
      await expectServed(client, 1)
    } else if ('goaway' in expected) {
      const frame = await client.frame(h2.GOAWAY)
      expect(expected.goaway).toContain(frame.payload.readUInt32BE(4))
      await client.closed
    } else if ('rst' in expected) {
      const frame = await client.frame(h2.RST_STREAM, ({ stream }) => stream === 1)
      expect(expected.rst).toContain(frame.payload.readUInt32BE(0))
      await expectServed(client, 7)
    } else {
      const frame = await client.frame(h2.HEADERS, ({ stream }) => stream === 1)
      expect(h2.statusOf(frame)).toBe(expected.status)
      await expectServed(client, 7)
      expect(counts.includes('malformed')).toBe(expected.status === 400)
    }
    expect(faults).toEqual([])
    client.socket.destroy()
    await expect.poll(() => sessions.size).toBe(0)
  })

  async function expectServed(client: RawClient, stream: number): Promise<void> {
    client.send(h2.headers(stream))
    const frame = await client.frame(h2.HEADERS, (each) => each.stream === stream)
    expect(h2.statusOf(frame)).toBe(200)
  }
})

describe('requests that arrive together over HTTP/2', () => {
  const STREAMS = Array.from({ length: 100 }, (_, index) => 2 * index + 1)
  const toHeaders = (stream: number): Buffer => h2.headers(stream, h2.pseudo('GET', `/${stream}`))

  it('begin a few in each turn', async () => {
    let inTurn = 0
    let most = 0
    const { raw } = await openSessions((request, response) => {
      if (++inTurn === 1) setImmediate(() => (inTurn = 0))
      most = Math.max(most, inTurn)
      onRequest(request, response)
    })
    const client = raw().send(h2.ACKNOWLEDGED, ...STREAMS.map(toHeaders))
    await Promise.all(STREAMS.map((each) => client.frame(h2.HEADERS, ({ stream }) => stream === each)))
    expect(most).toBeLessThanOrEqual(16)
  })

  it('do not begin if the client resets them while they wait', async () => {
    const begun: string[] = []
    const { raw } = await openSessions((request, response) => {
      if (begun.push(request.url ?? '') === 1) client.send(...STREAMS.slice(50).map((stream) => h2.reset(stream)))
      onRequest(request, response)
    })
    const client = raw().send(h2.ACKNOWLEDGED, ...STREAMS.map(toHeaders))
    await client.frame(h2.HEADERS, ({ stream }) => stream === STREAMS[49])
    client.send(h2.headers(STREAMS.at(-1)! + 2))
    await client.frame(h2.HEADERS, ({ stream }) => stream === STREAMS.at(-1)! + 2)
    expect(begun).not.toContain(`/${STREAMS.at(-1)}`)
  })
})
