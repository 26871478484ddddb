/**
 * A revocation is complete when it is answered: clients call all threads with a credential while it is revoked,
 * and no call that is sent after the answer is served.
 */

import { Pool, request } from 'undici'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { fetchToken } from '../../src/interfaces/cli/platform-client.ts'
import { ledgerDocument, startLedgerBackend, type LedgerBackend } from './ledger-backend.ts'
import { createService, enrol, publish, type Service } from './service.ts'

const THREADS = 3
/** Enough connections for every thread to accept some of them. */
const CONNECTIONS = 24
/** Before a revocation, and after its answer: some twenty over each connection. */
const CALLS = 500

let service: Service
let backend: LedgerBackend
let proxy: string

beforeAll(async () => {
  backend = await startLedgerBackend()
  service = await createService({ args: ['--empty'], env: { GATEWAY_THREADS: String(THREADS) } })
  await service.start()
  proxy = await publish(service, 'ledger-v1', ledgerDocument(), backend.url)
})

afterAll(async () => {
  await service.remove()
  await backend.close()
})

interface Hammering {
  /** Resolves when `count` more calls were served. */
  served(count: number): Promise<void>
  /** Returns the statuses of the calls that are sent from now on, until `count` of them were answered. */
  after(count: number): Promise<ReadonlyMap<number, number>>
  stop(): Promise<void>
}

function hammer(headers: Readonly<Record<string, string>>, path = '/ledger-v1/entries?n=1'): Hammering {
  const pool = new Pool(service.gatewayUrl, { connections: CONNECTIONS })
  let isOver = false
  let phase = 0
  let statuses = new Map<number, number>()
  let wanted = Infinity
  let reached = (): void => {}

  async function lane(): Promise<void> {
    while (!isOver) {
      const sentIn = phase
      const { statusCode, body } = await pool.request({ method: 'GET', path, headers })
      await body.dump()
      if (sentIn !== phase) continue
      statuses.set(statusCode, (statuses.get(statusCode) ?? 0) + 1)
      if (--wanted === 0) reached()
    }
  }
  const lanes = Array.from({ length: CONNECTIONS }, lane)

  function count(of: number): Promise<void> {
    phase++
    statuses = new Map()
    wanted = of
    return new Promise((resolve) => (reached = resolve))
  }

  return {
    async served(of) {
      await count(of)
      expect([...statuses.keys()]).toEqual([200])
    },
    async after(of) {
      await count(of)
      return statuses
    },
    async stop() {
      isOver = true
      await Promise.all(lanes)
      await pool.close()
    },
  }
}

/** Revokes access under load. Returns the statuses of calls that were sent after the answer. */
async function takeAway(
  headers: Readonly<Record<string, string>>,
  take: () => Promise<unknown>,
  path?: string,
): Promise<number[]> {
  const hammering = hammer(headers, path)
  try {
    await hammering.served(CALLS)
    await take()
    return [...(await hammering.after(CALLS)).keys()]
  } finally {
    await hammering.stop()
  }
}

async function statusOf(headers: Readonly<Record<string, string>>): Promise<number> {
  const { statusCode, body } = await request(`${service.gatewayUrl}/ledger-v1/entries?n=1`, { headers })
  await body.dump()
  return statusCode
}

const bearer = (token: string) => ({ authorization: `Bearer ${token}` })

