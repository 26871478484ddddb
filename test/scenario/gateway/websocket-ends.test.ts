/** WebSockets use their credential while they are open, and end when a new call would be refused, when they are idle, and when the gateway stops. */

import { describe, expect, it } from 'vitest'
import type { Authenticator } from '../../../src/gateway/authentication/authenticate.ts'
import { createRefusal, type AuthenticationResult } from '../../../src/gateway/authentication/credential-refusal.ts'
import type { WebSocketsOptions } from '../../../src/gateway/websocket/web-sockets.ts'
import { createFakeClock } from '../../fixtures/fake-clock.ts'
import { callerOf } from '../../fixtures/test-callers.ts'
import { openWebSocketGateway } from '../../fixtures/websocket-gateway.ts'
import { CLOSE, PING } from '../../fixtures/websocket-peers.ts'

const KEYED = { 'x-api-key': 'key-a' }
const CALLER = callerOf('a')

interface Changes {
  result: AuthenticationResult
  /** Takes the place of `result`. */
  answer: (() => AuthenticationResult) | null
  options: Partial<Pick<WebSocketsOptions, 'revisionOf' | 'isStaleAt'>>
}

async function openChanging() {
  const clock = createFakeClock(Date.now())
  const now: Changes = { result: CALLER, answer: null, options: {} }
  const authenticate: Authenticator['authenticate'] = () => now.answer?.() ?? now.result
  const used: string[] = []
  const gateway = await openWebSocketGateway(
    {},
    {
      authenticator: { authenticate, noteUse: ({ grant }) => void used.push(grant.credential) },
      webSockets: {
        clock,
        revisionOf: (api) => (now.options.revisionOf ?? (() => gateway.revision))(api),
        isStaleAt: (at) => now.options.isStaleAt?.(at) ?? false,
      },
    },
  )
  return {
    ...gateway,
    records: gateway.records,
    clock,
    now,
    used,
    async connected(path = '/keyed') {
      const { peer } = await gateway.connect(path, KEYED)
      return { peer, server: await gateway.backend.connected() }
    },
  }
}

describe('A WebSocket ends within a second', () => {
  it.each<readonly [string, number, (now: Changes) => void]>([
    ['its credential is revoked', 1_008, (now) => (now.result = createRefusal('credential_invalid', 'revoked'))],
    ['its subscription ends', 1_008, (now) => (now.result = createRefusal('subscription_required', 'none'))],
    [
      'its credential is revoked, which has to be looked up',
      1_008,
      (now) => (now.result = Promise.resolve(createRefusal('credential_invalid', 'revoked'))),
    ],
    [
      'its caller belongs to another tenant',
      1_008,
      (now) => (now.result = { ...CALLER, grant: { ...CALLER.grant, tenant: 'other' } }),
    ],
    ['its API is withdrawn', 1_001, (now) => (now.options = { revisionOf: () => undefined })],
    ['the registry is lost', 1_013, (now) => (now.options = { isStaleAt: () => true })],
  ])('if %s: %i', async (_, code, change) => {
    const { connected, clock, now, records, recorded } = await openChanging()
    const { peer, server } = await connected()
    await clock.advance(5_000)
    change(now)
    await clock.advance(1_000)
    expect([await peer.nextText(), await server.nextText()]).toEqual([`close ${code}`, `close ${code}`])
    await recorded(1)
    expect(records).toMatchObject([{ outcome: 'served', status: 101, subscription: 'a' }])
  })

  it('but not because the active revision would refuse it, as long as the canary that serves it runs', async () => {
    const { connected, clock, now, revision } = await openChanging()
    const { peer, server } = await connected()
    const active = { ...revision, plan: { ...revision.plan, revision: 9, tenant: 'other' } }
    now.options = { revisionOf: () => ({ ...active, canary: { revision, matches: () => true } }) }
    await clock.advance(2_000)
    peer.send(PING, 'alive')
    expect(await server.nextText()).toBe('9 alive')
    now.options = { revisionOf: () => active }
    await clock.advance(1_000)
    expect(await server.nextText()).toBe('close 1008')
  })

  it('but not because a credential cannot be looked up at the moment', async () => {
    const { connected, clock, now, records } = await openChanging()
    const { peer, server } = await connected()
    const busy = createRefusal('unavailable', 'busy')
    for (const answer of [() => busy, () => Promise.resolve(busy), () => Promise.reject<never>(new Error('lost'))]) {
      now.answer = answer
      await clock.advance(1_000)
    }
    now.answer = null
    await clock.advance(1_000)
    peer.send(PING, 'alive')
    expect(await server.nextText()).toBe('9 alive')
    expect(records).toEqual([])
  })

  it('without a credential only if its API ends', async () => {
    const { connect, backend, clock, now } = await openChanging()
    now.result = createRefusal('credential_invalid', 'never asked')
    const { peer } = await connect('/open')
    await backend.connected()
    await clock.advance(5_000)
    now.options = { revisionOf: () => undefined }
    await clock.advance(1_000)
    expect(await peer.nextText()).toBe('close 1001')
  })

  it('leaves others alone', async () => {
    const { connected, connect, backend, clock, now } = await openChanging()
    const { peer } = await connected()
    const open = await connect('/open')
    const server = await backend.connected()
    now.result = createRefusal('credential_invalid', 'revoked')
    await clock.advance(1_000)
    expect(await peer.nextText()).toBe('close 1008')
    open.peer.send(PING, 'alive')
    expect(await server.nextText()).toBe('9 alive')
  })
})

