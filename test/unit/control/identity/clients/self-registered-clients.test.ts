import { randomBytes } from 'node:crypto'
import { describe, expect, it } from 'vitest'
import { removeTenant } from '../../../../../src/control/access/tenant-removal.ts'
import { DUE_KIND } from '../../../../../src/control/command/due-times.ts'
import { createScheduler } from '../../../../../src/control/command/scheduler.ts'
import { createKeyedMutex } from '../../../../../src/control/command/keyed-mutex.ts'
import { createAuthorizationCodes } from '../../../../../src/control/identity/authorization-codes.ts'
import { createEndCodes } from '../../../../../src/control/identity/client-codes.ts'
import {
  REGISTERED_CLIENT_DUE,
  REGISTERED_CLIENT_KIND,
  type RegisteredClientBody,
} from '../../../../../src/control/identity/clients/registered-client-document.ts'
import {
  CLIENTS_MAX,
  createSelfRegisteredClients,
} from '../../../../../src/control/identity/clients/self-registered-clients.ts'
import { createLog } from '../../../../../src/foundation/runtime/log.ts'
import { createFakeClock } from '../../../../fixtures/fake-clock.ts'
import { ACME, NOW_MS, openTestCatalogue, RIVAL } from '../../../../fixtures/test-catalogue.ts'
import { REDIRECT } from '../../../../fixtures/token-endpoints.ts'

const DAY_MS = 86_400_000
const AGENT = { name: 'Agent', redirectUris: [REDIRECT] }

async function open({ isAllowed = true } = {}) {
  const { registry, createId, vault } = openTestCatalogue()
  const clock = createFakeClock(NOW_MS)
  const revoked: { jti: string; credential: string }[] = []
  const revoke = async (token: { jti: string; credential: string }): Promise<void> => void revoked.push(token)
  const endCodes = createEndCodes({ registry, revoke, clock })
  const options = { registry, createId, clock, endCodes, mutex: createKeyedMutex() }
  const clients = createSelfRegisteredClients({ ...options, isAllowed })
  const register = async (tenant = 'acme'): Promise<string> =>
    (await clients.create(tenant, 'orders-v1', AGENT))?.id ?? ''
  const isKnown = async (id: string): Promise<boolean> => (await clients.clientFor(id)) !== null
  const list = async (tenant = 'acme') => (await clients.list(tenant, { limit: 9 })).items
  const codes = createAuthorizationCodes({ registry, createId, clock, randomBytes, keyedHash: vault.keyedHash })
  const person = { id: 'usr_1', username: 'grace', name: 'Grace', epoch: 0 }
  const wanted = { scope: null, wantsIdToken: false, wantsProfile: false, nonce: null, loggedInAtMs: NOW_MS }
  const allow = (clientId: string): Promise<string> =>
    codes.create({
      ...{ tenant: 'acme', clientId, credential: person.id, api: 'orders-v1' },
      ...{ redirectUri: REDIRECT, challenge: '', person, ...wanted },
    })
  const redeem = async (text: string, jti: string): Promise<void> => {
    const code = await codes.find(text)
    if (code !== null) await codes.use(code, { jti, expiresAtMs: clock.nowMs() + 3_600_000 })
  }
  return { registry, clock, clients, revoked, register, isKnown, list, codes, allow, redeem, options }
}

/** Starts the scheduler as the service does. */
async function schedule({ registry, clock, clients }: Awaited<ReturnType<typeof open>>) {
  const handlers = { [REGISTERED_CLIENT_DUE]: clients.expire }
  const scheduler = createScheduler({ registry, clock, handlers, log: createLog('silent'), count: () => {} })
  await scheduler.start()
  return scheduler
}