describe('no call is served after the answer', () => {
  it('to the revocation of a token, nor after a kill', async () => {
    const { token, clientId, clientSecret } = await enrol(service, 'ledger-v1')
    const text = await token()
    const revoke = async (): Promise<void> => {
      const form = new URLSearchParams({ token: text, client_id: clientId, client_secret: clientSecret })
      const answer = await fetch(`${service.gatewayUrl}/ledger-v1/oauth2/v2/revoke`, { method: 'POST', body: form })
      expect(answer.status).toBe(200)
    }
    expect(await takeAway(bearer(text), revoke)).toEqual([401])
    const other = await token()
    expect(await statusOf(bearer(other))).toBe(200)

    await service.kill()
    await service.start()
    expect(await statusOf(bearer(text))).toBe(401)
    expect(await statusOf(bearer(other))).toBe(200)
  })

  it.each(['OAuth2', 'ApiKey'])('to the revocation of a credential of type %s', async (type) => {
    const { token, apiKey, subscription } = await enrol(service, 'ledger-v1')
    const { items } = await service.platform.get<{ items: readonly { id: string; type: string }[] }>(
      `/v1/subscriptions/${subscription}/credentials`,
    )
    const { id } = items.find((item) => item.type === type) ?? { id: '' }
    const headers = type === 'OAuth2' ? bearer(await token()) : { 'x-api-key': apiKey }
    const revoke = () => service.platform.delete(`/v1/subscriptions/${subscription}/credentials/${id}`)
    expect(await takeAway(headers, revoke)).toEqual([401])
  })

  it('to the cancellation of a subscription', async () => {
    const { token, subscription } = await enrol(service, 'ledger-v1')
    const cancel = () => service.platform.post(`/v1/subscriptions/${subscription}/cancel`)
    expect(await takeAway(bearer(await token()), cancel)).toEqual([401])
  })

  it('to the disabling of a consumer, nor after a restart, until it is enabled', async () => {
    const { token, apiKey, consumer, clientId, clientSecret } = await enrol(service, 'ledger-v1')
    const text = await token()
    const disable = () => service.platform.post(`/v1/consumers/${consumer}/disable`)
    expect(await takeAway(bearer(text), disable)).toEqual([403])
    expect(await statusOf({ 'x-api-key': apiKey })).toBe(403)
    await service.stop()
    await service.start()
    expect(await statusOf(bearer(text))).toBe(403)
    const form = new URLSearchParams({
      grant_type: 'client_credentials',
      client_id: clientId,
      client_secret: clientSecret,
    })
    const issued = await fetch(`${service.gatewayUrl}/ledger-v1/oauth2/v2/token`, { method: 'POST', body: form })
    expect([400, 401, 403]).toContain(issued.status)

    await service.platform.post(`/v1/consumers/${consumer}/enable`)
    expect(await statusOf(bearer(text))).toBe(200)
  })

  it('to the removal of an API from a product', async () => {
    const { id: product } = await service.platform.post<{ id: string }>('/v1/products', {
      name: 'Books',
      apis: ['ledger-v1'],
    })
    const { id: consumer } = await service.platform.post<{ id: string }>('/v1/consumers', {
      name: 'Reader',
      kind: 'application',
    })
    const { id } = await service.platform.post<{ id: string }>('/v1/subscriptions', { consumer, product })
    const { items } = await service.platform.get<{
      items: readonly { type: string; clientId: string; clientSecret: string; ApiProductId: string }[]
    }>(`/v1/subscriptions/${id}/credentials`)
    const client = items.find(({ type }) => type === 'OAuth2')
    expect(client?.ApiProductId).toBe(product)
    const { clientId = '', clientSecret = '' } = client ?? {}
    const { accessToken } = await fetchToken({
      gatewayUrl: service.gatewayUrl,
      api: 'ledger-v1',
      clientId,
      clientSecret,
    })
    const remove = () => service.platform.put(`/v1/products/${product}`, { name: 'Books', apis: [] })
    expect(await takeAway(bearer(accessToken), remove)).toEqual([403])
  })

  it('to the retirement of a scope', async () => {
    const { token, subscription } = await enrol(service, 'ledger-v1')
    const retire = () => service.platform.put(`/v1/subscriptions/${subscription}/scopes`, { scopes: [] })
    expect(await takeAway(bearer(await token()), retire)).toEqual([403])
  })

  it('to the activation of a revision that no longer allows a scope', async () => {
    const { token } = await enrol(service, 'ledger-v1')
    const stage = (allowedScopes: readonly string[]) =>
      service.platform.post('/v1/proxies', { api: 'ledger-v1', fromRevision: 1, allowedScopes })
    const activate = () => service.platform.post(`/v1/proxies/${proxy}/activate`)
    await stage([])
    expect(await takeAway(bearer(await token()), activate)).toEqual([403])
    await stage(['entries:read'])
    await activate()
  })
})

