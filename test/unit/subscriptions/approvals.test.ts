import { describe, expect, it } from 'vitest'
import { APPROVAL_DUE } from '../../../src/approvals/approval-document.ts'
import { createApprovalSilence } from '../../../src/approvals/approval-escalation.ts'
import type { DueTime } from '../../../src/command/due-times.ts'
import type { Author } from '../../../src/store/registry.ts'
import { ACME, base64, declaration, furnish, openHouse, RIVAL, type House } from '../../fixtures/test-catalogue.ts'

const API = 'orders-v1'
const BOSS: Author = { tenant: 'acme', consumer: 'con_boss' }

/** A subscription that waits for a decision. */
async function request(house: House, author: Author = ACME) {
  const { consumer } = await furnish(house)
  await house.apiPolicies.put(ACME, API, { subscriptionApproval: 'Manual' })
  const subscription = await house.subscriptions.create(author, { consumer, api: API })
  return { consumer, id: subscription.id, flow: subscription.approvalFlow ?? '' }
}

const grantOf = async (house: House, id: string) => {
  const { items } = await house.credentials.read(ACME, id)
  return (await house.grants.clientFor(items[0]?.clientId ?? ''))?.grant
}
const dueOf = async ({ registry }: House) =>
  (await registry.list<{ kind: string; subject: string }>('due', { limit: 99 }))
    .map(({ body }) => body)
    .filter(({ kind }) => kind === 'approval_silent')
    .map(({ subject }) => subject)
const stateOf = async (house: House, id: string) => (await house.subscriptions.get('acme', id)).state

