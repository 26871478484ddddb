/** Metadata documents on a real server, fetched with the guard of outbound requests. */

import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterEach, describe, expect, it } from 'vitest'
import { createMetadataClients } from '../../../../../src/control/identity/clients/metadata-clients.ts'
import { createGuardedFetch } from '../../../../../src/foundation/outbound/guarded-fetch.ts'
import type { Resolve } from '../../../../../src/foundation/outbound/guarded-lookup.ts'
import { createFakeClock } from '../../../../fixtures/fake-clock.ts'

const closing: (() => Promise<unknown> | void)[] = []
afterEach(async () => {
  for (const close of closing.splice(0)) await close()
})

type Answer = (request: IncomingMessage, response: ServerResponse, id: string) => void

const toDocument = (id: string, more: object = {}) =>
  JSON.stringify({ client_id: id, client_name: 'Reader', redirect_uris: ['https://app.example/back'], ...more })

const answerDocument: Answer = (_, response, id) =>
  response.writeHead(200, { 'Content-Type': 'application/json' }).end(toDocument(id))

async function open({
  answer = answerDocument,
  allowPrivate = true,
}: { answer?: Answer; allowPrivate?: boolean } = {}) {
  const state = { answer, requests: [] as string[] }
  const begun = Promise.withResolvers<void>()
  const server = createServer((request, response) => {
    state.requests.push(request.url ?? '')
    state.answer(request, response, `http://app.example:${port}${request.url}`)
    begun.resolve()
  })
  const { promise, resolve: listening } = Promise.withResolvers<void>()
  server.listen(0, '127.0.0.1', listening)
  await promise
  closing.push(() => {
    server.closeAllConnections()
    server.close()
  })
  const { port } = server.address() as AddressInfo
  const clock = createFakeClock(1_800_000_000_000)
  const resolve: Resolve = async () => [{ address: '127.0.0.1', family: 4 }]
  const guarded = createGuardedFetch({ clock, allowPrivate, resolve })
  closing.push(guarded.close)
  const counted: string[] = []
  const count = (reason: string): void => void counted.push(reason)
  const find = createMetadataClients({ fetch: guarded.fetch, allowPrivate, clock, count })
  return { state, clock, counted, find, id: `http://app.example:${port}/client.json`, begun: begun.promise }
}

describe('a client that is known by a metadata document', () => {
  it('is a public client without a subscription of its own, in the tenant of the person', async () => {
    const { find, id } = await open()
    const client = await find(id, 'acme')
    const host = new URL(id).host
    expect(client).toMatchObject({ secretHash: '', redirectUris: ['https://app.example/back'], asksOrganisation: true })
    expect(client?.grant).toMatchObject({
      type: 'Shared',
      tenant: 'acme',
      subscription: '',
      scopes: [],
      consumerName: `Reader (${host})`,
    })
  })

  it('is fetched with a user agent, without which content delivery networks refuse requests', async () => {
    const answer: Answer = (request, response, id) =>
      request.headers['user-agent'] === undefined
        ? response.writeHead(403).end()
        : answerDocument(request, response, id)
    const { find, id } = await open({ answer })
    expect(await find(id, '')).not.toBeNull()
  })

  it('is fetched once for ten minutes, however many requests name it', async () => {
    const { state, clock, find, id } = await open()
    expect((await Promise.all(Array.from({ length: 50 }, () => find(id, '')))).every((client) => client !== null)).toBe(
      true,
    )
    expect(await find(id, 'acme')).not.toBeNull()
    expect(state.requests).toHaveLength(1)
    await clock.advance(600_000)
    await find(id, '')
    expect(state.requests).toHaveLength(2)
  })

  it('is unknown while its document cannot be used, which is not fetched again for half a minute', async () => {
    const { state, clock, counted, find, id } = await open({ answer: (_, response) => response.writeHead(500).end() })
    for (let times = 0; times < 20; times++) expect(await find(id, '')).toBeNull()
    expect([state.requests.length, counted]).toEqual([1, ['client_metadata_failed']])
    state.answer = answerDocument
    await clock.advance(30_000)
    expect(await find(id, '')).not.toBeNull()
  })

  it.each<[string, Answer]>([
    ['of another URL', (_, response) => response.end(toDocument('http://other.example/client.json'))],
    ['that redirects', (_, response) => response.writeHead(302, { Location: '/other.json' }).end()],
    [
      'of another type',
      (_, response, id) => response.writeHead(200, { 'Content-Type': 'text/html' }).end(toDocument(id)),
    ],
    ['that is huge', (_, response, id) => response.end(toDocument(id, { x: 'x'.repeat(100_000) }))],
    ['that is cut off', (_, response, id) => response.end(toDocument(id).slice(0, 50))],
    [
      'with a redirect URI that runs a script',
      (_, response, id) => response.end(toDocument(id, { redirect_uris: ['javascript:x'] })),
    ],
  ])('is unknown with a document %s', async (_, answer) => {
    const { state, find, id } = await open({
      answer(request, response, own) {
        response.setHeader('Content-Type', 'application/json')
        answer(request, response, own)
      },
    })
    expect(await find(id, '')).toBeNull()
    expect(state.requests).toEqual(['/client.json'])
  })

  it('is unknown if its document is too slow', async () => {
    const { clock, counted, find, id, begun } = await open({ answer: (_, response) => void response.write('{') })
    const found = find(id, '')
    await begun
    clock.advanceSync(3_000)
    expect(await found).toBeNull()
    expect(counted).toEqual(['client_metadata_failed'])
  })

  it('is not fetched from a private address', async () => {
    const { state, find, id } = await open({ allowPrivate: false })
    for (const url of [id, 'https://app.example/client.json', 'https://127.0.0.1/client.json']) {
      expect(await find(url, '')).toBeNull()
    }
    expect(state.requests).toEqual([])
  })

  it('is known for an hour more while others exhaust the budget', async () => {
    const { state, clock, find, id } = await open()
    await find(id, '')
    const exhaust = async (): Promise<void> => {
      for (let n = 0; n < 6; n++) await find(`${id}?${clock.nowMs()}${n}`, '')
      state.requests.length = 0
    }
    await clock.advance(600_000)
    await exhaust()
    expect(await find(id, 'acme')).not.toBeNull()
    await clock.advance(3_600_000)
    await exhaust()
    expect(await find(id, 'acme')).toBeNull()
    expect(state.requests).toEqual([])
    await clock.advance(60_000)
    expect(await find(id, 'acme')).not.toBeNull()
  })

  it('cannot make the service fetch more than its budget', async () => {
    const { state, counted, find, id } = await open()
    for (let n = 0; n < 100; n++) await find(`${id}?${n}`, '')
    expect(state.requests.length).toBe(6)
    expect(counted.filter((reason) => reason === 'client_metadata_busy')).toHaveLength(94)
  })
})
