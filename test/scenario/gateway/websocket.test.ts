/** WebSockets through the gateway: frames in both directions, and how connections end. */

import { once } from 'node:events'
import { describe, expect, it } from 'vitest'
import { openWebSocketGateway as openAll } from '../../fixtures/websocket-gateway.ts'
import { BINARY, CLOSE, echo, PING, switching, TEXT } from '../../fixtures/websocket-peers.ts'

describe('A WebSocket', () => {
  it('works with the client of Node, in both directions', async () => {
    const { port, recorded, records } = await openAll({ onPeer: (peer) => void echo(peer) })
    const socket = new WebSocket(`ws://127.0.0.1:${port}/things-v1/open`, ['v1', 'v2'])
    await once(socket, 'open')
    expect(socket.protocol).toBe('v2')
    for (const text of ['', 'hello', 'ä'.repeat(70_000)]) {
      socket.send(text)
      const [event] = (await once(socket, 'message')) as [MessageEvent]
      expect(event.data).toBe(text)
    }
    socket.close(4_321, 'bye')
    const [closed] = (await once(socket, 'close')) as [CloseEvent]
    expect([closed.code, closed.reason, closed.wasClean]).toEqual([4_321, 'bye', true])
    await recorded(1)
    expect(records).toMatchObject([{ outcome: 'served', status: 101 }])
  })

  it('passes on fragments, pings between them and pongs', async () => {
    const { connect } = await openAll({ onPeer: (peer) => void echo(peer) })
    const { peer } = await connect()
    peer.send(TEXT, 'Hel', { isFinal: false })
    peer.send(PING, 'p')
    peer.send(0, 'lo')
    expect([await peer.nextText(), await peer.nextText(), await peer.nextText()]).toEqual(['1 Hel', '10 p', '0 lo'])
  })

  it('passes on what the backend sends with its handshake', async () => {
    const respond = (_: unknown, accept: string) => `${switching(accept)}\x81\x02hi\x89\x00`
    const { connect } = await openAll({ respond })
    const { peer } = await connect()
    expect([await peer.nextText(), await peer.nextText()]).toEqual(['1 hi', '9 '])
  })

  it('passes on large messages in both directions, as fast as the other side reads', async () => {
    const { connect, backend } = await openAll()
    const { peer } = await connect()
    const server = await backend.connected()
    for (const [from, to] of [
      [peer, server],
      [server, peer],
    ] as const) {
      to.socket.pause()
      const payload = Buffer.alloc(8 * 1024 * 1024, 'abcdefg')
      from.send(BINARY, payload)
      from.send(TEXT, 'after')
      // The gateway stops to read: most of the message waits at its sender.
      await new Promise((resolve) => setImmediate(resolve))
      expect(from.socket.writableLength).toBeGreaterThan(0)
      to.socket.resume()
      const received = await to.next()
      expect(received?.payload.equals(payload)).toBe(true)
      expect(await to.nextText()).toBe('1 after')
    }
  })

  it('ends with a close frame of the backend, which the client gets', async () => {
    const { connect, backend, records, recorded } = await openAll()
    const { peer } = await connect()
    const server = await backend.connected()
    server.send(TEXT, 'last')
    server.send(CLOSE, Buffer.from([0x0f, 0xa0]))
    expect([await peer.nextText(), await peer.nextText()]).toEqual(['1 last', 'close 4000'])
    peer.send(CLOSE, Buffer.from([0x0f, 0xa0]))
    expect(await server.nextText()).toBe('close 4000')
    await Promise.all([peer.closed, server.closed, recorded(1)])
    expect(records).toMatchObject([{ outcome: 'served', status: 101 }])
  })

  it.each([
    ['a frame without a mask', { isMasked: false }, 1_002],
    ['a reserved bit', { reserved: 4 }, 1_002],
    ['a message above the limit', { length: 101 }, 1_009],
  ])('ends both sides if the client sends %s', async (_, more, code) => {
    const { connect, backend, records, recorded } = await openAll()
    const { peer } = await connect('/small')
    const server = await backend.connected()
    peer.send(TEXT, 'fine')
    peer.send(TEXT, 'a', more)
    expect([await server.nextText(), await server.nextText()]).toEqual(['1 fine', `close ${code}`])
    expect(await peer.nextText()).toBe(`close ${code}`)
    await recorded(1)
    // Charged: an invalid frame must not make a connection free.
    expect(records).toMatchObject([{ outcome: 'client_aborted', status: 101 }])
  })

  it.each([
    ['a masked frame', { isMasked: true }, 1_002],
    ['a message above the limit', { length: 101 }, 1_009],
  ])('ends both sides if the backend sends %s', async (_, more, code) => {
    const { connect, backend, records, recorded } = await openAll()
    const { peer } = await connect('/small')
    const server = await backend.connected()
    server.send(TEXT, 'a', more)
    expect([await peer.nextText(), await server.nextText()]).toEqual([`close ${code}`, `close ${code}`])
    await recorded(1)
    expect(records).toMatchObject([{ outcome: 'upstream_broken' }])
  })

  it('tells the backend if the client vanishes', async () => {
    const { connect, backend, records, recorded, inFlight } = await openAll()
    const { peer } = await connect()
    const server = await backend.connected()
    peer.socket.destroy()
    expect(await server.nextText()).toBe('close 1001')
    await recorded(1)
    expect(records).toMatchObject([{ outcome: 'client_aborted', status: 101 }])
    expect(inFlight()).toBe(0)
  })

  it('tells the client if the backend vanishes', async () => {
    const { connect, backend, records, recorded } = await openAll()
    const { peer } = await connect()
    const server = await backend.connected()
    server.socket.destroy()
    expect(await peer.nextText()).toBe('close 1011')
    await recorded(1)
    expect(records).toMatchObject([{ outcome: 'upstream_broken' }])
  })

  it('ends without a close frame if a side has a part of a frame', async () => {
    const { connect, backend, webSockets } = await openAll()
    const { peer } = await connect()
    const server = await backend.connected()
    server.send(TEXT, 'part', { length: 50 })
    peer.send(TEXT, 'part', { length: 50 })
    await Promise.all([once(server.socket, 'data'), once(peer.socket, 'data')])
    webSockets.leave()
    expect([await peer.nextText(), await server.nextText()]).toEqual(['ended', 'ended'])
  })

  it('gets nothing but frames after 101, also if it goes on in HTTP', async () => {
    const { connect, backend, records, recorded } = await openAll()
    const { peer } = await connect()
    const server = await backend.connected()
    peer.socket.write('GET /things-v1/plain HTTP/1.1\r\nHost: a\r\n\r\n')
    expect([await peer.nextText(), await server.nextText()]).toEqual(['close 1002', 'close 1002'])
    await recorded(1)
    expect(records).toHaveLength(1)
  })
})