describe('a request', () => {
  it('waits, with credentials that open nothing yet, where everybody who decides can see it', async () => {
    const house = openHouse()
    const { id, flow } = await request(house)
    expect(await stateOf(house, id)).toBe('Pending')
    expect(await grantOf(house, id)).toMatchObject({ valid: true, active: false })
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
      createdAt: '2027-01-15T12:00:00.000Z',
    }
    expect(await house.approvals.list('acme', { limit: 9 })).toEqual({ items: [shown], next: null })
    expect(await house.approvals.flow('acme', id, flow)).toEqual(shown)
    expect(await dueOf(house)).toEqual([flow])
  })

  it('opens when somebody else approves, and every thread knows before the answer', async () => {
    const house = openHouse()
    const { id, flow } = await request(house)
    house.gateway.grants.length = 0
    const approval = await house.approvals.decide(BOSS, id, flow, { outcome: 'Approved', comments: 'Fine.' })

    expect(approval).toEqual({
      approver: 'con_boss',
      outcome: 'Approved',
      comments: 'Fine.',
      time: '2027-01-15T12:00:00.000Z',
    })
    expect(await stateOf(house, id)).toBe('Active')
    expect(house.gateway.grants.map(({ active }) => active)).toEqual([true, true])
    expect(await house.approvals.flow('acme', id, flow)).toMatchObject({ state: 'Complete', approvals: [approval] })
    expect((await house.approvals.list('acme', { limit: 9 })).items).toEqual([])
    expect(await dueOf(house)).toEqual([])
  })

  it('ends when it is rejected, and cannot be decided again', async () => {
    const house = openHouse()
    const { id, flow } = await request(house)
    await house.approvals.decide(BOSS, id, flow, { outcome: 'Rejected' })
    expect(await stateOf(house, id)).toBe('Rejected')
    const again = house.approvals.decide(BOSS, id, flow, { outcome: 'Approved' })
    await expect(again).rejects.toMatchObject({ code: 'state_conflict' })
    expect(await stateOf(house, id)).toBe('Rejected')
  })

  it('goes back to who asked, and comes again when it was amended', async () => {
    const house = openHouse()
    const { id, flow } = await request(house)
    await house.approvals.decide(BOSS, id, flow, { outcome: 'AmendmentRequired', comments: 'Less, please.' })
    expect(await house.approvals.flow('acme', id, flow)).toMatchObject({ state: 'AmendmentRequired' })
    expect([await stateOf(house, id), await dueOf(house)]).toEqual(['Pending', []])

    await house.subscriptions.setScopes(ACME, id, ['orders:read'])
    expect(await house.approvals.flow('acme', id, flow)).toMatchObject({ state: 'InProgress' })
    expect(await dueOf(house)).toEqual([flow])
    await house.approvals.decide(BOSS, id, flow, { outcome: 'Approved' })
    expect(await grantOf(house, id)).toMatchObject({ active: true, scopes: ['orders:read'] })
  })

  it.each(['Approved', 'Rejected', 'AmendmentRequired'] as const)('is not %s by who asks', async (outcome) => {
    const house = openHouse()
    const { id, flow } = await request(house)
    const forbidden = { status: 403, code: 'operation_forbidden' }
    await expect(house.approvals.decide(ACME, id, flow, { outcome })).rejects.toMatchObject(forbidden)
    expect(await house.approvals.flow('acme', id, flow)).toMatchObject({ state: 'InProgress', approvals: [] })
  })

  it('of a person is not that person’s to decide, through whatever client; another person’s it is', async () => {
    const house = openHouse()
    const { id, flow } = await request(house, { ...ACME, person: 'usr_1' })
    const outcome = { outcome: 'Approved' } as const
    const self = house.approvals.decide({ ...BOSS, person: 'usr_1' }, id, flow, outcome)
    await expect(self).rejects.toMatchObject({ status: 403 })
    await house.approvals.decide({ ...ACME, person: 'usr_2' }, id, flow, outcome)
    expect(await stateOf(house, id)).toBe('Active')
  })

  it('that is cancelled waits for nobody', async () => {
    const house = openHouse()
    const { id, flow } = await request(house)
    await house.subscriptions.cancel(ACME, id)
    expect(await house.approvals.flow('acme', id, flow)).toMatchObject({ state: 'Complete', approvals: [] })
    expect([(await house.approvals.list('acme', { limit: 9 })).items, await dueOf(house)]).toEqual([[], []])
  })

  it('is decided once by two at once', async () => {
    const house = openHouse()
    const { id, flow } = await request(house)
    const other = { tenant: 'acme', consumer: 'con_other' }
    const results = await Promise.allSettled([
      house.approvals.decide(BOSS, id, flow, { outcome: 'Approved' }),
      house.approvals.decide(other, id, flow, { outcome: 'Rejected' }),
    ])
    expect(results.map(({ status }) => status)).toEqual(['fulfilled', 'rejected'])
    expect(await stateOf(house, id)).toBe('Active')
  })

  it('is its tenant’s, and its subscription’s', async () => {
    const house = openHouse()
    const { id, flow, consumer } = await request(house)
    const other = await house.subscriptions.create(ACME, { consumer, api: API })
    const missing = { status: 404 }
    const outcome = { outcome: 'Approved' } as const
    await expect(house.approvals.decide(RIVAL, id, flow, outcome)).rejects.toMatchObject(missing)
    await expect(house.approvals.decide(BOSS, other.id, flow, outcome)).rejects.toMatchObject(missing)
    await expect(house.approvals.flow('rival', id, flow)).rejects.toMatchObject(missing)
    expect((await house.approvals.list('rival', { limit: 9 })).items).toEqual([])
  })
})

