import { describe, expect, it } from 'vitest'
import { createCredentialExpiry, CREDENTIAL_DUE } from '../../../../src/control/access/credential-expiry.ts'
import { DUE_KIND } from '../../../../src/control/command/due-times.ts'
import { ACME, publishApi, openTestCatalogue, type TestCatalogue } from '../../../fixtures/test-catalogue.ts'
import { OUTBOX_EVENT_KIND } from '../../../../src/control/command/event-outbox.ts'

const DAY_MS = 86_400_000

/** Runs the due work until `untilMs` as the scheduler does. Returns the days before the expiry of each warning. */
async function live(catalogue: TestCatalogue, untilMs: number): Promise<void> {
  const { registry, createId } = catalogue
  const warn = createCredentialExpiry({ registry, createId, clock: { nowMs: () => catalogue.clock.nowMs } })
  for (;;) {
    const [due] = await registry.list(DUE_KIND, { limit: 1 })
    if (due === undefined || due.body.atMs > untilMs) break
    catalogue.clock.nowMs = Math.max(catalogue.clock.nowMs, due.body.atMs)
    expect(due.body.kind).toBe(CREDENTIAL_DUE)
    await warn(due.body)
    const left = await registry.get(DUE_KIND, due.id)
    if (left === null) continue
    await registry.commit(ACME, 'test.done', [
      { kind: 'due', id: due.id, tenant: 'acme', expected: left.revision, body: null },
    ])
  }
  catalogue.clock.nowMs = untilMs
}

const eventsOf = async ({ registry }: TestCatalogue) =>
  (await registry.list(OUTBOX_EVENT_KIND, { limit: 99 })).map(({ body, createdAtMs }) => ({ ...body, createdAtMs }))

async function subscribe(catalogue: TestCatalogue) {
  const { consumer } = await publishApi(catalogue)
  const { id } = await catalogue.subscriptions.create(ACME, { consumer, api: 'orders-v1', securityTypes: ['OAuth2'] })
  const { items } = await catalogue.credentials.read(ACME, id)
  return { id, credential: items[0]?.id ?? '', endsMs: Date.parse(items[0]?.expiresAt ?? '') }
}

describe('the expiry warning of a credential', () => {
  it('is emitted 30, 7 and 1 days before the expiry, and then no more', async () => {
    const catalogue = openTestCatalogue()
    const { credential, endsMs } = await subscribe(catalogue)
    await live(catalogue, endsMs + DAY_MS)
    const events = await eventsOf(catalogue)
    expect(events.map(({ createdAtMs }) => (endsMs - createdAtMs) / DAY_MS)).toEqual([30, 7, 1])
    for (const { type, data } of events) {
      expect(type).toBe('CredentialExpiringSoon')
      expect(data).toMatchObject({ credential, expiresAt: new Date(endsMs).toISOString() })
      expect(JSON.stringify(data)).not.toMatch(/secret/i)
    }
    expect(await catalogue.registry.list(DUE_KIND, { limit: 9 })).toEqual([])
  })

  it.each([
    [30, [30, 7, 1]],
    [20, [20, 7, 1]],
    [7, [7, 1]],
    [5, [5, 1]],
    [1, [1]],
  ])('is emitted at once for a credential issued for %i days, and at the remaining windows', async (days, expected) => {
    const catalogue = openTestCatalogue()
    const { consumer } = await publishApi(catalogue)
    const policies = catalogue.apiPolicies
    await policies.put(ACME, 'orders-v1', { credentialLifetimeDays: days })
    const { id } = await catalogue.subscriptions.create(ACME, { consumer, api: 'orders-v1', securityTypes: ['OAuth2'] })
    const { items } = await catalogue.credentials.read(ACME, id)
    await live(catalogue, Date.parse(items[0]?.expiresAt ?? '') + DAY_MS)
    const daysBefore = (await eventsOf(catalogue)).map(
      ({ createdAtMs, data }) => (Date.parse(String(data['expiresAt'])) - createdAtMs) / DAY_MS,
    )
    expect(daysBefore).toEqual(expected)
  })

  it('is emitted once for a credential issued by a rotation', async () => {
    const catalogue = openTestCatalogue()
    const { id } = await subscribe(catalogue)
    const policies = catalogue.apiPolicies
    await policies.put(ACME, 'orders-v1', { credentialLifetimeDays: 3 })
    const made = await catalogue.credentials.rotate(ACME, id, { overlapSeconds: 0 })
    await live(catalogue, catalogue.clock.nowMs)
    expect((await eventsOf(catalogue)).map(({ data }) => data.credential)).toEqual([made.id])
  })

  it('is emitted once for warnings that fell due while the process was down', async () => {
    const catalogue = openTestCatalogue()
    const { endsMs } = await subscribe(catalogue)
    catalogue.clock.nowMs = endsMs - 2 * DAY_MS
    await live(catalogue, endsMs)
    const daysBefore = (await eventsOf(catalogue)).map(({ createdAtMs }) => (endsMs - createdAtMs) / DAY_MS)
    expect(daysBefore).toEqual([2, 1])
  })

  it.each(['revoked', 'replaced'])('is not emitted for a credential that was %s', async (how) => {
    const catalogue = openTestCatalogue()
    const { id, credential, endsMs } = await subscribe(catalogue)
    if (how === 'revoked') await catalogue.credentials.revoke(ACME, id, credential)
    else await catalogue.credentials.rotate(ACME, id, { overlapSeconds: 0 })
    await live(catalogue, endsMs - 31 * DAY_MS)
    catalogue.clock.nowMs = endsMs - 20 * DAY_MS
    await live(catalogue, endsMs - 20 * DAY_MS)
    const warned = (await eventsOf(catalogue)).filter(({ type }) => type === 'CredentialExpiringSoon')
    expect(warned.filter(({ data }) => data.credential === credential)).toEqual([])
  })
})

it('a credential that is revoked several times emits one event', async () => {
  const catalogue = openTestCatalogue()
  const { id, credential } = await subscribe(catalogue)
  await catalogue.credentials.revoke(ACME, id, credential)
  await catalogue.credentials.revoke(ACME, id, credential)
  const events = await eventsOf(catalogue)
  expect(events).toMatchObject([{ type: 'CredentialRevoked', data: { credential, subscription: id, type: 'OAuth2' } }])
  expect(catalogue.gateway.grants.filter((grant) => grant.credential === credential)).toHaveLength(2)
})
