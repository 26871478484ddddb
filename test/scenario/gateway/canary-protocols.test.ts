/** Canaries over HTTP/2 and for WebSockets: who is served by which revision, and which revision is recorded. */

import { describe, expect, it } from 'vitest'
import type { CompiledRevision } from '../../../src/gateway/call/revision.ts'
import { closeBackends } from '../../../src/gateway/threads/compile-stored.ts'
import type { RecordedCall } from '../../../src/storage/spool/spool-writer.ts'
import { createFakeClock } from '../../fixtures/fake-clock.ts'
import { call, openClient } from '../../fixtures/http2-calls.ts'
import { get, keyed, openCanary } from '../../fixtures/test-canary.ts'
import { connectPeer, echo, handshake, openWebSocketBackend, TEXT, type Peer } from '../../fixtures/websocket-peers.ts'

const ACTIVE = 1
const CANARY = 2

/** Notes the revision and the subscription of each record. */
function noteRevisions() {
  const noted: string[] = []
  const append = (recorded: RecordedCall, record: (call: RecordedCall) => void): void => {
    const { subscription, revision = 0 } = recorded.attribution
    noted.push(`${subscription} ${revision}`)
    record(recorded)
  }
  return { noted, append }
}

describe('A canary over HTTP/2', () => {
  it('serves the same callers as over HTTP/1.1, on one connection, and its revision is recorded', async () => {
    const { noted, append } = noteRevisions()
    const http2 = await openCanary({ more: { isHttp2: true, append } })
    const http1 = await openCanary()
    const client = openClient(http2.gateway)
    for (let round = 0; round < 3; round++) {
      for (const [subscription, answer] of [
        ['chosen', '<canary /keyed>'],
        ['other', '<stable /keyed>'],
      ] as const) {
        const fields = { ':path': '/things-v1/keyed', 'x-api-key': `key-${subscription}` }
        expect(await call(client, fields)).toMatchObject({ status: 200, body: answer })
        expect(await http1.gateway.raw(keyed('/keyed', subscription))).toContain(answer)
      }
    }
    await http2.gateway.recorded(6)
    expect(noted).toEqual(Array.from({ length: 3 }, () => [`chosen ${CANARY}`, `other ${ACTIVE}`]).flat())
  })

  it('serves callers of both revisions at the same time on one connection', async () => {
    const { promise: isReleased, resolve: release } = Promise.withResolvers<void>()
    const { gateway, dropCanary, canary } = await openCanary({
      more: { isHttp2: true },
      onCall: async (name) => (name === 'canary' ? isReleased : undefined),
    })
    const client = openClient(gateway)
    const of = (subscription: string) =>
      call(client, { ':path': '/things-v1/keyed', 'x-api-key': `key-${subscription}` })
    const slow = of('chosen')
    expect(await of('other')).toMatchObject({ body: '<stable /keyed>' })
    // The canary ends: the stream that is open keeps it, the next one of the same caller does not.
    dropCanary()
    canary.backend?.close()
    expect(await of('chosen')).toMatchObject({ body: '<stable /keyed>' })
    release()
    expect(await slow).toMatchObject({ status: 200, body: '<canary /keyed>' })
  })

  it.each([
    ['no credential', { ':path': '/things-v1/new' }, 404],
    ['a credential that is not valid', { ':path': '/things-v1/keyed', 'x-api-key': 'none' }, 401],
    ['a caller of the active revision', { ':path': '/things-v1/new', 'x-api-key': 'key-other' }, 404],
    ['two credentials', { ':path': '/things-v1/keyed', 'x-api-key': ['key-chosen', 'key-chosen'] as never }, 400],
    ['a path that is not canonical', { ':path': '/things-v1/a/../new', 'x-api-key': 'key-chosen' }, 400],
  ])('is not called for %s, and the connection serves its callers', async (_, fields, status) => {
    const { gateway } = await openCanary({ more: { isHttp2: true } })
    const client = openClient(gateway)
    expect(await call(client, fields)).toMatchObject({ status })
    const chosen = { ':path': '/things-v1/new', 'x-api-key': 'key-chosen' }
    expect(await call(client, chosen)).toMatchObject({ body: '<canary /new>' })
    expect(gateway.faults).toEqual([])
  })
})

