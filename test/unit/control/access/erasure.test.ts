import { describe, expect, it } from 'vitest'
import { createErasureTasks } from '../../../../src/control/access/erasure.ts'
import { tenantWrite } from '../../../../src/control/access/platform-access.ts'
import { removeTenant } from '../../../../src/control/access/tenant-removal.ts'
import { SUBSCRIPTION_KIND } from '../../../../src/control/subscriptions/document/subscription-document.ts'
import { DUE_KIND, type DueTime } from '../../../../src/control/command/due-times.ts'
import { ACME, openTestCatalogue, publishApi, RIVAL, type TestCatalogue } from '../../../fixtures/test-catalogue.ts'
import { openTestPeople, PASSWORD } from '../../../fixtures/test-people.ts'

const GRACE = { username: 'grace', password: PASSWORD, name: 'Grace Hopper' }
const HOUR_MS = 3_600_000

/** Runs the tasks that are due, as the scheduler does. `left`: number of names that the stores still hold. */
async function runDue({ registry, clock }: TestCatalogue, left: number[] = [], untilMs = clock.nowMs) {
  const replaced: string[] = []
  const names = [
    {
      replaceConsumerName: async (...call: readonly string[]) => {
        replaced.push(call.join(' '))
        return left.shift() ?? 0
      },
    },
  ]
  const tasks = createErasureTasks({ registry, clock: { nowMs: () => clock.nowMs }, names })
  for (;;) {
    const [due] = await registry.list(DUE_KIND, { limit: 1 })
    if (due === undefined || due.body.atMs > untilMs) return replaced
    clock.nowMs = Math.max(clock.nowMs, due.body.atMs)
    await (tasks as Readonly<Record<string, (due: DueTime) => Promise<void>>>)[due.body.kind]?.(due.body)
    const { id, tenant, revision } = due
    await registry.commit(ACME, 'test.done', [{ kind: DUE_KIND, id, tenant, expected: revision, body: null }])
  }
}

/** The change feed and the audit log of the tenant, with all bodies. */
async function everythingOf({ registry }: TestCatalogue, bodiesOf: readonly string[]): Promise<string> {
  const changes: unknown[] = []
  registry.watch(0, ({ document }) => void (bodiesOf.includes(document.kind) && changes.push(document)))()
  return JSON.stringify([changes, await registry.history({ tenant: 'acme', bodiesOf, limit: 9_999 })])
}

describe('the erasure of a person', () => {
  it('leaves no name in the audit log, which keeps what happened', async () => {
    const catalogue = openTestCatalogue()
    const { users } = await openTestPeople(catalogue)
    const { id } = await users.create(ACME, { ...GRACE, roles: [{ role: 'auditor' }] })
    await users.update(ACME, id, { name: 'Rear Admiral Hopper' })
    await users.remove(ACME, id, null, { erase: true })
    expect(await everythingOf(catalogue, ['user'])).toContain('Hopper')

    await runDue(catalogue)
    const left = await everythingOf(catalogue, ['user'])
    expect(left).not.toMatch(/grace|Hopper|scrypt/i)
    const entries = await catalogue.registry.history({ tenant: 'acme', kind: 'user', id, bodiesOf: ['user'], limit: 9 })
    expect(entries.map(({ action }) => action)).toEqual(['user.remove', 'user.remove', 'user.update', 'user.create'])
    expect(entries.at(-1)).toMatchObject({ after: { username: id, name: id, roles: [{ role: 'auditor' }] } })
  })

  it('can be requested after the removal, again and again, and only in the tenant of the person', async () => {
    const catalogue = openTestCatalogue()
    const { users } = await openTestPeople(catalogue)
    const { id } = await users.create(ACME, GRACE)
    await users.remove(ACME, id)
    await expect(users.remove(ACME, id)).rejects.toMatchObject({ code: 'not_found' })
    await expect(users.remove(RIVAL, id, null, { erase: true })).rejects.toMatchObject({ code: 'not_found' })
    await expect(users.remove(ACME, 'usr_none', null, { erase: true })).rejects.toMatchObject({ code: 'not_found' })
    for (let n = 0; n < 3; n++) await users.remove(ACME, id, null, { erase: true })
    expect(await catalogue.registry.list(DUE_KIND, { limit: 9 })).toHaveLength(2)
    await runDue(catalogue, [], catalogue.clock.nowMs + HOUR_MS)
    expect(await everythingOf(catalogue, ['user'])).not.toMatch(/grace/i)
    expect(await catalogue.registry.list(DUE_KIND, { limit: 9 })).toEqual([])
  })
})

