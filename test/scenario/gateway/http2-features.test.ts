/** What an API declares holds over HTTP/2 as well: CORS, units counted after the response, WebSockets; and a call uses its credential. */

import { expect, it } from 'vitest'
import type { Caller } from '../../../src/boundary/plan/caller.ts'
import { ALLOWED, APP, CORS_PATHS } from '../../fixtures/cors-api.ts'
import { answerTo, call, KEYED, openClient, openHttp2Gateway } from '../../fixtures/http2-calls.ts'
import { openMeteredGateway } from '../../fixtures/metered-gateway.ts'
import { openBackend } from '../../fixtures/test-gateway.ts'

const EVENT = 'data: a\n\n'
const RESPONSES = { 200: { description: 'ok' } }

it('answers a preflight request, and names the origin in each response', async () => {
  const origin = await openBackend((_, response) => response.end('fine'))
  const root = { 'x-tollgate-cors': { origins: [APP] } }
  const gateway = await openHttp2Gateway({ backend: { origin }, paths: CORS_PATHS, root })
  const client = openClient(gateway)
  const path = { ':path': '/things-v1/items', origin: APP }
  const preflight = await call(client, { ...path, ':method': 'OPTIONS', 'access-control-request-method': 'POST' })
  expect(preflight).toMatchObject({ status: 204, headers: { [ALLOWED]: APP, vary: 'Origin' } })
  expect(preflight.headers['access-control-allow-methods']).toBe('GET, POST, HEAD')
  const answers = [await call(client, path), await call(client, { ...path, ':method': 'POST' })]
  expect(answers.map(({ status, headers }) => [status, headers[ALLOWED]])).toEqual([
    [200, APP],
    [401, APP],
  ])
})

it('charges the events of a stream, also of one that its client has reset', async () => {
  const origin = await openBackend((request, response) => {
    response.writeHead(200, { 'content-type': 'text/event-stream' })
    response.write(EVENT.repeat(3))
    if (request.url === '/keyed') response.end(EVENT)
  })
  const units = { 'x-tollgate-units': { per: 'event', units: 2, reserve: 5 } }
  const paths = {
    '/keyed': { get: { operationId: 'keyed', ...units, responses: RESPONSES } },
    '/endless': { get: { operationId: 'endless', ...units, responses: RESPONSES } },
  }
  const declaration = { quotas: { period: 'Annual', resourceUnits: 100 } }
  const gateway = await openMeteredGateway({ backend: { origin }, paths, isHttp2: true }, declaration)
  const client = openClient(gateway)
  expect(await call(client)).toMatchObject({ status: 200, body: EVENT.repeat(4) })
  const stream = client.request({ ...KEYED, ':path': '/things-v1/endless' })
  const answered = answerTo(stream)
  let received = ''
  stream.on('data', (chunk: string) => {
    received += chunk
    if (received.length === 3 * EVENT.length) stream.close(8)
  })
  await answered
  await gateway.recorded(2)
  expect(gateway.calls.map(({ outcome, units: paid }) => [outcome, paid])).toEqual([
    ['served', 8],
    ['client_aborted', 6],
  ])
  expect([gateway.used('a'), gateway.usedAfterRestart('a')]).toEqual([14, 14])
})

it('refuses a WebSocket with the protocol that it needs', async () => {
  const origin = await openBackend((_, response) => response.end('fine'))
  const paths = { '/keyed': { get: { operationId: 'keyed', 'x-tollgate-websocket': true, responses: RESPONSES } } }
  const gateway = await openHttp2Gateway({ backend: { origin }, paths })
  const { status, body, headers } = await call(openClient(gateway))
  expect([status, JSON.parse(body)]).toEqual([426, expect.objectContaining({ code: 'upgrade_required' })])
  expect(headers).not.toHaveProperty('upgrade')
})

it('notes the credential of each call that it admits as used, and none of a call that it refuses', async () => {
  const origin = await openBackend((_, response) => response.end('fine'))
  const used: string[] = []
  const authenticator = { noteUse: ({ grant }: Caller) => void used.push(grant.credential) }
  const client = openClient(await openHttp2Gateway({ backend: { origin }, authenticator }))
  const statuses: number[] = []
  for (const key of ['key-a', 'unknown', 'key-b']) {
    statuses.push((await call(client, { ...KEYED, 'x-api-key': key })).status)
  }
  expect(statuses).toEqual([200, 401, 200])
  expect(used).toEqual(['crd_a', 'crd_b'])
})
