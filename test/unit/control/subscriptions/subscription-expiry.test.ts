import { describe, expect, it } from 'vitest'
import { DUE_KIND, type DueTime } from '../../../../src/control/command/due-times.ts'
import { OUTBOX_EVENT_KIND } from '../../../../src/control/command/event-outbox.ts'
import { createSubscriptionExpiry } from '../../../../src/control/subscriptions/subscription-expiry.ts'
import { ACME, NOW_MS, openTestCatalogue, publishApi, RIVAL } from '../../../fixtures/test-catalogue.ts'

const DAY_MS = 86_400_000
const daysFromNow = (days: number): string => new Date(NOW_MS + days * DAY_MS).toISOString()

async function setUp(expiresAt?: string) {
  const catalogue = openTestCatalogue()
  const { registry, createId, subscriptions, clock: time } = catalogue
  const { consumer } = await publishApi(catalogue)
  const { id } = await subscriptions.create(ACME, { consumer, api: 'orders-v1', ...(expiresAt && { expiresAt }) })
  const clock = { nowMs: () => time.nowMs }
  const expiry = createSubscriptionExpiry({ registry, clock, createId, cancel: subscriptions.cancel })
  /** Runs the tasks of the subscription in order of time, up to a day. */
  async function runUntil(day: number): Promise<void> {
    for (const task of await registry.list(DUE_KIND, { where: { subject: id }, limit: 99 })) {
      if (task.body.atMs > NOW_MS + day * DAY_MS) return
      time.nowMs = Math.max(time.nowMs, task.body.atMs)
      await handle(task.body)
      await registry.commit(ACME, 'done', [
        { kind: DUE_KIND, id: task.id, tenant: 'acme', expected: task.revision, body: null },
      ])
    }
  }
  const handle = (due: DueTime) => (due.kind === 'subscription_expiry' ? expiry.expire(due) : expiry.warn(due))
  const warnings = async () => {
    const events = await registry.list(OUTBOX_EVENT_KIND, { tenant: 'acme', limit: 99 })
    return events.filter(({ body }) => body.type === 'CredentialExpiringSoon').map(({ body }) => body.data)
  }
  return { catalogue, id, runUntil, warnings }
}

describe('a subscription with an expiry date', () => {
  it('warns for each credential 30, 7 and 1 days before, and is cancelled on the date', async () => {
    const { catalogue, id, runUntil, warnings } = await setUp(daysFromNow(60))
    await runUntil(29)
    expect(await warnings()).toEqual([])
    for (const [day, count] of [
      [30, 2],
      [53, 4],
      [59, 6],
    ] as const) {
      await runUntil(day)
      expect(await warnings()).toHaveLength(count)
    }
    expect((await warnings())[0]).toMatchObject({
      subscription: id,
      expiresAt: daysFromNow(60),
      reason: 'SubscriptionExpires',
    })
    expect(await catalogue.subscriptions.get('acme', id)).toMatchObject({ state: 'Active' })
    await runUntil(60)
    expect(await catalogue.subscriptions.get('acme', id)).toMatchObject({ state: 'Cancelled' })
    expect(catalogue.gateway.grants.at(-1)).toMatchObject({ valid: false })
  })

  it('ends on every thread at that time, even before the scheduler runs', async () => {
    const { catalogue, id } = await setUp()
    await catalogue.subscriptions.update(ACME, id, { expiresAt: daysFromNow(1) })
    expect(catalogue.gateway.grants.map(({ expiresAtMs }) => expiresAtMs)).toEqual(Array(3).fill(NOW_MS + DAY_MS))
  })

  it('warns at once if the date is less than 30 days away', async () => {
    const { catalogue, id, runUntil, warnings } = await setUp()
    await catalogue.subscriptions.update(ACME, id, { expiresAt: daysFromNow(3) })
    await runUntil(0)
    expect(await warnings()).toHaveLength(2)
  })

  it('ends on a later date or never, if the date is changed or removed', async () => {
    const { catalogue, id, runUntil } = await setUp(daysFromNow(40))
    const { subscriptions } = catalogue
    await subscriptions.update(ACME, id, { expiresAt: daysFromNow(50) })
    await runUntil(45)
    expect(await subscriptions.get('acme', id)).toMatchObject({ state: 'Active', expiresAt: daysFromNow(50) })
    await subscriptions.update(ACME, id, { expiresAt: null })
    await runUntil(99)
    expect(await subscriptions.get('acme', id)).toMatchObject({ state: 'Active', expiresAt: null })
  })

  it('takes the same date twice, and keeps the members that a change omits', async () => {
    const { catalogue, id } = await setUp(daysFromNow(40))
    const { subscriptions } = catalogue
    const members = { contact: 'ops@shop.example', labels: { team: 'a' } }
    expect(await subscriptions.update(ACME, id, members)).toMatchObject({ ...members, expiresAt: daysFromNow(40) })
    await subscriptions.update(ACME, id, { expiresAt: daysFromNow(40) })
    expect(await subscriptions.update(ACME, id, { contact: null })).toMatchObject({
      contact: null,
      labels: { team: 'a' },
    })
  })
})

it('An expiry date in the past, of another tenant’s or of a cancelled subscription is refused', async () => {
  const { catalogue, id } = await setUp()
  const update = (author = ACME, expiresAt = daysFromNow(1)) =>
    catalogue.subscriptions.update(author, id, { expiresAt })
  await expect(update(ACME, daysFromNow(0))).rejects.toMatchObject({ code: 'payload_invalid' })
  await expect(update(RIVAL)).rejects.toMatchObject({ code: 'not_found' })
  await catalogue.subscriptions.cancel(ACME, id)
  await expect(update()).rejects.toMatchObject({ code: 'state_conflict' })
})