describe('the erasure of a consumer', () => {
  async function removeWithContact(catalogue: TestCatalogue) {
    const { consumer } = await publishApi(catalogue)
    await catalogue.consumers.update(ACME, consumer, { name: 'Acme Shop', contact: 'ada@shop.example' })
    const { id } = await catalogue.subscriptions.create(ACME, {
      consumer,
      api: 'orders-v1',
      contact: 'ada@shop.example',
    })
    const [key] = (await catalogue.credentials.read(ACME, id)).items
    await catalogue.credentials.update(ACME, id, key!.id, { name: 'Laptop of ada@', labels: { owner: 'ada@' } })
    await catalogue.subscriptions.cancel(ACME, id)
    await catalogue.consumers.remove(ACME, consumer, { erase: true })
    return { consumer, subscription: id }
  }

  it('replaces its name in every store, now and an hour later, and its contacts in the audit log', async () => {
    const catalogue = openTestCatalogue()
    const { consumer, subscription } = await removeWithContact(catalogue)
    expect(await runDue(catalogue)).toEqual([`acme ${consumer} ${consumer}`])
    expect(await everythingOf(catalogue, ['consumer', 'subscription', 'credential'])).not.toMatch(/Acme Shop|ada@/)
    expect(await catalogue.subscriptions.get('acme', subscription)).toMatchObject({ contact: null })
    expect(await runDue(catalogue, [], catalogue.clock.nowMs + HOUR_MS)).toHaveLength(1)
    expect(await catalogue.registry.list(DUE_KIND, { limit: 9, where: { subject: consumer } })).toEqual([])
  })

  it('runs again every hour until no store holds the name', async () => {
    const catalogue = openTestCatalogue()
    await removeWithContact(catalogue)
    const runs = await runDue(catalogue, [5, 3, 1, 0], catalogue.clock.nowMs + 9 * HOUR_MS)
    expect(runs).toHaveLength(4)
  })

  it('continues after a crash between its steps', async () => {
    const catalogue = openTestCatalogue()
    const { consumer } = await removeWithContact(catalogue)
    const { registry, clock } = catalogue
    const replaceConsumerName = () => Promise.reject(new Error('the store is unavailable'))
    const tasks = createErasureTasks({
      registry,
      clock: { nowMs: () => clock.nowMs },
      names: [{ replaceConsumerName }],
    })
    const due = { tenant: 'acme', kind: 'consumer_erasure', subject: consumer, atMs: clock.nowMs }
    await expect(tasks.consumer_erasure(due)).rejects.toThrow('unavailable')

    const again = catalogue.restart()
    expect(await runDue(again)).toEqual([`acme ${consumer} ${consumer}`])
    expect(await everythingOf(again, ['consumer', 'subscription', 'credential'])).not.toMatch(/Acme Shop|ada@/)
  })

  it('takes place also if the tenant is removed before', async () => {
    const catalogue = openTestCatalogue()
    const { registry } = catalogue
    const { consumer } = await removeWithContact(catalogue)
    const body = { name: 'acme', isDisabled: true, exportedAtMs: catalogue.clock.nowMs } as const
    await registry.commit(ACME, 'test', [tenantWrite('acme', 0, body)])
    const gateway = { withdraw: async () => {}, applyGrants: async () => {} }
    const gone: string[] = []
    const lastUses = { remove: async (ids: readonly string[]) => void gone.push(...ids) }
    await removeTenant({ registry, gateway, lastUses }, ACME, 'acme')
    expect(gone).toHaveLength(2)
    expect(await registry.list(SUBSCRIPTION_KIND, { tenant: 'acme', limit: 9 })).toEqual([])

    expect(await runDue(catalogue, [], catalogue.clock.nowMs + HOUR_MS)).toEqual([
      `acme ${consumer} ${consumer}`,
      `acme ${consumer} ${consumer}`,
    ])
    expect(await everythingOf(catalogue, ['consumer', 'subscription', 'credential'])).not.toMatch(/Acme Shop|ada@/)
    expect(await registry.list(DUE_KIND, { limit: 9 })).toEqual([])
  })

  it('is refused while a subscription is active', async () => {
    const catalogue = openTestCatalogue()
    const { consumer } = await publishApi(catalogue)
    await catalogue.subscriptions.create(ACME, { consumer, api: 'orders-v1' })
    const remove = catalogue.consumers.remove(ACME, consumer, { erase: true })
    await expect(remove).rejects.toMatchObject({ code: 'subscriptions_active' })
    expect(await catalogue.registry.list(DUE_KIND, { limit: 9, where: { subject: consumer } })).toEqual([])
  })
})
