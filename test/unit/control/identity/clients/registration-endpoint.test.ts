import { describe, expect, it } from 'vitest'
import { createKeyedMutex } from '../../../../../src/control/command/keyed-mutex.ts'
import {
  createRegistrationBudget,
  PER_NETWORK_MAX,
} from '../../../../../src/control/identity/clients/registration-budget.ts'
import { createRegistrationEndpoint } from '../../../../../src/control/identity/clients/registration-endpoint.ts'
import { createSelfRegisteredClients } from '../../../../../src/control/identity/clients/self-registered-clients.ts'
import { createLocalAttempts } from '../../../../../src/storage/store/attempts.ts'
import { ACME, NOW_MS, openTestCatalogue } from '../../../../fixtures/test-catalogue.ts'
import { REDIRECT } from '../../../../fixtures/token-endpoints.ts'

const TENANTS = new Map([
  ['orders-v1', 'acme'],
  ['ledger-v1', 'rival'],
])

function open({ isAllowed = true } = {}) {
  const { registry, createId } = openTestCatalogue()
  const clock = { nowMs: () => NOW_MS }
  const counted: string[] = []
  const options = { registry, createId, clock, isAllowed, mutex: createKeyedMutex(), endCodes: async () => {} }
  const clients = createSelfRegisteredClients(options)
  const endpoint = createRegistrationEndpoint({
    ...{
      registry,
      isAllowed,
      clients,
      budget: createRegistrationBudget({ attempts: createLocalAttempts(clock), keyedHash: (text) => text }),
    },
    scopesOf: async (api) => (TENANTS.has(api) ? { tenant: TENANTS.get(api) ?? '' } : null),
    count: (reason) => counted.push(reason),
  })
  const post = (json: unknown, api = 'orders-v1', address = '192.0.2.1') =>
    endpoint({
      ...{ endpoint: 'register', method: 'POST', api, form: [], address, authorization: undefined, cookie: undefined },
      json: typeof json === 'string' || json === null ? json : JSON.stringify(json),
    })
  return { registry, clients, counted, post }
}

const REGISTRATION = { client_name: 'Agent', redirect_uris: [REDIRECT] }

describe('the registration endpoint', () => {
  it('answers with what was registered, not with what was asked for', async () => {
    const { post } = open()
    const asked = { grant_types: ['authorization_code', 'refresh_token'], scope: 'all', client_secret: 'x' }
    const { status, headers, body } = await post({ ...REGISTRATION, ...asked })
    expect([status, headers['Cache-Control']]).toEqual([201, 'no-store'])
    expect(body).toEqual({
      client_id: expect.stringMatching(/^rcl_[0-9a-z]{26}$/),
      client_id_issued_at: NOW_MS / 1_000,
      client_name: 'Agent',
      redirect_uris: [REDIRECT],
      grant_types: ['authorization_code'],
      response_types: ['code'],
      token_endpoint_auth_method: 'none',
    })
  })

  it('registers the client with the tenant of the API', async () => {
    const { clients, post } = open()
    await post(REGISTRATION, 'ledger-v1')
    expect((await clients.list('acme', { limit: 9 })).items).toEqual([])
    const { items } = await clients.list('rival', { limit: 9 })
    expect(items).toMatchObject([{ api: 'ledger-v1' }])
    expect((await clients.clientFor(items[0]?.id ?? ''))?.grant.tenant).toBe('rival')
  })

  it('stores nothing of a registration that is refused', async () => {
    const { clients, post } = open()
    expect(await post({})).toMatchObject({ status: 400, body: { error: 'invalid_redirect_uri' } })
    expect(await post('{')).toMatchObject({ status: 400, body: { error: 'invalid_client_metadata' } })
    expect(await post(null)).toMatchObject({ status: 400, body: { error: 'invalid_client_metadata' } })
    expect((await clients.list('acme', { limit: 9 })).items).toEqual([])
  })

  it('does not exist if it is off, for an unknown API, and in a disabled tenant', async () => {
    expect(await open({ isAllowed: false }).post(REGISTRATION)).toMatchObject({ status: 404 })
    const { registry, post } = open()
    expect(await post(REGISTRATION, 'none-v1')).toMatchObject({ status: 404 })
    const tenant = { kind: 'tenant', id: 'acme', tenant: 'acme', expected: 0 }
    await registry.commit(ACME, 'tenant.disable', [{ ...tenant, body: { name: 'Acme', isDisabled: true } }])
    expect(await post(REGISTRATION)).toMatchObject({ status: 404 })
  })

  it('refuses a stranger who registers too many clients, and nobody else', async () => {
    const { counted, post } = open()
    for (let count = 0; count < PER_NETWORK_MAX; count++) expect((await post(REGISTRATION)).status).toBe(201)
    const refused = await post(REGISTRATION)
    expect(refused).toMatchObject({ status: 429, body: { error: 'temporarily_unavailable' } })
    expect(Number(refused.headers['Retry-After'])).toBeGreaterThan(0)
    expect(counted).toEqual(['client_registration_refused'])
    expect((await post(REGISTRATION, 'orders-v1', '192.0.2.2')).status).toBe(201)
  })
})
