import { describe, expect, it } from 'vitest'
import { APPROVAL_DUE } from '../../../../src/control/approvals/approval-document.ts'
import { createApprovalEscalation } from '../../../../src/control/approvals/approval-escalation.ts'
import { DUE_KIND } from '../../../../src/control/command/due-times.ts'
import type { Author } from '../../../../src/storage/store/registry.ts'
import { ACME, publishApi, openTestCatalogue, RIVAL, type TestCatalogue } from '../../../fixtures/test-catalogue.ts'

const API = 'orders-v1'
const BOSS: Author = { tenant: 'acme', consumer: 'con_boss' }

/** Requests a subscription that needs a decision. */
async function request(catalogue: TestCatalogue, author: Author = ACME) {
  const { consumer } = await publishApi(catalogue)
  await catalogue.apiPolicies.put(ACME, API, { subscriptionApproval: 'Manual' })
  const subscription = await catalogue.subscriptions.create(author, { consumer, api: API })
  return { consumer, id: subscription.id, flow: subscription.approvalFlow ?? '' }
}

const grantOf = async (catalogue: TestCatalogue, id: string) => {
  const { items } = await catalogue.credentials.read(ACME, id)
  return (await catalogue.grants.clientFor(items[0]?.clientId ?? ''))?.grant
}
const dueOf = async ({ registry }: TestCatalogue) =>
  (await registry.list(DUE_KIND, { limit: 99 }))
    .map(({ body }) => body)
    .filter(({ kind }) => kind === 'approval_silent')
    .map(({ subject }) => subject)
const stateOf = async (catalogue: TestCatalogue, id: string) => (await catalogue.subscriptions.get('acme', id)).state

describe('a request for access', () => {
  it('is pending, listed for approvers, and has credentials without access', async () => {
    const catalogue = openTestCatalogue()
    const { id, flow } = await request(catalogue)
    expect(await stateOf(catalogue, id)).toBe('Pending')
    expect(await grantOf(catalogue, id)).toMatchObject({ valid: true, active: false })
    const shown = {
      id: flow,
      kind: 'subscription',
      programme: null,
      subscription: id,
      requester: ACME.consumer,
      state: 'InProgress',
      slaVariant: null,
      reason: null,
      approvals: [],
      escalatedAt: null,
      labels: {},
      createdAt: '2027-01-15T12:00:00.000Z',
    }
    expect(await catalogue.approvals.list('acme', { limit: 9 })).toEqual({ items: [shown], next: null })
    expect(await catalogue.approvals.flow('acme', id, flow)).toEqual(shown)
    expect(await dueOf(catalogue)).toEqual([flow])
  })

  it('becomes active when someone else approves, on every thread before the command returns', async () => {
    const catalogue = openTestCatalogue()
    const { id, flow } = await request(catalogue)
    catalogue.gateway.grants.length = 0
    const approval = await catalogue.approvals.decide(BOSS, id, flow, { outcome: 'Approved', comments: 'Fine.' })

    expect(approval).toEqual({
      approver: 'con_boss',
      outcome: 'Approved',
      comments: 'Fine.',
      time: '2027-01-15T12:00:00.000Z',
    })
    expect(await stateOf(catalogue, id)).toBe('Active')
    expect(catalogue.gateway.grants.map(({ active }) => active)).toEqual([true, true, true])
    expect(await catalogue.approvals.flow('acme', id, flow)).toMatchObject({ state: 'Complete', approvals: [approval] })
    expect((await catalogue.approvals.list('acme', { limit: 9 })).items).toEqual([])
    expect(await dueOf(catalogue)).toEqual([])
  })

  it('is final when it is rejected, and cannot be decided again', async () => {
    const catalogue = openTestCatalogue()
    const { id, flow } = await request(catalogue)
    await catalogue.approvals.decide(BOSS, id, flow, { outcome: 'Rejected' })
    expect(await stateOf(catalogue, id)).toBe('Rejected')
    const again = catalogue.approvals.decide(BOSS, id, flow, { outcome: 'Approved' })
    await expect(again).rejects.toMatchObject({ code: 'state_conflict' })
    expect(await stateOf(catalogue, id)).toBe('Rejected')
  })

  it('returns to the requester for an amendment, and is resubmitted by it', async () => {
    const catalogue = openTestCatalogue()
    const { id, flow } = await request(catalogue)
    await catalogue.approvals.decide(BOSS, id, flow, { outcome: 'AmendmentRequired', comments: 'Less, please.' })
    expect(await catalogue.approvals.flow('acme', id, flow)).toMatchObject({ state: 'AmendmentRequired' })
    expect([await stateOf(catalogue, id), await dueOf(catalogue)]).toEqual(['Pending', []])

    await catalogue.subscriptions.setScopes(ACME, id, ['orders:read'])
    expect(await catalogue.approvals.flow('acme', id, flow)).toMatchObject({ state: 'InProgress' })
    expect(await dueOf(catalogue)).toEqual([flow])
    await catalogue.approvals.decide(BOSS, id, flow, { outcome: 'Approved' })
    expect(await grantOf(catalogue, id)).toMatchObject({ active: true, scopes: ['orders:read'] })
  })

  it.each(['Approved', 'Rejected', 'AmendmentRequired'] as const)('cannot be %s by the requester', async (outcome) => {
    const catalogue = openTestCatalogue()
    const { id, flow } = await request(catalogue)
    const forbidden = { status: 403, code: 'operation_forbidden' }
    await expect(catalogue.approvals.decide(ACME, id, flow, { outcome })).rejects.toMatchObject(forbidden)
    expect(await catalogue.approvals.flow('acme', id, flow)).toMatchObject({ state: 'InProgress', approvals: [] })
  })

  it('of a person cannot be decided by that person through any client, but by another person', async () => {
    const catalogue = openTestCatalogue()
    const { id, flow } = await request(catalogue, { ...ACME, person: 'usr_1' })
    const outcome = { outcome: 'Approved' } as const
    const self = catalogue.approvals.decide({ ...BOSS, person: 'usr_1' }, id, flow, outcome)
    await expect(self).rejects.toMatchObject({ status: 403 })
    await catalogue.approvals.decide({ ...ACME, person: 'usr_2' }, id, flow, outcome)
    expect(await stateOf(catalogue, id)).toBe('Active')
  })

  it('that is cancelled needs no decision', async () => {
    const catalogue = openTestCatalogue()
    const { id, flow } = await request(catalogue)
    await catalogue.subscriptions.cancel(ACME, id)
    expect(await catalogue.approvals.flow('acme', id, flow)).toMatchObject({ state: 'Complete', approvals: [] })
    expect([(await catalogue.approvals.list('acme', { limit: 9 })).items, await dueOf(catalogue)]).toEqual([[], []])
  })

  it('is decided once by concurrent decisions', async () => {
    const catalogue = openTestCatalogue()
    const { id, flow } = await request(catalogue)
    const other = { tenant: 'acme', consumer: 'con_other' }
    const results = await Promise.allSettled([
      catalogue.approvals.decide(BOSS, id, flow, { outcome: 'Approved' }),
      catalogue.approvals.decide(other, id, flow, { outcome: 'Rejected' }),
    ])
    expect(results.map(({ status }) => status)).toEqual(['fulfilled', 'rejected'])
    expect(await stateOf(catalogue, id)).toBe('Active')
  })

  it('is visible only in its tenant and under its subscription', async () => {
    const catalogue = openTestCatalogue()
    const { id, flow, consumer } = await request(catalogue)
    const other = await catalogue.subscriptions.create(ACME, { consumer, api: API })
    const missing = { status: 404 }
    const outcome = { outcome: 'Approved' } as const
    await expect(catalogue.approvals.decide(RIVAL, id, flow, outcome)).rejects.toMatchObject(missing)
    await expect(catalogue.approvals.decide(BOSS, other.id, flow, outcome)).rejects.toMatchObject(missing)
    await expect(catalogue.approvals.flow('rival', id, flow)).rejects.toMatchObject(missing)
    expect((await catalogue.approvals.list('rival', { limit: 9 })).items).toEqual([])
  })
})

