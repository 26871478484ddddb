/** What WebSockets cost, and how they count in limits and quotas. */

import { describe, expect, it } from 'vitest'
import { createFakeClock } from '../../fixtures/fake-clock.ts'
import { openMeteredGateway } from '../../fixtures/metered-gateway.ts'
import {
  BINARY,
  CLOSE,
  connectPeer,
  handshake,
  openWebSocketBackend,
  PING,
  TEXT,
} from '../../fixtures/websocket-peers.ts'

const responses = { 200: { description: 'ok' } }
const socket = (operationId: string, units?: object) => ({
  get: { operationId, 'x-tollgate-websocket': true, ...(units && { 'x-tollgate-units': units }), responses },
})
const PATHS = {
  '/message': socket('message', { per: 'message', units: 2, reserve: 5 }),
  '/kilobyte': socket('kilobyte', { per: 'kilobyte', units: 0.5, reserve: 1 }),
  '/call': socket('call'),
}
const DECLARATION = {
  quotas: { period: 'Annual', resourceUnits: 100 },
  resourceUnits: { default: 3 },
  limits: [{ name: 'sockets', operationIds: ['call'], concurrent: 2 }],
}

async function openMetered(respond?: () => string) {
  const clock = createFakeClock(Date.now())
  const backend = await openWebSocketBackend(respond === undefined ? {} : { respond })
  const options = { backend: { origin: backend.origin }, paths: PATHS, webSockets: { clock } }
  const gateway = await openMeteredGateway(options, DECLARATION)
  return {
    ...gateway,
    calls: gateway.calls,
    clock,
    backend,
    async connect(path: string, subscription = 'a') {
      const request = handshake(`/things-v1${path}`, { 'x-api-key': `key-${subscription}` })
      const { head, peer } = await connectPeer(await gateway.open(), request)
      const server = head.startsWith('HTTP/1.1 101') ? await backend.connected() : null
      return { head, peer, server: server! }
    },
  }
}

describe('A WebSocket', () => {
  it('costs its messages in both directions, and nothing for fragments and control frames', async () => {
    const { connect, calls, recorded, used, usedAfterRestart } = await openMetered()
    const { head, peer, server } = await connect('/message')
    expect(head).toContain('X-RU-Cost: 5\r\n')
    expect(used('a')).toBe(5)
    peer.send(TEXT, 'a', { isFinal: false })
    peer.send(PING, 'p')
    peer.send(0, 'b')
    peer.send(BINARY)
    for (let count = 0; count < 4; count++) await server.next()
    server.send(TEXT, 'c')
    await peer.next()
    server.send(CLOSE)
    expect(await peer.nextText()).toBe('close without a code')
    await recorded(1)
    expect(calls).toEqual([{ outcome: 'served', status: 101, subscription: 'a', units: 6 }])
    expect([used('a'), usedAfterRestart('a')]).toEqual([6, 6])
  })

  it('costs the bytes of both directions, rounded up to a kilobyte', async () => {
    const { connect, calls, recorded, used, usedAfterRestart } = await openMetered()
    const { peer, server } = await connect('/kilobyte')
    peer.send(BINARY, Buffer.alloc(1_500))
    await server.next()
    server.send(BINARY, Buffer.alloc(1_501), { isFinal: false })
    server.send(PING, 'not counted')
    server.send(CLOSE)
    await peer.closed
    await recorded(1)
    expect(calls).toMatchObject([{ units: 2 }])
    expect([used('a'), usedAfterRestart('a')]).toEqual([2, 2])
  })

  it('costs the declared units without x-tollgate-units', async () => {
    const { connect, calls, recorded, used } = await openMetered()
    const { peer, server } = await connect('/call')
    peer.send(TEXT, 'a')
    await server.next()
    server.send(CLOSE)
    await recorded(1)
    expect([calls[0]?.units, used('a')]).toEqual([3, 3])
  })

  it('costs what was sent if the client vanishes or sends an invalid frame', async () => {
    const { connect, calls, recorded, used, usedAfterRestart } = await openMetered()
    for (const end of ['vanish', 'break']) {
      const { peer, server } = await connect('/message')
      for (let count = 0; count < 4; count++) peer.send(TEXT, 'a')
      for (let count = 0; count < 4; count++) await server.next()
      if (end === 'vanish') peer.socket.destroy()
      else peer.send(7)
      await server.closed
    }
    await recorded(2)
    expect(calls).toMatchObject([
      { outcome: 'client_aborted', units: 8 },
      { outcome: 'client_aborted', units: 8 },
    ])
    expect([used('a'), usedAfterRestart('a')]).toEqual([16, 16])
  })

  it('costs nothing if the backend vanishes, also after a settlement', async () => {
    const { connect, calls, clock, recorded, used } = await openMetered()
    const { peer, server } = await connect('/message')
    for (let count = 0; count < 4; count++) peer.send(TEXT, 'a')
    for (let count = 0; count < 4; count++) await server.next()
    await clock.advance(1_000)
    expect(used('a')).toBe(8)
    server.socket.destroy()
    expect(await peer.nextText()).toBe('close 1011')
    await recorded(1)
    expect([calls[0]?.units, used('a')]).toEqual([0, 0])
  })

  it('costs the declared units if the backend refuses it', async () => {
    const { connect, calls, recorded } = await openMetered(() => 'HTTP/1.1 403 No\r\nContent-Length: 0\r\n\r\n')
    expect((await connect('/message')).head).toMatch(/^HTTP\/1\.1 403/)
    await recorded(1)
    expect(calls).toEqual([{ outcome: 'served', status: 403, subscription: 'a', units: 3 }])
  })

  it('is charged while it is open, and ends when the quota is used up', async () => {
    const { connect, calls, clock, recorded, used, usedAfterRestart } = await openMetered()
    const [one, other] = [await connect('/message'), await connect('/message')]
    for (const count of [40, 15]) {
      for (let sent = 0; sent < count; sent++) one.peer.send(TEXT, 'a')
      for (let sent = 0; sent < count; sent++) await one.server.next()
      await clock.advance(1_000)
    }
    expect([await one.peer.nextText(), await other.peer.nextText()]).toEqual(['close 1008', 'close 1008'])
    expect((await connect('/message')).head).toMatch(/^HTTP\/1\.1 402/)
    await recorded(3)
    expect(calls.map(({ status, units }) => [status, units])).toEqual(
      expect.arrayContaining([
        [101, 110],
        [101, 0],
      ]),
    )
    expect([used('a'), usedAfterRestart('a')]).toEqual([110, 110])
    expect((await connect('/message', 'b')).head).toMatch(/^HTTP\/1\.1 101/)
  })

  it('counts as a concurrent call until it ends', async () => {
    const { connect, recorded } = await openMetered()
    const [one] = [await connect('/call'), await connect('/call')]
    expect((await connect('/call')).head).toMatch(/^HTTP\/1\.1 429/)
    expect((await connect('/call', 'b')).head).toMatch(/^HTTP\/1\.1 101/)
    one.peer.send(CLOSE)
    expect(await one.server.nextText()).toBe('close without a code')
    one.server.send(CLOSE)
    await recorded(2)
    expect((await connect('/call')).head).toMatch(/^HTTP\/1\.1 101/)
  })
})
