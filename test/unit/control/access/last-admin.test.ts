import { randomBytes } from 'node:crypto'
import { beforeEach, describe, expect, it } from 'vitest'
import { createFirstAdmin } from '../../../../src/control/access/first-admin.ts'
import { keepAdmin } from '../../../../src/control/access/last-admin.ts'
import { commit } from '../../../../src/control/command/commands.ts'
import { SUBSCRIPTION_KIND } from '../../../../src/control/subscriptions/document/subscription-document.ts'
import { createOtherAdmin } from '../../../fixtures/other-admin.ts'
import { ACME, NOW_MS, openTestCatalogue, type TestCatalogue } from '../../../fixtures/test-catalogue.ts'

const SCOPES = ['apis:read', 'consumers:write', 'platform:admin']
const REFUSED = { code: 'state_conflict', message: expect.stringContaining('the last client with all platform scopes') }

let catalogue: TestCatalogue
let subscription: string
let consumer: string

beforeEach(async () => {
  catalogue = openTestCatalogue()
  const never = (): (() => void) => () => {}
  const first = await createFirstAdmin({
    ...catalogue,
    ...{ randomBytes, clock: { nowMs: () => NOW_MS, after: never, every: never } },
    ...{ tenant: 'acme', scopes: SCOPES, chosen: null, gatewayUrl: 'https://gateway.example' },
  })
  consumer = first.consumer
  const { items } = await catalogue.subscriptions.list('acme', { limit: 9 })
  subscription = items.find((each) => each.consumer === consumer)!.id
})

const LATER = new Date(NOW_MS + 86_400_000).toISOString()
const credentialOf = async (id: string) => (await catalogue.credentials.of('acme', id))[0]!.id

const COMMANDS: readonly (readonly [string, () => Promise<unknown>])[] = [
  ['its subscription is cancelled', () => catalogue.subscriptions.cancel(ACME, subscription)],
  ['its subscription is suspended', () => catalogue.subscriptions.suspend(ACME, subscription)],
  ['its subscription is to end', () => catalogue.subscriptions.update(ACME, subscription, { expiresAt: LATER })],
  ['a scope is taken away', () => catalogue.subscriptions.setScopes(ACME, subscription, SCOPES.slice(1))],
  ['its consumer is disabled', () => catalogue.consumers.disable(ACME, consumer)],
  [
    'its credential is revoked',
    async () => catalogue.credentials.revoke(ACME, subscription, await credentialOf(subscription)),
  ],
]

describe('the last client with all platform scopes', () => {
  it.each(COMMANDS)('is kept: %s', async (_, command) => {
    await expect(command()).rejects.toMatchObject(REFUSED)
  })

  it.each(COMMANDS)('may go if there is another one: %s', async (_, command) => {
    await createOtherAdmin(catalogue, 'acme', SCOPES)
    await command()
  })

  it('is not replaced by one that has fewer scopes, is disabled, ends, or has no credential', async () => {
    await createOtherAdmin(catalogue, 'acme', SCOPES.slice(1))
    const disabled = await createOtherAdmin(catalogue, 'acme', SCOPES)
    await catalogue.consumers.disable(ACME, disabled.consumer)
    const ending = await createOtherAdmin(catalogue, 'acme', SCOPES)
    await catalogue.subscriptions.update(ACME, ending.subscription, { expiresAt: LATER })
    const revoked = await createOtherAdmin(catalogue, 'acme', SCOPES)
    await catalogue.credentials.revoke(ACME, revoked.subscription, await credentialOf(revoked.subscription))
    await expect(catalogue.subscriptions.cancel(ACME, subscription)).rejects.toMatchObject(REFUSED)
  })

  it('may change its labels, rotate its credential, and get more', async () => {
    await catalogue.subscriptions.update(ACME, subscription, { labels: { a: 'b' } })
    await catalogue.credentials.rotate(ACME, subscription, { overlapSeconds: 0 })
    await catalogue.subscriptions.setScopes(ACME, subscription, SCOPES)
  })

  it('does not go while another command takes the other one', async () => {
    const other = await createOtherAdmin(catalogue, 'acme', SCOPES)
    const { registry } = catalogue
    const first = (await registry.get(SUBSCRIPTION_KIND, subscription))!
    const kept = await keepAdmin({ registry, clock: { nowMs: () => NOW_MS } }, 'acme', [first])
    await catalogue.subscriptions.cancel(ACME, other.subscription)
    await expect(commit(registry, ACME, 'test', kept)).rejects.toMatchObject({ code: 'state_conflict' })
  })
})