it('answers 404 for a removed API on every thread after the answer, also after a restart, and its name is free', async () => {
  const document = { ...ledgerDocument(), info: { title: 'Attic', version: '1.0.0' } }
  await publish(service, 'attic-v1', document, backend.url)
  const { token, subscription } = await enrol(service, 'attic-v1')
  const headers = bearer(await token())
  const path = '/attic-v1/entries?n=1'
  const remove = () => service.platform.delete('/v1/apis/attic-v1')
  await expect(remove()).rejects.toThrow(subscription)
  const hammering = hammer(headers, path)
  await hammering.served(CALLS)
  await hammering.stop()
  await service.platform.post(`/v1/subscriptions/${subscription}/cancel`)

  // A call with a cancelled subscription is refused with 401 while the API exists, and with 404 afterwards.
  const refused = hammer(headers, path)
  expect([...(await refused.after(CALLS)).keys()]).toEqual([401])
  await remove()
  expect([...(await refused.after(CALLS)).keys()]).toEqual([404])
  await refused.stop()
  await service.stop()
  await service.start()
  const late = await request(service.gatewayUrl + path, { headers })
  await late.body.dump()
  expect(late.statusCode).toBe(404)
  await publish(service, 'attic-v1', document, backend.url)
  expect((await fetch(service.gatewayUrl + path, { headers })).status).toBe(401)
})

it('deprecates an API without a failed call, and answers 410 on every thread once it is retired', async () => {
  const document = { ...ledgerDocument(), info: { title: 'Archive', version: '1.0.0' } }
  await publish(service, 'archive-v1', document, backend.url)
  const { token, subscription } = await enrol(service, 'archive-v1')
  const headers = bearer(await token())
  const path = '/archive-v1/entries?n=1'
  const retirementDate = '2099-01-01T00:00:00.000Z'
  const hammering = hammer(headers, path)
  await hammering.served(CALLS)
  await service.platform.post('/v1/apis/archive-v1/deprecate', { retirementDate, successor: 'ledger-v1' })
  await hammering.served(CALLS)
  await hammering.stop()
  const answer = await request(service.gatewayUrl + path, { headers })
  await answer.body.dump()
  expect(answer.headers).toMatchObject({
    deprecation: expect.stringMatching(/^@\d{10}$/),
    sunset: 'Thu, 01 Jan 2099 00:00:00 GMT',
    link: '</ledger-v1>; rel="successor-version"',
  })

  const retire = (force: boolean) => service.platform.post('/v1/apis/archive-v1/retire', { force })
  await expect(retire(false)).rejects.toThrow(subscription)
  expect(await takeAway(headers, () => retire(true), path)).toEqual([410])
  await service.stop()
  await service.start()
  const late = await request(service.gatewayUrl + path, { headers })
  expect(late.statusCode).toBe(410)
  expect(await late.body.json()).toMatchObject({ code: 'api_retired' })
})

it('rotates the signing keys under load without a failed call, and old tokens stay valid', async () => {
  const { token } = await enrol(service, 'ledger-v1')
  const before = await token()
  const kidOf = (text: string) =>
    (JSON.parse(Buffer.from(text.split('.')[0] ?? '', 'base64url').toString()) as { kid: string }).kid
  const hammering = hammer(bearer(before))
  try {
    await hammering.served(1_000)
    await service.platform.post('/v1/signingkeys/rotate')
    const after = await token()
    expect(kidOf(after)).not.toBe(kidOf(before))
    const fresh = hammer(bearer(after))
    await Promise.all([hammering.served(1_000), fresh.served(1_000)])
    await fresh.stop()
  } finally {
    await hammering.stop()
  }
})