describe('a change of tier', () => {
  async function subscribed(house: House, approval: 'Auto' | 'Manual') {
    const { consumer } = await furnish(house)
    for (const variant of ['silver', 'gold']) {
      await house.specifications.createOpenSla(ACME, { api: API, specification: base64(declaration({ variant })) })
    }
    const { id } = await house.subscriptions.create(ACME, { consumer, api: API, slaVariant: 'silver' })
    await house.apiPolicies.put(ACME, API, { subscriptionApproval: approval })
    return id
  }
  const eventsOf = async ({ registry }: House) =>
    (await registry.list<{ type: string }>('event', { limit: 99 })).map(({ body }) => body.type)

  it('waits for a decision; then the threads know and it is told', async () => {
    const house = openHouse()
    const id = await subscribed(house, 'Manual')
    const flow = await house.approvals.requestTier(ACME, id, { slaVariant: 'gold', reason: 'More.' })
    expect(flow).toMatchObject({ kind: 'tierChange', state: 'InProgress', slaVariant: 'gold', reason: 'More.' })
    expect((await house.subscriptions.get('acme', id)).slaVariant).toBe('silver')
    house.gateway.grants.length = 0
    await house.approvals.decide(BOSS, id, flow.id, { outcome: 'Approved' })
    expect((await house.subscriptions.get('acme', id)).slaVariant).toBe('gold')
    expect(house.gateway.grants.map(({ variant }) => variant)).toEqual(['gold', 'gold'])
    expect(await eventsOf(house)).toEqual(['TierChangeRequested', 'SlaChanged'])
  })

  it('changes nothing when it is rejected', async () => {
    const house = openHouse()
    const id = await subscribed(house, 'Manual')
    const flow = await house.approvals.requestTier(ACME, id, { slaVariant: 'gold' })
    await house.approvals.decide(BOSS, id, flow.id, { outcome: 'Rejected' })
    expect((await house.subscriptions.get('acme', id)).slaVariant).toBe('silver')
    expect(await eventsOf(house)).toEqual(['TierChangeRequested'])
  })

  it('takes effect at once where the policy approves', async () => {
    const house = openHouse()
    const id = await subscribed(house, 'Auto')
    const flow = await house.approvals.requestTier(ACME, id, { slaVariant: 'gold' })
    expect(flow).toMatchObject({ state: 'Complete', approvals: [{ approver: 'system', outcome: 'Approved' }] })
    expect((await house.subscriptions.get('acme', id)).slaVariant).toBe('gold')
  })

  it.each(['silver', 'bronze'])('to %s is refused with its place', async (slaVariant) => {
    const house = openHouse()
    const id = await subscribed(house, 'Auto')
    const refused = house.approvals.requestTier(ACME, id, { slaVariant })
    await expect(refused).rejects.toMatchObject({ status: 400, errors: [{ pointer: '/slaVariant' }] })
  })

  it('is not for a subscription that has ended', async () => {
    const house = openHouse()
    const id = await subscribed(house, 'Auto')
    await house.subscriptions.cancel(ACME, id)
    const refused = house.approvals.requestTier(ACME, id, { slaVariant: 'gold' })
    await expect(refused).rejects.toMatchObject({ code: 'state_conflict' })
  })
})

describe('a request that nobody decides on', () => {
  /** Does what is due, as the scheduler would. */
  async function silence(house: House, told: string[]) {
    const { registry } = house
    const clock = { nowMs: () => house.clock.nowMs }
    const escalate = createApprovalSilence({ registry, clock, onSilence: (_, flow) => void told.push(flow) })
    for (const { body } of await registry.list<DueTime>('due', { limit: 99 })) {
      if (body.kind === APPROVAL_DUE && body.atMs <= house.clock.nowMs) await escalate(body)
    }
  }

  async function asked(house: House) {
    const { consumer } = await furnish(house)
    await house.apiPolicies.put(ACME, API, { subscriptionApproval: 'Manual' })
    const { id, approvalFlow } = await house.subscriptions.create(ACME, { consumer, api: API })
    return { id, flow: approvalFlow ?? '' }
  }

  it('is escalated after three days, once, and says so where it is listed', async () => {
    const house = openHouse()
    const { flow } = await asked(house)
    const told: string[] = []
    house.clock.nowMs += 3 * 86_400_000 - 1
    await silence(house, told)
    expect(told).toEqual([])
    house.clock.nowMs += 1
    await silence(house, told)
    await silence(house, told)
    expect(told).toEqual([flow])
    const { items } = await house.approvals.list('acme', { limit: 9 })
    expect(items).toMatchObject([{ id: flow, escalatedAt: new Date(house.clock.nowMs).toISOString() }])
  })

  it('is late no more when it was sent back, and anew three days after it came again', async () => {
    const house = openHouse()
    const { id, flow } = await asked(house)
    const told: string[] = []
    house.clock.nowMs += 3 * 86_400_000
    await silence(house, told)
    await house.approvals.decide(BOSS, id, flow, { outcome: 'AmendmentRequired' })
    expect(await house.approvals.flow('acme', id, flow)).toMatchObject({ escalatedAt: null })
    await house.subscriptions.setScopes(ACME, id, [])
    house.clock.nowMs += 3 * 86_400_000
    await silence(house, told)
    expect(told).toEqual([flow, flow])
  })
})