describe('A WebSocket', () => {
  it('uses its credential at its handshake and each second, but not once that is refused', async () => {
    const { connected, clock, now, used } = await openChanging()
    const { peer } = await connected()
    expect(used.splice(0)).toEqual(['crd_a'])
    await clock.advance(3_000)
    expect(used.splice(0)).toEqual(['crd_a', 'crd_a', 'crd_a'])
    now.result = createRefusal('credential_invalid', 'revoked')
    await clock.advance(1_000)
    expect(await peer.nextText()).toBe('close 1008')
    expect(used).toEqual([])
  })

  it('ends after ten minutes without a byte', async () => {
    const { connected, clock, records } = await openChanging()
    const { peer, server } = await connected()
    await clock.advance(599_000)
    server.send(PING)
    await peer.next()
    await clock.advance(600_000)
    expect(records).toEqual([])
    await clock.advance(1_000)
    expect([await peer.nextText(), await server.nextText()]).toEqual(['close 1001', 'close 1001'])
  })

  it('ends when the gateway stops, which then refuses handshakes', async () => {
    const { connected, connect, webSockets, clock, recorded } = await openChanging()
    const { peer, server } = await connected()
    webSockets.leave()
    expect([await peer.nextText(), await server.nextText()]).toEqual(['close 1001', 'close 1001'])
    expect((await connect('/open')).head).toMatch(/^HTTP\/1\.1 503/)
    await recorded(2)
    // Neither side answers: their connections end after five seconds.
    await clock.advance(5_000)
    await Promise.all([peer.closed, server.closed])
    expect(clock.pending).toBe(0)
  })

  it('ends five seconds after the close frame of the client if the backend does not answer', async () => {
    const { connected, clock, records, recorded } = await openChanging()
    const { peer, server } = await connected()
    peer.send(CLOSE, Buffer.from([0x03, 0xe8]))
    expect(await server.nextText()).toBe('close 1000')
    server.send(PING, 'still sending')
    expect(await peer.nextText()).toBe('9 still sending')
    await clock.advance(4_999)
    expect(records).toEqual([])
    await clock.advance(1)
    expect(await peer.nextText()).toBe('close 1000')
    await recorded(1)
    expect(records).toMatchObject([{ outcome: 'served', status: 101 }])
  })
})
