import { beforeEach, describe, expect, it } from 'vitest'
import type { Context } from '../../../../../src/interfaces/cli/configuration/handler.ts'
import { handlerOf, readAll } from '../../../../../src/interfaces/cli/configuration/kinds.ts'
import type { Platform } from '../../../../../src/interfaces/cli/configuration/platform.ts'
import type { Fields, Found } from '../../../../../src/interfaces/cli/configuration/resource.ts'
import { contextOver, platformOver } from '../../../../fixtures/configured-platform.ts'
import { publishApi } from '../../../../fixtures/published-api.ts'
import { openTestPlatform, PAYMENTS, PAYMENTS_SLA, type TestPlatform } from '../../../../fixtures/test-platform.ts'

const API = 'payments-v1'

let service: TestPlatform
let consumer: string
beforeEach(async () => {
  service = await openTestPlatform()
  const published = await publishApi(service, service.token('acme'))
  consumer = published.consumer
})

const platformOf = (...args: readonly [((method: string, path: string) => Promise<void>)?]) =>
  platformOver(service, ...args)
const contextOf = (platform: Platform): Context => contextOver(platform, () => PAYMENTS.toString())

async function findApi(context: Context): Promise<Found> {
  return (await readAll(context)).find(({ kind, name }) => kind === 'api' && name === API)!
}

const changeApi = (context: Context, found: Found, fields: Fields) =>
  handlerOf('api')!.change(context, found, { kind: 'api', name: API, fields }, new Set(Object.keys(fields)))

const fields = { labels: { a: 'b' }, policy: { exposure: 'Public' }, backend: { timeoutMs: 5_000 } }

describe('an API', () => {
  it('takes new labels, a new policy and a new backend at once, and keeps the members that are left out', async () => {
    const context = contextOf(platformOf())
    const before = await findApi(context)
    await changeApi(context, before, fields)
    const after = await findApi(context)
    expect(after.fields).toMatchObject({
      labels: fields.labels,
      policy: { ...(before.fields['policy'] as object), exposure: 'Public' },
      backend: { ...(before.fields['backend'] as object), timeoutMs: 5_000 },
    })
  })

  it('takes targets instead of the URL of its backend, and a URL instead of targets', async () => {
    const context = contextOf(platformOf())
    const change = async (backend: Fields): Promise<unknown> => {
      await changeApi(context, await findApi(context), { backend })
      return (await findApi(context)).fields['backend']
    }
    const targets = [{ url: 'https://a.example' }, { url: 'https://b.example', weight: 2 }]
    expect(await change({ targets, balance: 'leastBusy', health: '/up' })).toMatchObject({ targets, health: '/up' })
    expect(await change({ timeoutMs: 7_000 })).toMatchObject({ targets, balance: 'leastBusy', timeoutMs: 7_000 })
    const { targets: _, balance: __, ...single } = (await change({ url: 'https://c.example' })) as Fields
    expect([_, __, single]).toMatchObject([undefined, undefined, { url: 'https://c.example', health: '/up' }])
  })

  it('is not deployed over a revision that was activated since it was read, or while it is staged', async () => {
    const activateOther = async (): Promise<void> => {
      const { platform } = contextOf(platformOf())
      const specification = PAYMENTS.toString('base64')
      const backend = { url: 'https://other.example' }
      const { body } = await platform.send('POST', '/v1/proxies', { api: API, specification, backend })
      await platform.send('POST', `/v1/proxies/${String(body['id'])}/activate`, {})
    }
    const { backend } = fields
    const context = contextOf(platformOf())
    const stale = await findApi(context)
    await activateOther()
    await expect(changeApi(context, stale, { backend })).rejects.toMatchObject({ isConflict: true })

    const slow = contextOf(platformOf((_, path) => (path === '/v1/proxies' ? activateOther() : Promise.resolve())))
    await expect(changeApi(slow, await findApi(slow), { backend })).rejects.toMatchObject({ isConflict: true })
    expect((await findApi(context)).fields['backend']).toMatchObject({ url: 'https://other.example' })
  })
})