describe('a client that registered itself', () => {
  it('is a public client of its tenant without a subscription, scopes or refresh tokens', async () => {
    const { clients, register } = await open()
    const client = await clients.clientFor(await register())
    expect(client).toMatchObject({
      ...{ secretHash: '', redirectUris: [REDIRECT], mayRefresh: false, isSelfRegistered: true },
      grant: { type: 'Shared', tenant: 'acme', api: 'orders-v1', subscription: '', credential: '', scopes: [] },
    })
    expect(client).not.toHaveProperty('asksOrganisation')
    expect(client).not.toHaveProperty('isLocal')
    expect(client?.grant.consumerName).toBe('Agent (registered itself)')
  })

  it('is unknown while registration is off, in a disabled tenant, and with an id that is none', async () => {
    const { registry, clients, register, isKnown, options } = await open()
    const id = await register()
    const off = createSelfRegisteredClients({ ...options, isAllowed: false })
    expect(await off.clientFor(id)).toBeNull()
    for (const other of ['', 'rcl_1', `${id}x`, id.toUpperCase(), '__proto__']) expect(await isKnown(other)).toBe(false)
    const tenant = { kind: 'tenant', id: 'acme', tenant: 'acme', expected: 0 }
    await registry.commit(ACME, 'tenant.disable', [{ ...tenant, body: { name: 'Acme', isDisabled: true } }])
    expect(await clients.clientFor(id)).toBeNull()
  })

  it('is listed and removed by its own tenant alone, and both are audited', async () => {
    const { registry, clients, register, list, isKnown } = await open()
    const id = await register()
    expect(await list()).toEqual([
      {
        ...{ id, name: 'Agent', api: 'orders-v1', redirectUris: [REDIRECT], lastUsedAt: null },
        registeredAt: new Date(NOW_MS).toISOString(),
        expiresAt: new Date(NOW_MS + 30 * DAY_MS).toISOString(),
      },
    ])
    expect(await list('rival')).toEqual([])
    await expect(clients.remove(RIVAL, id)).rejects.toMatchObject({ code: 'not_found' })
    expect(await isKnown(id)).toBe(true)
    await clients.remove(ACME, id)
    expect([await isKnown(id), await list()]).toEqual([false, []])
    await expect(clients.remove(ACME, id)).rejects.toMatchObject({ code: 'not_found' })
    const entries = await registry.history({ tenant: 'acme', kind: REGISTERED_CLIENT_KIND, bodiesOf: [], limit: 9 })
    expect(entries.map(({ action, author }) => [action, author.consumer])).toEqual([
      ['registered_client.remove', 'con_acme'],
      ['registered_client.create', 'system'],
    ])
    expect(await registry.list(DUE_KIND, { limit: 9 })).toEqual([])
  })
})

it('The clients of a tenant are removed with it, and those of other tenants stay', async () => {
  const { registry, register, isKnown } = await open()
  const [id, other] = [await register(), await register('rival')]
  const body = { name: 'Acme', isDisabled: true, exportedAtMs: NOW_MS }
  const tenant = { kind: 'tenant', id: 'acme', tenant: 'acme', expected: 0, body }
  await registry.commit(ACME, 'test.tenant', [tenant])
  const gateway = { withdraw: async () => {}, applyGrants: async () => {} }
  await removeTenant({ registry, gateway, lastUses: { remove: async () => {} } }, ACME, 'acme')
  expect(await registry.list(REGISTERED_CLIENT_KIND, { tenant: 'acme', limit: 9 })).toEqual([])
  expect([await isKnown(id), await isKnown(other)]).toEqual([false, true])
})

describe('the removal of a client', () => {
  it('ends the tokens and the codes of its sign-ins, and of no other client', async () => {
    const { clients, register, allow, redeem, codes, revoked } = await open()
    const [id, other] = [await register(), await register()]
    await redeem(await allow(id), 'tok_1')
    await redeem(await allow(other), 'tok_2')
    const unused = await allow(id)
    await clients.remove(ACME, id)
    expect(revoked).toMatchObject([{ jti: 'tok_1', credential: 'usr_1' }, { jti: 'tok_1' }])
    expect(await codes.find(unused)).toBeNull()
  })

  it('ends the token of a code that is created and used meanwhile', async () => {
    const { registry, clients, register, allow, redeem, revoked } = await open()
    const id = await register()
    const { commit } = registry
    let text = ''
    registry.commit = async (author, action, writes) => {
      if (action === 'registered_client.remove') text = await allow(id)
      if (action === 'authorization_code.forget') await redeem(text, 'tok_1')
      return commit(author, action, writes)
    }
    await clients.remove(ACME, id)
    expect(revoked).toMatchObject([{ jti: 'tok_1' }])
  })
})

