import { describe, expect, it } from 'vitest'
import { apiWrite } from '../../../../src/control/publishing/apis.ts'
import {
  ACME,
  base64,
  publishApi,
  openTestCatalogue,
  orders,
  RIVAL,
  type TestCatalogue,
} from '../../../fixtures/test-catalogue.ts'
import { DUE_KIND } from '../../../../src/control/command/due-times.ts'
import { OUTBOX_EVENT_KIND } from '../../../../src/control/command/event-outbox.ts'

const API = 'orders-v1'
const DAY_MS = 86_400_000
const dateIn = (catalogue: TestCatalogue, days: number) => new Date(catalogue.clock.nowMs + days * DAY_MS).toISOString()

async function deprecated(catalogue: TestCatalogue) {
  const { consumer, proxy } = await publishApi(catalogue)
  const subscription = await catalogue.subscriptions.create(ACME, { consumer, api: API })
  await catalogue.retirement.deprecate(ACME, API, { retirementDate: dateIn(catalogue, 30) })
  return { consumer, proxy, subscription: subscription.id }
}

const eventsOf = async ({ registry }: TestCatalogue) =>
  (await registry.list(OUTBOX_EVENT_KIND, { limit: 99 })).map(({ body }) => body)
const dueOf = async ({ registry }: TestCatalogue) =>
  (await registry.list(DUE_KIND, { limit: 99 })).map(({ body }) => body).filter(({ kind }) => kind === 'retirement')

describe('a deprecated API', () => {
  it('still serves, is deprecated on every thread, and publishes an event', async () => {
    const catalogue = openTestCatalogue()
    await publishApi(catalogue)
    const retirementDate = dateIn(catalogue, 30)
    const input = { retirementDate, note: 'Use the next one.' }
    const shown = await catalogue.retirement.deprecate(ACME, API, input)

    expect(shown).toMatchObject({ id: API, state: 'Deprecated', retirementDate, successor: null })
    expect(shown).not.toHaveProperty('actor')
    expect(catalogue.gateway.calls).toEqual([`prepare ${API} 1`, `swap ${API} 1`])
    const deprecation = { sinceMs: catalogue.clock.nowMs, retirementMs: Date.parse(retirementDate), successor: null }
    expect(catalogue.gateway.prepared.at(-1)?.plan).toMatchObject({ state: 'Deprecated', deprecation })
    expect(await eventsOf(catalogue)).toEqual([
      { type: 'VersionDeprecated', data: { api: API, retirementDate, successor: null, note: 'Use the next one.' } },
    ])
    expect(await dueOf(catalogue)).toMatchObject([
      { kind: 'retirement', subject: API, atMs: Date.parse(retirementDate) },
    ])
  })

  it('accepts a new subscription, also through a product, by force only', async () => {
    const catalogue = openTestCatalogue()
    const { consumer } = await deprecated(catalogue)
    const { id: product } = await catalogue.products.create(ACME, { name: 'Trade', apis: [API] })
    for (const to of [{ api: API }, { product }]) {
      await expect(catalogue.subscriptions.create(ACME, { consumer, ...to })).rejects.toMatchObject({
        status: 409,
        code: 'state_conflict',
        extensions: { state: 'Deprecated', allowed: ['force'] },
      })
      expect(await catalogue.subscriptions.create(ACME, { consumer, ...to, force: true })).toMatchObject({
        state: 'Active',
      })
    }
  })

  it('lets existing subscriptions change their scopes', async () => {
    const catalogue = openTestCatalogue()
    const { subscription } = await deprecated(catalogue)
    await catalogue.subscriptions.setScopes(ACME, subscription, [])
    const { scopes } = await catalogue.subscriptions.setScopes(ACME, subscription, ['orders:read'])
    expect(scopes).toEqual(['orders:read'])
  })

  it('stays deprecated after activations and a restart', async () => {
    const catalogue = openTestCatalogue()
    const { proxy } = await deprecated(catalogue)
    await catalogue.proxies.stage(ACME, { api: API, specification: base64(orders()) })
    await catalogue.proxies.activate(ACME, proxy)
    expect(catalogue.gateway.prepared.at(-1)?.plan).toMatchObject({ state: 'Deprecated', revision: 2 })
    const [plan] = await Array.fromAsync(catalogue.restart().proxies.activePlans())
    expect(plan?.plan).toMatchObject({ state: 'Deprecated', deprecation: { successor: null } })
  })

  it.each([
    ['a date in the past', { retirementDate: '2020-01-01T00:00:00Z' }, '/retirementDate'],
    ['an invalid date', { retirementDate: 'soon' }, '/retirementDate'],
    ['itself as successor', { retirementDate: '2030-01-01T00:00:00Z', successor: API }, '/successor'],
    ['an unknown successor', { retirementDate: '2030-01-01T00:00:00Z', successor: 'x-v2' }, '/successor'],
  ])('is refused with %s', async (_, input, pointer) => {
    const catalogue = openTestCatalogue()
    await publishApi(catalogue)
    await expect(catalogue.retirement.deprecate(ACME, API, input)).rejects.toMatchObject({ errors: [{ pointer }] })
    expect([await eventsOf(catalogue), await dueOf(catalogue), catalogue.gateway.calls]).toEqual([[], [], []])
  })

  it('can be deprecated once, and by its tenant only', async () => {
    const catalogue = openTestCatalogue()
    await deprecated(catalogue)
    const again = { retirementDate: dateIn(catalogue, 60) }
    await expect(catalogue.retirement.deprecate(ACME, API, again)).rejects.toMatchObject({ code: 'state_conflict' })
    await expect(catalogue.retirement.deprecate(RIVAL, API, again)).rejects.toMatchObject({ status: 404 })
  })

  it('is never the platform API', async () => {
    const catalogue = openTestCatalogue()
    const entry = { title: 'Platform', major: 1, version: '1.0.0', state: 'Active', owner: 'system' } as const
    const rest = { complianceScore: null, programme: null, retirementDate: null, successor: null, ownScopes: [] }
    await catalogue.registry.commit(ACME, 'test', [apiWrite('platform-v1', 'acme', 0, { ...entry, ...rest })])
    const refused = catalogue.retirement.deprecate(ACME, 'platform-v1', { retirementDate: dateIn(catalogue, 30) })
    await expect(refused).rejects.toMatchObject({ code: 'state_conflict' })
  })

  it('stays active on disk and on every thread if the commit fails', async () => {
    const catalogue = openTestCatalogue()
    await publishApi(catalogue)
    const { commit } = catalogue.registry
    catalogue.registry.commit = () => Promise.reject(new Error('disk full'))
    const refused = catalogue.retirement.deprecate(ACME, API, { retirementDate: dateIn(catalogue, 30) })
    await expect(refused).rejects.toThrow('disk full')
    catalogue.registry.commit = commit
    expect(catalogue.gateway.calls).toEqual([`prepare ${API} 1`, `abort ${API} 1`])
    expect((await catalogue.apis.get('acme', API)).state).toBe('Active')
    expect([await eventsOf(catalogue), await dueOf(catalogue)]).toEqual([[], []])
  })
})

