/** The opening handshakes of WebSockets, with clients and with backends. */

import { once } from 'node:events'
import { describe, expect, it } from 'vitest'
import { openWebSocketGateway as openAll } from '../../fixtures/websocket-gateway.ts'
import { ACCEPT, connectPeer, echo, handshake, switching } from '../../fixtures/websocket-peers.ts'

describe('A handshake', () => {
  it('is answered for the key of the client, and made with the backend anew', async () => {
    const { connect, backend } = await openAll()
    const { head } = await connect('/keyed?room=5', {
      'x-api-key': 'key-a',
      'Sec-WebSocket-Extensions': 'permessage-deflate',
      Sec_WebSocket_Extensions: 'permessage-deflate',
      'Sec-WebSocket-Protocol': 'v1, v2',
      Origin: 'https://a.example',
      Cookie: 'a=b',
    })
    expect(head).toMatch(/^HTTP\/1\.1 101 Switching Protocols\r\n/)
    expect(head).toContain(`Sec-WebSocket-Accept: ${ACCEPT}\r\nSec-WebSocket-Protocol: v2\r\n`)
    expect(head).toMatch(/X-Request-Id: [0-9a-f]{24}\r\n/)
    expect(head).not.toMatch(/extensions|keep-alive|content-length|transfer-encoding/i)
    const { headers, url } = backend.requests[0]!
    expect(url).toBe('/keyed?room=5')
    expect(headers).toMatchObject({
      origin: 'https://a.example',
      cookie: 'a=b',
      'x-consumer-id': 'con_a',
      'sec-websocket-protocol': 'v1, v2',
    })
    expect(headers['sec-websocket-key']).not.toBe(JSON.stringify(ACCEPT))
    expect(Object.keys(headers).filter((name) => /extension|api-key/.test(name))).toEqual([])
  })

  it.each([
    ['401', '/keyed', {}],
    ['401', '/keyed', { 'x-api-key': 'wrong' }],
    ['400', '/keyed?room=x', { 'x-api-key': 'key-a' }],
    ['426', '/open', { Upgrade: null, Connection: null }],
    ['426', '/open', { Upgrade: 'h2c' }],
    ['400', '/open', { Connection: 'keep-alive' }],
    ['426', '/open', { 'Sec-WebSocket-Version': '12' }],
    ['426', '/open', { 'Sec-WebSocket-Version': null }],
    ['400', '/open', { 'Sec-WebSocket-Key': null }],
    ['400', '/open', { 'Sec-WebSocket-Key': 'dGhlIHNhbXBsZSBub25jZQ' }],
    ['400', '/open', { 'Sec-WebSocket-Key': 'dGhlIHNhbXBsZSBub25jZX==' }],
    ['400', '/open', { 'Content-Length': '5' }],
    ['400', '/open', { 'Sec-WebSocket-Protocol': 'a, a' }],
    ['400', '/open', { 'Sec-WebSocket-Protocol': 'a b' }],
    ['404', '/none', {}],
  ])('is refused with %s: %s %j', async (status, path, headers) => {
    const { statusOf, backend, records } = await openAll()
    expect(await statusOf(handshake(`/things-v1${path}`, headers))).toBe(status)
    expect(backend.requests).toEqual([])
    expect(records).toMatchObject([{ status: Number(status) }])
  })

  it('is told the version that the gateway supports', async () => {
    const { raw } = await openAll()
    const text = await raw('GET /things-v1/open HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n')
    expect(text).toMatch(/^HTTP\/1\.1 426 /)
    expect(text).toContain('Upgrade: websocket\r\nSec-WebSocket-Version: 13\r\n')
  })

  it('of HTTP/1.0 is refused', async () => {
    const { raw } = await openAll()
    expect(await raw(handshake('/things-v1/open').replace('HTTP/1.1', 'HTTP/1.0'))).toMatch(/^HTTP\/1\.1 426 /)
  })

  it.each([
    ['a wrong answer to the key', () => switching('AAAAAAAAAAAAAAAAAAAAAAAAAAA=')],
    ['two answers', (_: unknown, accept: string) => switching(accept, `Sec-WebSocket-Accept: ${accept}\r\n`)],
    ['an extension', (_: unknown, accept: string) => switching(accept, 'Sec-WebSocket-Extensions: a\r\n')],
    [
      'a subprotocol that was not offered',
      (_: unknown, accept: string) => switching(accept, 'Sec-WebSocket-Protocol: v9\r\n'),
    ],
    ['another protocol', (_: unknown, accept: string) => switching(accept).replace('websocket', 'h2c')],
    ['no upgrade', (_: unknown, accept: string) => switching(accept).replace('Connection: Upgrade\r\n', '')],
    ['a body', (_: unknown, accept: string) => switching(accept, 'Content-Length: 2\r\n')],
  ])('is answered with 502 if the backend sends %s', async (_, respond) => {
    const { connect, records, recorded } = await openAll({ respond })
    const { head } = await connect()
    expect(head).toMatch(/^HTTP\/1\.1 502 /)
    await recorded(1)
    expect(records).toMatchObject([{ outcome: 'upstream_broken', status: 502 }])
  })

  it('gets the response of a backend that refuses it', async () => {
    const body = 'no room'
    const { statusOf, records } = await openAll({
      respond: () => `HTTP/1.1 403 Forbidden\r\nContent-Length: ${body.length}\r\n\r\n${body}`,
    })
    expect(await statusOf(handshake('/things-v1/open'))).toBe('403')
    expect(records).toMatchObject([{ outcome: 'served', status: 403 }])
  })

  it('of an operation without x-tollgate-websocket is answered like any other request', async () => {
    const { statusOf, backend } = await openAll()
    expect(await statusOf(handshake('/things-v1/plain'))).toBe('200')
    expect(backend.requests).toEqual([])
  })

  it('behind a pipelined request is answered after it', async () => {
    const { open } = await openAll({ onPeer: (peer) => void echo(peer) })
    const socket = await open()
    const first = 'GET /things-v1/plain HTTP/1.1\r\nHost: a\r\n\r\n'
    const { head } = await connectPeer(socket, first)
    expect(head).toMatch(/^HTTP\/1\.1 200 /)
    const both = await open()
    both.write(first + handshake('/things-v1/open'))
    let text = ''
    both.on('data', (chunk: Buffer) => (text += chunk.toString('latin1')))
    while (!/HTTP\/1\.1 (101|400) /.test(text)) await once(both, 'data')
    expect(text).toMatch(/^HTTP\/1\.1 200 /)
  })

  it.each([
    ['a request', 'GET /things-v1/plain HTTP/1.1\r\nHost: a\r\n\r\n'],
    ['a frame', '\x81\x81\x00\x00\x00\x00a'],
  ])('with %s behind it is refused, and nothing is served after it', async (_, rest) => {
    const { raw, records } = await openAll()
    const text = await raw(handshake('/things-v1/open') + rest)
    expect(text.match(/HTTP\/1\.1 \d+/g)).toEqual(['HTTP/1.1 400'])
    expect(records).toMatchObject([{ outcome: 'payload_invalid', status: 400 }])
  })
})
