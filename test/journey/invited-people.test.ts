/**
 * An owner invites a publisher and a person of a consumer, each signs in through the command line tool, and each can do what their role
 * allows. The person of the consumer is disabled in the middle of calls and of a stream.
 */

import { request } from 'undici'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { statusesAfter } from './calls-after.ts'
import { ledgerDocument, startLedgerBackend, type LedgerBackend } from './ledger-backend.ts'
import { logIn, setPassword } from './person.ts'
import { createService, publish, type Service } from './service.ts'
import { call, callLedger, CLIENT, createConsumer, LOOPBACK, PASSWORD, subscribe } from './shared-client.ts'

let service: Service
let backend: LedgerBackend
let owner: string
let shop: string
let otherSubscription: string

const withClient = { password: PASSWORD, clientId: CLIENT, redirectUri: LOOPBACK }
const statusOf = async (path: string, token: string) => (await call(service.baseUrl + path, token)).status

async function send(method: 'POST' | 'PATCH', path: string, token: string, body: object = {}) {
  const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' }
  const answer = await request(service.baseUrl + path, { method, headers, body: JSON.stringify(body) })
  return { status: answer.statusCode, body: (await answer.body.json()) as Record<string, unknown> }
}

/** The owner invites a person, who sets a password and signs in at the platform. */
async function invite(username: string, role: object) {
  const { status, body } = await send('POST', '/v1/users', owner, { username, name: username, roles: [role] })
  expect(status).toBe(201)
  expect(await setPassword((body['invitation'] as { url: string }).url, PASSWORD)).toBe(200)
  const login = { ...withClient, username }
  const { token } = await logIn(service, { ...login, api: 'platform-v1' })
  return { id: String(body['id']), login, token }
}

beforeAll(async () => {
  backend = await startLedgerBackend()
  service = await createService({ args: ['--empty'], env: { GATEWAY_THREADS: '3' } })
  await service.start()
  await publish(service, 'ledger-v1', ledgerDocument(), backend.url)
  const [link = ''] = /http\S+\/oauth2\/v2\/password\?link=\S+/.exec(service.output()) ?? []
  expect(await setPassword(link, PASSWORD)).toBe(200)
  owner = (await logIn(service, { ...withClient, username: 'owner', api: 'platform-v1' })).token
  shop = await createConsumer(service)
  await subscribe(service, shop)
  await subscribe(service, shop, { api: 'platform-v1' })
  otherSubscription = await subscribe(service, await createConsumer(service))
})

afterAll(async () => {
  await service.remove()
  await backend.close()
})

describe('a publisher whom the owner has invited', () => {
  it('publishes, and manages neither people nor risks', async () => {
    const { token } = await invite('publisher', { role: 'publisher' })
    const specification = Buffer.from(JSON.stringify(ledgerDocument('1.1.0'))).toString('base64')
    expect(await send('POST', '/v1/programmes', token, { name: 'Ledger', specification })).toMatchObject({
      status: 202,
    })
    expect(await statusOf('/v1/consumers', token)).toBe(200)
    expect(await statusOf('/v1/users', token)).toBe(403)
    expect(await statusOf('/v1/events/subscribe', token)).toBe(403)
    expect(await send('POST', '/v1/users', token, { username: 'eve', name: 'Eve' })).toMatchObject({ status: 403 })
    expect(await send('POST', `/v1/consumers/${shop}/disable`, token)).toMatchObject({ status: 403 })
  })
})

describe('a person of a consumer whom the owner has invited', () => {
  it('uses what belongs to the consumer, until the answer to the request that disables the person', async () => {
    const { id, login, token } = await invite('buyer', { role: 'consumer', consumers: [shop] })
    expect(await statusOf('/v1/subscriptions', token)).toBe(200)
    expect(await statusOf(`/v1/subscriptions/${otherSubscription}`, token)).toBe(404)
    expect(await statusOf('/v1/consumers', token)).toBe(403)
    expect(await send('POST', '/v1/programmes', token, { name: 'Ledger' })).toMatchObject({ status: 403 })

    const ledger = (await logIn(service, { ...login, api: 'ledger-v1' })).token
    expect(await callLedger(service, ledger)).toMatchObject({ status: 200 })
    const headers = { authorization: `Bearer ${token}` }
    const stream = await request(`${service.baseUrl}/v1/events/subscribe?severity=Info`, { headers })
    expect(stream.statusCode).toBe(200)
    const sent = stream.body.text()

    const disable = async (): Promise<void> => {
      expect(await send('POST', `/v1/users/${id}/disable`, owner)).toMatchObject({ status: 200 })
      // Ended before the events of the calls that follow.
      expect(await sent).toMatch(/^retry: /)
    }
    expect(await statusesAfter(async () => (await callLedger(service, ledger)).status, disable)).toEqual([401])
    expect(await statusOf('/v1/subscriptions', token)).toBe(401)
    expect((await logIn(service, { ...login, api: 'ledger-v1' })).status).toBe(401)
    expect(await statusOf('/v1/users', owner)).toBe(200)
  })
})