it('An event subscription that a consumer has created is left out, because elsewhere it would be that of the tenant', async () => {
  const own = service.token('acme', ['eventsubscriptions:write:own'], undefined, { consumer })
  for (const [token, url] of [
    [own, 'https://consumer.example/hook'],
    [service.token('acme'), 'https://tenant.example/hook'],
  ] as const) {
    expect((await service.send('POST', '/v1/eventsubscriptions', { token, body: { url } })).status).toBe(201)
  }
  const found = (await readAll(contextOf(platformOf()))).filter(({ kind }) => kind === 'eventsubscription')
  const names = found.map(({ name }) => name)
  expect(names).toContain('https://tenant.example/hook')
  expect(names).not.toContain('https://consumer.example/hook')
})

it('The consumers of a role are names, without those that were removed', async () => {
  const token = service.token('acme')
  const body = { name: 'Gone', kind: 'application' }
  const gone = String((await service.send('POST', '/v1/consumers', { token, body })).body['id'])
  const roles = [{ role: 'consumer', consumers: [consumer, gone] }]
  const user = { username: 'ann', name: 'Ann', roles }
  expect((await service.send('POST', '/v1/users', { token, body: user })).status).toBe(201)
  expect((await service.send('DELETE', `/v1/consumers/${gone}`, { token })).status).toBe(204)
  const all = await readAll(contextOf(platformOf()))
  const nameOf = all.find(({ kind, id }) => kind === 'consumer' && id === consumer)!.name
  const { fields: ann } = all.find(({ kind, name }) => kind === 'user' && name === 'ann')!
  expect(ann['roles']).toEqual([{ role: 'consumer', consumers: [nameOf] }])
})

it('Several subscriptions of a consumer to one API are numbered, and consumers of one name share no numbers', async () => {
  const token = service.token('acme')
  const [twin] = await Promise.all(
    ['Twin', 'Twin'].map(async (name) => {
      const body = { name, kind: 'application' }
      const { body: made } = await service.send('POST', '/v1/consumers', { token, body })
      const subscription = { consumer: made['id'], api: API }
      expect((await service.send('POST', '/v1/subscriptions', { token, body: subscription })).status).toBe(201)
      return String(made['id'])
    }),
  )
  await service.send('POST', '/v1/subscriptions', { token, body: { consumer: twin, api: API } })
  const context = contextOf(platformOf())
  const names = (await readAll(context)).filter(({ kind }) => kind === 'subscription').map(({ name }) => name)
  const twins = names.filter((name) => name.startsWith('Twin')).toSorted()
  expect(twins).toEqual(['Twin to payments-v1', 'Twin to payments-v1', 'Twin to payments-v1 (2)'])
  expect(() => context.names.idOf('consumer', 'Twin')).toThrow('There are several consumers named "Twin".')
})

it('A subscription without `slaVariant` in the folder returns to the default tier, and says if that waits', async () => {
  const token = service.token('acme')
  const gold = PAYMENTS_SLA.toString().replace(/^info:/m, 'info:\n  variant: gold')
  const declaration = { api: API, specification: Buffer.from(gold).toString('base64') }
  expect((await service.send('POST', '/v1/openslaspecs', { token, body: declaration })).status).toBe(201)
  const body = { consumer, api: API, slaVariant: 'gold' }
  const { body: made } = await service.send('POST', '/v1/subscriptions', { token, body })
  const context = contextOf(platformOf())
  const find = async () => (await readAll(context)).find(({ id }) => id === made['id'])!
  const drop = async (found: Found) => {
    const fields = { ...found.fields, slaVariant: null }
    return handlerOf('subscription')!.change(context, found, { ...found, fields }, new Set(['slaVariant']))
  }
  const found = await find()
  expect(found.fields['slaVariant']).toBe('gold')
  const policy = { token, body: { subscriptionApproval: 'Manual' } }
  await service.send('PUT', `/v1/apis/${API}/policy`, policy)
  expect(await drop(found)).toBe('the change of its tier waits for an approval')
  await service.send('PUT', `/v1/apis/${API}/policy`, { token, body: {} })
  expect(await drop(found)).toBe(null)
  expect((await find()).fields['slaVariant']).toBe(null)
  await expect(drop(found)).rejects.toMatchObject({ isConflict: true })
})
