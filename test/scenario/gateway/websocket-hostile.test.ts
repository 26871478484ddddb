/** Clients and backends that send anything as a WebSocket harm no other connection. */

import { once } from 'node:events'
import { connect as connectTls } from 'node:tls'
import { expect, it, onTestFinished } from 'vitest'
import { createRandom, type Random } from '../../random.ts'
import { createTestAuthority } from '../../fixtures/test-certificates.ts'
import { openWebSocketGateway } from '../../fixtures/websocket-gateway.ts'
import { connectPeer, echo, handshake, openWebSocketBackend, TEXT, type Peer } from '../../fixtures/websocket-peers.ts'
import { frame } from '../../fixtures/websocket-frames.ts'

const SEED = 7
const ROUNDS = 60

/** Returns a frame that is often valid, cut or changed by chance. */
function hostileBytes(random: Random, isMasked: boolean): Buffer {
  const opcode = [0, 1, 2, 8, 9, 10, random.below(16)][random.below(7)]!
  const payload = Buffer.alloc([0, 1, 125, 126, 5_000, 70_000][random.below(6)]!, random.below(256))
  const isLying = random.below(10) === 0
  const bytes = frame({
    opcode,
    payload: opcode > 7 ? payload.subarray(0, 125) : payload,
    isFinal: random.below(4) > 0,
    isMasked: random.below(20) > 0 ? isMasked : !isMasked,
    reserved: random.below(20) === 0 ? random.below(8) : 0,
    ...(isLying && { length: [0, 126, 65_536, 2 ** 40, 2 ** 63][random.below(5)]!, encoding: 127 }),
  })
  if (random.below(10) === 0) bytes[random.below(bytes.length)] = random.below(256)
  return random.below(10) === 0 ? bytes.subarray(0, random.below(bytes.length)) : bytes
}

/** Sends frames in parts, then leaves in one of several ways. */
async function attack(peer: Peer, random: Random, isMasked: boolean): Promise<void> {
  const { socket } = peer
  const bytes = Buffer.concat(Array.from({ length: 1 + random.below(8) }, () => hostileBytes(random, isMasked)))
  let at = 0
  while (at < bytes.length && !socket.destroyed) {
    const end = at + 1 + random.below(random.below(2) === 0 ? 20 : 50_000)
    socket.write(bytes.subarray(at, end))
    at = end
    await new Promise((resolve) => setImmediate(resolve))
  }
  if (random.below(2) === 0) socket.destroy()
  else socket.end()
}

it('random frames of clients and backends end their own connections only', async () => {
  const random = createRandom(SEED)
  const { connect, backend, recorded, records, faults, inFlight } = await openWebSocketGateway({})
  for (let round = 0; round < ROUNDS; round++) {
    const { peer } = await connect()
    const server = await backend.connected()
    const attacks = [attack(peer, random, true)]
    if (random.below(2) === 0) attacks.push(attack(server, random, false))
    await Promise.all(attacks)
    peer.socket.resume()
    server.socket.resume()
    await recorded(round + 1)
  }
  expect(faults).toEqual([])
  expect(inFlight()).toBe(0)
  expect(new Set(records.map(({ status }) => status))).toEqual(new Set([101]))
  const last = await connect()
  void echo(await backend.connected())
  last.peer.send(TEXT, 'still served')
  expect(await last.peer.nextText()).toBe('1 still served')
})

it('many small frames for a backend that does not read are not kept in memory', async () => {
  const { connect, backend } = await openWebSocketGateway()
  const { peer } = await connect()
  const server = await backend.connected()
  server.socket.pause()
  const many = Buffer.concat(
    Array.from({ length: 20_000 }, () => frame({ opcode: TEXT, payload: 'a', isMasked: true })),
  )
  // The kernel takes some megabytes; then the gateway must stop to read.
  let sent = 0
  while (peer.socket.writableLength < 1024 * 1024) {
    peer.socket.write(many)
    sent += 20_000
    for (let turn = 0; turn < 20; turn++) await new Promise((resolve) => setImmediate(resolve))
  }
  server.socket.resume()
  for (let count = 0; count < sent; count++) await server.next()
  peer.send(TEXT, 'last')
  expect(await server.nextText()).toBe('1 last')
})

it('works over TLS', async () => {
  const authority = createTestAuthority()
  onTestFinished(() => authority.remove())
  const { cert, key } = authority.sign('gw.example.test')
  const fallback = { names: ['gw.example.test'], cert: cert.toString(), key: key.toString() }
  const tls = { fallback, others: [], clientCa: null, ticketKeys: Buffer.alloc(48, 1) }
  const gateway = await openWebSocketGateway({ onPeer: (peer) => void echo(peer) }, { server: { tls } })
  const socket = connectTls({ port: gateway.port, servername: 'gw.example.test', rejectUnauthorized: false })
  onTestFinished(() => void socket.destroy())
  await once(socket, 'secureConnect')
  const { head, peer } = await connectPeer(socket, handshake('/things-v1/open'))
  expect(head).toMatch(/^HTTP\/1\.1 101 /)
  peer.send(TEXT, 'x'.repeat(200_000))
  expect((await peer.next())?.payload.length).toBe(200_000)
})

it('a client that does not read is disconnected, and pays', async () => {
  const readers = { windowMs: 100, pendingBytesMax: 1e9, scanEveryMs: 20 }
  const { connect, backend, recorded, records } = await openWebSocketGateway({}, { readers })
  const { peer } = await connect()
  const server = await backend.connected()
  peer.socket.pause()
  const pump = (): void =>
    void (server.socket.destroyed || server.socket.write(frame({ opcode: TEXT, payload: 'a'.repeat(60_000) }), pump))
  pump()
  await recorded(1)
  expect(records).toMatchObject([{ outcome: 'client_too_slow', status: 101 }])
})

it('a backend that does not read for its time limit is left', async () => {
  const origin = await openWebSocketBackend()
  const options = { backend: { origin: origin.origin, timeoutMs: 100 } }
  const { connect, recorded, records } = await openWebSocketGateway({}, options)
  const { peer } = await connect()
  ;(await origin.connected()).socket.pause()
  const large = frame({ opcode: TEXT, payload: 'a'.repeat(60_000), isMasked: true })
  const pump = (): void => void (peer.socket.destroyed || peer.socket.write(large, pump))
  pump()
  await recorded(1)
  expect(records).toMatchObject([{ outcome: 'upstream_timeout', status: 101 }])
})