const responses = { 200: { description: 'ok' } }
const SOCKET_PATHS = { '/chat': { get: { operationId: 'chat', 'x-tollgate-websocket': true, responses } } }

async function openSockets() {
  const { noted, append } = noteRevisions()
  const clock = createFakeClock(Date.now())
  const echoing = { onPeer: (peer: Peer) => void echo(peer) }
  const [stable, next] = await Promise.all([openWebSocketBackend(echoing), openWebSocketBackend(echoing)])
  const opened = await openCanary({
    origins: { stable: stable.origin, canary: next.origin },
    paths: SOCKET_PATHS,
    more: { append, webSockets: { clock } },
  })
  const connect = async (subscription: string): Promise<Peer> => {
    const request = handshake('/things-v1/chat', { 'x-api-key': `key-${subscription}` })
    return (await connectPeer(await opened.gateway.open(), request)).peer
  }
  const requests = () => ({ stable: stable.requests.length, canary: next.requests.length })
  return { ...opened, clock, noted, connect, requests }
}

async function expectEcho(peer: Peer, text: string): Promise<void> {
  peer.send(TEXT, text)
  expect(await peer.nextText()).toBe(`1 ${text}`)
}

describe('The handshake of a WebSocket', () => {
  it('is served by the revision of its caller', async () => {
    const { connect, requests } = await openSockets()
    for (let round = 1; round <= 2; round++) {
      await connect('chosen')
      expect(requests()).toEqual({ stable: round - 1, canary: round })
      await connect('other')
      expect(requests()).toEqual({ stable: round, canary: round })
    }
  })

  it('without a valid credential never reaches the canary', async () => {
    const { gateway, requests } = await openSockets()
    for (const headers of ['', 'x-api-key: none\r\n'])
      expect(await gateway.raw(get('/chat', headers))).toContain('HTTP/1.1 401')
    expect(requests()).toEqual({ stable: 0, canary: 0 })
  })
})

describe('An open WebSocket', () => {
  type Opened = Awaited<ReturnType<typeof openSockets>>
  it.each<[string, (opened: Opened) => CompiledRevision, 'stable' | 'canary']>([
    ['activated for all', ({ promoteCanary, active }) => (promoteCanary(), active), 'canary'],
    ['discarded', ({ dropCanary, canary }) => (dropCanary(), canary), 'stable'],
  ])('stays on its revision, and is recorded for it, when the canary is %s', async (_, end, later) => {
    const opened = await openSockets()
    const { connect, clock, noted, gateway, requests } = opened
    const [chosen, other] = [await connect('chosen'), await connect('other')]
    await expectEcho(chosen, 'before')
    // The threads close the connections of a revision that serves no more calls.
    closeBackends(end(opened))
    for (let second = 0; second < 3; second++) await clock.advance(1_000)
    await expectEcho(chosen, 'after')
    await expectEcho(other, 'after')
    expect(requests()).toEqual({ stable: 1, canary: 1 })
    const next = await connect('chosen')
    expect(requests()[later]).toBe(2)
    for (const peer of [chosen, other, next]) {
      peer.send(8, Buffer.from([3, 232]))
      await peer.closed
    }
    await gateway.recorded(3)
    expect(noted.toSorted()).toEqual(
      [`chosen ${CANARY}`, `chosen ${later === 'canary' ? CANARY : ACTIVE}`, `other ${ACTIVE}`].toSorted(),
    )
    expect(gateway.records).toMatchObject(Array.from({ length: 3 }, () => ({ outcome: 'served', status: 101 })))
  })
})