describe('a client that nobody uses', () => {
  it('expires after 30 days, and is removed then', async () => {
    const opened = await open()
    const { clock, registry, register, isKnown } = opened
    const id = await register()
    const scheduler = await schedule(opened)
    await clock.advance(30 * DAY_MS - 1)
    expect(await isKnown(id)).toBe(true)
    await clock.advance(1)
    expect(await isKnown(id)).toBe(false)
    await expect.poll(async () => registry.get(REGISTERED_CLIENT_KIND, id)).toBeNull()
    await expect.poll(async () => registry.list(DUE_KIND, { limit: 9 })).toEqual([])
    scheduler.stop()
  })

  it('stays for 30 days after a person has allowed it access', async () => {
    const opened = await open()
    const { clock, registry, clients, register, isKnown, list } = opened
    const id = await register()
    const scheduler = await schedule(opened)
    await clock.advance(20 * DAY_MS)
    await clients.touch(id)
    await clients.touch(id)
    expect((await registry.get(REGISTERED_CLIENT_KIND, id))?.revision).toBe(2)
    expect(await list()).toMatchObject([{ lastUsedAt: new Date(NOW_MS + 20 * DAY_MS).toISOString() }])
    await clock.advance(29 * DAY_MS)
    expect(await isKnown(id)).toBe(true)
    await clock.advance(DAY_MS)
    expect(await isKnown(id)).toBe(false)
    await expect.poll(async () => registry.get(REGISTERED_CLIENT_KIND, id)).toBeNull()
    scheduler.stop()
  })

  it('is not used by an id that is unknown', async () => {
    const { clients } = await open()
    for (const id of ['cli_1', '', 'https://app.example/client.json']) await clients.touch(id)
    expect(await clients.list('acme', { limit: 9 })).toMatchObject({ items: [] })
  })
})

describe('a tenant with as many clients as it may have', () => {
  async function fill(opened: Awaited<ReturnType<typeof open>>, lastUsedAtMs?: number): Promise<void> {
    const { registry, options } = opened
    const body: RegisteredClientBody = {
      ...{ ...AGENT, api: 'orders-v1', registeredAtMs: NOW_MS, dueAtMs: NOW_MS + 30 * DAY_MS },
      ...(lastUsedAtMs !== undefined && { lastUsedAtMs }),
    }
    const keys = { use: lastUsedAtMs === undefined ? 'none' : 'some' }
    const shared = { kind: REGISTERED_CLIENT_KIND, tenant: 'acme', expected: 0, body, keys }
    const writes = Array.from({ length: CLIENTS_MAX - 1 }, () => ({ ...shared, id: options.createId('rcl') }))
    await registry.commit(ACME, 'test.fill', writes)
  }
  const numberOf = async ({ registry }: Awaited<ReturnType<typeof open>>): Promise<number> =>
    (await registry.list(REGISTERED_CLIENT_KIND, { tenant: 'acme', limit: 2 * CLIENTS_MAX })).length

  it('takes no more within a day; then the oldest that nobody used gives way', async () => {
    const opened = await open()
    const { clock, register, isKnown } = opened
    const first = await register()
    await fill(opened)
    expect(await register()).toBe('')
    expect(await register('rival')).not.toBe('')
    await clock.advance(DAY_MS)
    const next = await register()
    expect([await isKnown(first), await isKnown(next), await numberOf(opened)]).toEqual([false, true, CLIENTS_MAX])
  })

  it('never replaces one that a person uses', async () => {
    const opened = await open()
    const { clock, clients, register, isKnown } = opened
    const first = await register()
    await clients.touch(first)
    await fill(opened, NOW_MS)
    await clock.advance(2 * DAY_MS)
    expect([await register(), await isKnown(first)]).toEqual(['', true])
  })

  it('does not exceed the number by concurrent registrations', async () => {
    const opened = await open()
    await fill(opened)
    const made = await Promise.all(Array.from({ length: 5 }, () => opened.register()))
    expect(made.filter((id) => id !== '')).toHaveLength(1)
    expect(await numberOf(opened)).toBe(CLIENTS_MAX)
  })
})