describe('retiring', () => {
  it('is refused while subscriptions are active, and lists them', async () => {
    const catalogue = openTestCatalogue()
    const { subscription } = await deprecated(catalogue)
    await expect(catalogue.retirement.retire(ACME, API, false)).rejects.toMatchObject({
      status: 409,
      code: 'subscriptions_active',
      extensions: { subscriptions: [subscription] },
    })
    expect((await catalogue.apis.get('acme', API)).state).toBe('Deprecated')
  })

  it('counts subscriptions through a product', async () => {
    const catalogue = openTestCatalogue()
    const { consumer, subscription } = await deprecated(catalogue)
    await catalogue.subscriptions.cancel(ACME, subscription)
    const { id: product } = await catalogue.products.create(ACME, { name: 'Trade', apis: [API] })
    const { id } = await catalogue.subscriptions.create(ACME, { consumer, product, force: true })
    await expect(catalogue.retirement.retire(ACME, API, false)).rejects.toMatchObject({
      extensions: { subscriptions: [id] },
    })
  })

  it.each(['unused', 'forced'])(
    'takes effect on every thread before the command returns, and publishes an event: %s',
    async (how) => {
      const catalogue = openTestCatalogue()
      const { subscription } = await deprecated(catalogue)
      if (how === 'unused') await catalogue.subscriptions.cancel(ACME, subscription)
      catalogue.gateway.calls.length = 0
      expect(await catalogue.retirement.retire(ACME, API, how === 'forced')).toMatchObject({ state: 'Retired' })

      expect(catalogue.gateway.calls).toEqual([`prepare ${API} 1`, `swap ${API} 1`])
      expect(catalogue.gateway.prepared.at(-1)?.plan.state).toBe('Retired')
      expect((await eventsOf(catalogue)).map(({ type }) => type)).toEqual(['VersionDeprecated', 'VersionSunset'])
      expect(await dueOf(catalogue)).toEqual([])
    },
  )

  it('requires a deprecation, and is final', async () => {
    const catalogue = openTestCatalogue()
    const { proxy, consumer } = await publishApi(catalogue)
    await expect(catalogue.retirement.retire(ACME, API, true)).rejects.toMatchObject({
      code: 'state_conflict',
      extensions: { state: 'Active', allowed: ['deprecate'] },
    })
    await catalogue.retirement.deprecate(ACME, API, { retirementDate: dateIn(catalogue, 1) })
    await catalogue.retirement.retire(ACME, API, false)
    const conflict = { code: 'state_conflict' }
    await expect(catalogue.retirement.retire(ACME, API, true)).rejects.toMatchObject(conflict)
    const stage = catalogue.proxies.stage(ACME, { api: API, specification: base64(orders()) })
    await expect(stage).rejects.toMatchObject(conflict)
    await expect(catalogue.subscriptions.create(ACME, { consumer, api: API })).rejects.toMatchObject(conflict)
    expect((await catalogue.proxies.get('acme', proxy)).activeRevision).toBe(1)
  })
})

describe('a retirement date', () => {
  it('retires an API without active subscriptions, once', async () => {
    const catalogue = openTestCatalogue()
    const { subscription } = await deprecated(catalogue)
    await catalogue.subscriptions.cancel(ACME, subscription)
    expect(await catalogue.retirement.retirementDue('acme', API)).toBe(true)
    expect((await catalogue.apis.get('acme', API)).state).toBe('Retired')
    expect(await catalogue.retirement.retirementDue('acme', API)).toBe(true)
    expect((await eventsOf(catalogue)).filter(({ type }) => type === 'VersionSunset')).toHaveLength(1)
  })

  it('does not retire an API with active subscriptions', async () => {
    const catalogue = openTestCatalogue()
    await deprecated(catalogue)
    expect(await catalogue.retirement.retirementDue('acme', API)).toBe(false)
    expect((await catalogue.apis.get('acme', API)).state).toBe('Deprecated')
  })
})
