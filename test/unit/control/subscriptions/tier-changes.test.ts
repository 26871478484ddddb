import { describe, expect, it } from 'vitest'
import { OUTBOX_EVENT_KIND } from '../../../../src/control/command/event-outbox.ts'
import type { Author } from '../../../../src/storage/store/registry.ts'
import {
  ACME,
  base64,
  declaration,
  openTestCatalogue,
  publishApi,
  type TestCatalogue,
} from '../../../fixtures/test-catalogue.ts'

const API = 'orders-v1'
const BOSS: Author = { tenant: 'acme', consumer: 'con_boss' }

describe('a tier change', () => {
  async function subscribed(catalogue: TestCatalogue, approval: 'Auto' | 'Manual') {
    const { consumer } = await publishApi(catalogue)
    for (const variant of ['silver', 'gold']) {
      await catalogue.specifications.createOpenSla(ACME, { api: API, specification: base64(declaration({ variant })) })
    }
    const { id } = await catalogue.subscriptions.create(ACME, { consumer, api: API, slaVariant: 'silver' })
    await catalogue.apiPolicies.put(ACME, API, { subscriptionApproval: approval })
    return id
  }
  const eventsOf = async ({ registry }: TestCatalogue) =>
    (await registry.list(OUTBOX_EVENT_KIND, { limit: 99 })).map(({ body }) => body.type)

  it('needs a decision, then reaches the threads and emits an event', async () => {
    const catalogue = openTestCatalogue()
    const id = await subscribed(catalogue, 'Manual')
    const flow = await catalogue.approvals.requestTier(ACME, id, { slaVariant: 'gold', reason: 'More.' })
    expect(flow).toMatchObject({ kind: 'tierChange', state: 'InProgress', slaVariant: 'gold', reason: 'More.' })
    expect((await catalogue.subscriptions.get('acme', id)).slaVariant).toBe('silver')
    catalogue.gateway.grants.length = 0
    await catalogue.approvals.decide(BOSS, id, flow.id, { outcome: 'Approved' })
    expect((await catalogue.subscriptions.get('acme', id)).slaVariant).toBe('gold')
    expect(catalogue.gateway.grants.map(({ variant }) => variant)).toEqual(['gold', 'gold', 'gold'])
    expect(await eventsOf(catalogue)).toEqual(['TierChangeRequested', 'SlaChanged'])
  })

  it('changes nothing when it is rejected', async () => {
    const catalogue = openTestCatalogue()
    const id = await subscribed(catalogue, 'Manual')
    const flow = await catalogue.approvals.requestTier(ACME, id, { slaVariant: 'gold' })
    await catalogue.approvals.decide(BOSS, id, flow.id, { outcome: 'Rejected' })
    expect((await catalogue.subscriptions.get('acme', id)).slaVariant).toBe('silver')
    expect(await eventsOf(catalogue)).toEqual(['TierChangeRequested'])
  })

  it('takes effect immediately if the policy approves it', async () => {
    const catalogue = openTestCatalogue()
    const id = await subscribed(catalogue, 'Auto')
    const flow = await catalogue.approvals.requestTier(ACME, id, { slaVariant: 'gold' })
    expect(flow).toMatchObject({ state: 'Complete', approvals: [{ approver: 'system', outcome: 'Approved' }] })
    expect((await catalogue.subscriptions.get('acme', id)).slaVariant).toBe('gold')
  })

  it('for which an amendment was required is amended by the next request of its requester', async () => {
    const catalogue = openTestCatalogue()
    const id = await subscribed(catalogue, 'Manual')
    const { id: flow } = await catalogue.approvals.requestTier(ACME, id, { slaVariant: 'gold', reason: 'More.' })
    await catalogue.approvals.decide(BOSS, id, flow, { outcome: 'AmendmentRequired', comments: 'Why?' })
    const amended = await catalogue.approvals.requestTier(ACME, id, { slaVariant: 'gold', reason: 'A campaign.' })
    expect(amended).toMatchObject({ id: flow, state: 'InProgress', reason: 'A campaign.' })
    expect(amended.approvals).toMatchObject([{ outcome: 'AmendmentRequired' }])
    await catalogue.approvals.decide(BOSS, id, flow, { outcome: 'Approved' })
    expect((await catalogue.subscriptions.get('acme', id)).slaVariant).toBe('gold')
  })

  it('for which an amendment was required ends with the request of another requester', async () => {
    const catalogue = openTestCatalogue()
    const id = await subscribed(catalogue, 'Manual')
    const { id: flow } = await catalogue.approvals.requestTier(ACME, id, { slaVariant: 'gold' })
    await catalogue.approvals.decide(BOSS, id, flow, { outcome: 'AmendmentRequired' })
    const other = await catalogue.approvals.requestTier(BOSS, id, { slaVariant: 'gold' })
    expect(other).toMatchObject({ state: 'InProgress', approvals: [] })
    expect((await catalogue.approvals.flow('acme', id, flow)).state).toBe('Complete')
    const own = catalogue.approvals.decide(BOSS, id, other.id, { outcome: 'Approved' })
    await expect(own).rejects.toMatchObject({ code: 'operation_forbidden' })
  })

  it('for which an amendment was required ends if the policy approves the next request', async () => {
    const catalogue = openTestCatalogue()
    const id = await subscribed(catalogue, 'Manual')
    const { id: flow } = await catalogue.approvals.requestTier(ACME, id, { slaVariant: 'gold' })
    await catalogue.approvals.decide(BOSS, id, flow, { outcome: 'AmendmentRequired' })
    await catalogue.apiPolicies.put(ACME, API, { subscriptionApproval: 'Auto' })
    expect(await catalogue.approvals.requestTier(ACME, id, { slaVariant: 'gold' })).toMatchObject({ state: 'Complete' })
    expect((await catalogue.approvals.flow('acme', id, flow)).state).toBe('Complete')
  })

  it('to the default tier is requested and shown as null', async () => {
    const catalogue = openTestCatalogue()
    const id = await subscribed(catalogue, 'Manual')
    const flow = await catalogue.approvals.requestTier(ACME, id, { slaVariant: null })
    expect(flow).toMatchObject({ kind: 'tierChange', state: 'InProgress', slaVariant: null })
    await catalogue.approvals.decide(BOSS, id, flow.id, { outcome: 'Approved' })
    expect((await catalogue.subscriptions.get('acme', id)).slaVariant).toBeNull()
    const events = await catalogue.registry.list(OUTBOX_EVENT_KIND, { limit: 99 })
    expect(events.map(({ body }) => body.data)).toMatchObject([
      { from: 'silver', to: null },
      { from: 'silver', to: null },
    ])
    const again = catalogue.approvals.requestTier(ACME, id, { slaVariant: null })
    await expect(again).rejects.toMatchObject({ status: 400, errors: [{ pointer: '/slaVariant' }] })
  })

  it.each(['silver', 'bronze'])('to %s is refused with a pointer', async (slaVariant) => {
    const catalogue = openTestCatalogue()
    const id = await subscribed(catalogue, 'Auto')
    const refused = catalogue.approvals.requestTier(ACME, id, { slaVariant })
    await expect(refused).rejects.toMatchObject({ status: 400, errors: [{ pointer: '/slaVariant' }] })
  })

  it('is refused for a subscription that has ended', async () => {
    const catalogue = openTestCatalogue()
    const id = await subscribed(catalogue, 'Auto')
    await catalogue.subscriptions.cancel(ACME, id)
    const refused = catalogue.approvals.requestTier(ACME, id, { slaVariant: 'gold' })
    await expect(refused).rejects.toMatchObject({ code: 'state_conflict' })
  })
})
