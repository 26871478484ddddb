/** Data folders of earlier versions, opened by this one. `docs/upgrades.md` describes how they are created and stored. */

import { request } from 'undici'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { createPlatformClient, fetchToken } from '../../src/interfaces/cli/platform-client.ts'
import { unpack } from '../upgrade/archive.ts'
import { PUBLIC_GATEWAY_URL, readFixtures } from '../upgrade/fixture.ts'
import { startNeighbours, type Neighbours } from '../upgrade/neighbours.ts'
import { call, type Client } from '../upgrade/scenario.ts'
import { readState, type State } from '../upgrade/state.ts'
import { createService, type Service, isEmbedded } from './service.ts'

const PRELOAD = new URL('../upgrade/shifted-clock.ts', import.meta.url).href
const FIXTURES = readFixtures()
let neighbours: Neighbours

beforeAll(async () => {
  neighbours = await startNeighbours()
})

afterAll(() => neighbours.close())

it('upgrade: the reference data folder of commit 091145f exists', () => {
  expect(FIXTURES.map(({ fixture }) => fixture.commit)).toContain('091145f')
})

/** A new version adds scopes to the administrators of tenants, and a consumer for the people of each tenant. */
function afterUpgrade({ subscriptions = [], consumers = [], ...lists }: State['lists']) {
  const expected = subscriptions.map((each) =>
    each['ApiId'] === 'platform-v1' ? { ...each, scopes: expect.arrayContaining(each['scopes'] as string[]) } : each,
  )
  const own = { ApiId: 'platform-v1', state: 'Active' }
  return {
    ...lists,
    consumers: [...consumers, expect.objectContaining({ name: 'People of the tenant' })],
    subscriptions: [...expected, expect.objectContaining(own)],
  }
}

describe.skipIf(!isEmbedded).each(FIXTURES)(
  'upgrade: a data folder written by $fixture.commit (needs the registry and the store in the folder)',
  ({ fixture, archive }) => {
    const { admin, callers, suspended, otherAdmin, otherCaller, from, to } = fixture
    let service: Service

    /** Opens the folder with the clock at the time of packing, or today. */
    async function open(clock: 'packed' | 'today'): Promise<void> {
      const shift = { CLOCK_STARTS_AT: fixture.packedAt, NODE_OPTIONS: `--import ${PRELOAD}` }
      const env = {
        ADMIN_CLIENT_ID: '',
        ADMIN_CLIENT_SECRET: '',
        GATEWAY_URL: PUBLIC_GATEWAY_URL,
        ALLOW_PRIVATE_ADDRESSES: 'webhooks',
        ...(clock === 'packed' && shift),
      }
      const opened = await createService({ env, dataDir: service?.dataDir })
      if (service === undefined) unpack(archive, opened.dataDir)
      service = opened
      await service.start()
    }

    const read = (credential: Client): Promise<State> =>
      readState({ baseUrl: service.baseUrl, platform: createPlatformClient({ ...service, ...credential }), from, to })

    beforeAll(() => open('packed'))
    afterAll(() => service.remove())

    it('opens, and the service is ready', async () => {
      const { statusCode, body } = await request(`${service.baseUrl}/readyz`)
      await body.dump()
      expect(statusCode).toBe(200)
      expect(service.errors()).not.toMatch(/"level":"(error|fatal)"/)
    })

    it('has every line item, summary and counter that its version recorded, also of calls that were only in the spool', async () => {
      await service.stop()
      await service.start()
      const { lineItems, summaries, remaining } = await read(admin)
      expect({ lineItems, summaries, remaining }).toEqual({
        lineItems: fixture.state.lineItems,
        summaries: fixture.state.summaries,
        remaining: fixture.state.remaining,
      })
      expect((await read(otherAdmin)).lineItems).toEqual(fixture.otherState.lineItems)
    })

    it('has every resource in its previous state, and every document byte for byte', async () => {
      const { lists, contents } = await read(admin)
      expect(lists).toEqual(afterUpgrade(fixture.state.lists))
      expect(contents).toEqual(fixture.state.contents)
      expect((await read(otherAdmin)).lists).toEqual(afterUpgrade(fixture.otherState.lists))
    })

    it('shows its risks and its audit log', async () => {
      const { risks, audit } = await read(admin)
      for (const risk of fixture.state.risks) expect(risks).toContainEqual(risk)
      const entries = new Set(audit.map((entry) => JSON.stringify(entry)))
      expect(fixture.state.audit.filter((entry) => !entries.has(JSON.stringify(entry)))).toEqual([])
    })

    it('accepts the access tokens of before the upgrade', async () => {
      const headers = { authorization: `Bearer ${fixture.token}` }
      expect(await call(service.gatewayUrl, callers['Ada']!, { headers })).toBe(200)
    })

    it.each(['packed', 'today'] as const)(
      'mints tokens for its credentials, serves calls and bills them, with the clock of %s',
      async (clock) => {
        await service.stop()
        await open(clock)
        const before = await callsOfAll(service, admin)
        for (const caller of [...Object.values(callers), otherCaller]) {
          const { accessToken } = await fetchToken({ ...service, ...caller })
          expect(await call(service.gatewayUrl, caller, { headers: { authorization: `Bearer ${accessToken}` } })).toBe(
            200,
          )
          expect(await call(service.gatewayUrl, caller)).toBe(200)
        }
        expect(await call(service.gatewayUrl, suspended)).toBe(403)
        await service.stop()
        await service.start()
        expect((await callsOfAll(service, admin)) - before).toBe(2 * Object.keys(callers).length)
      },
    )

    it('accepts new subscriptions, and activates the revision that was staged', async () => {
      const platform = createPlatformClient({ ...service, ...admin })
      const { id: consumer } = await platform.post<{ id: string }>('/v1/consumers', {
        name: 'New',
        kind: 'application',
      })
      const { id } = await platform.post<{ id: string }>('/v1/subscriptions', { consumer, api: 'ledger-v1' })
      const { items } = await platform.get<{ items: readonly { apiKey: string }[] }>(
        `/v1/subscriptions/${id}/credentials`,
      )
      const apiKey = items.find((item) => item.apiKey !== null)?.apiKey ?? ''
      expect(await call(service.gatewayUrl, { ...callers['Ada']!, apiKey })).toBe(200)

      const ledger = fixture.state.lists['proxies']!.find(({ api }) => api === 'ledger-v1')!
      const proxy = await platform.post<object>(`/v1/proxies/${String(ledger['id'])}/activate`)
      expect(proxy).toMatchObject({ activeRevision: ledger['stagingRevision'] })
      expect(await call(service.gatewayUrl, { ...callers['Ada']!, apiKey })).toBe(200)
    })
  },
)

/** Returns the number of calls that were ever billed to the tenant. */
async function callsOfAll(service: Service, admin: Client): Promise<number> {
  const platform = createPlatformClient({ ...service, ...admin })
  const { items } = await platform.get<{ items: readonly { calls: number }[] }>(
    '/v1/summaries?from=2020-01-01T00:00:00Z&to=2100-01-01T00:00:00Z&limit=500',
  )
  return items.reduce((sum, { calls }) => sum + calls, 0)
}