describe('an overdue request', () => {
  /** Runs the due tasks, like the scheduler. */
  async function silence(catalogue: TestCatalogue, notified: string[]) {
    const { registry } = catalogue
    const clock = { nowMs: () => catalogue.clock.nowMs }
    const escalate = createApprovalEscalation({ registry, clock, onEscalation: (_, flow) => void notified.push(flow) })
    for (const { body } of await registry.list(DUE_KIND, { limit: 99 })) {
      if (body.kind === APPROVAL_DUE && body.atMs <= catalogue.clock.nowMs) await escalate(body)
    }
  }

  async function asked(catalogue: TestCatalogue) {
    const { consumer } = await publishApi(catalogue)
    await catalogue.apiPolicies.put(ACME, API, { subscriptionApproval: 'Manual' })
    const { id, approvalFlow } = await catalogue.subscriptions.create(ACME, { consumer, api: API })
    return { id, flow: approvalFlow ?? '' }
  }

  it('is escalated once after three days, as the list shows', async () => {
    const catalogue = openTestCatalogue()
    const { flow } = await asked(catalogue)
    const notified: string[] = []
    catalogue.clock.nowMs += 3 * 86_400_000 - 1
    await silence(catalogue, notified)
    expect(notified).toEqual([])
    catalogue.clock.nowMs += 1
    await silence(catalogue, notified)
    await silence(catalogue, notified)
    expect(notified).toEqual([flow])
    const { items } = await catalogue.approvals.list('acme', { limit: 9 })
    expect(items).toMatchObject([{ id: flow, escalatedAt: new Date(catalogue.clock.nowMs).toISOString() }])
  })

  it('is not overdue after it was sent back, and again three days after it was resubmitted', async () => {
    const catalogue = openTestCatalogue()
    const { id, flow } = await asked(catalogue)
    const notified: string[] = []
    catalogue.clock.nowMs += 3 * 86_400_000
    await silence(catalogue, notified)
    await catalogue.approvals.decide(BOSS, id, flow, { outcome: 'AmendmentRequired' })
    expect(await catalogue.approvals.flow('acme', id, flow)).toMatchObject({ escalatedAt: null })
    await catalogue.subscriptions.setScopes(ACME, id, [])
    catalogue.clock.nowMs += 3 * 86_400_000
    await silence(catalogue, notified)
    expect(notified).toEqual([flow, flow])
  })
})
