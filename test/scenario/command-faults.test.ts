/**
 * The process dies between any two steps of any command: either all of it is there afterwards, or none.
 *
 * A command is one commit, and what it tells the gateway comes after; so it may die before the commit, with
 * it refused, or after it with threads that know nothing. Every command is taken through all three.
 */

import { describe, expect, it } from 'vitest'
import type { Registry } from '../../src/store/registry.ts'
import {
  ACME,
  base64,
  declaration,
  furnish,
  OFFERED,
  openHouse,
  orders,
  type House,
} from '../fixtures/test-catalogue.ts'

const API = 'orders-v1'
const BOSS = { tenant: 'acme', consumer: 'con_boss' }
const LATER = '2099-01-01T00:00:00Z'
const KINDS = [
  ...['api', 'api_policy', 'approval_flow', 'compiled', 'consumer', 'content', 'credential', 'due', 'event'],
  ...['openapispec', 'openslaspec', 'product', 'proxy', 'subscription'],
]

interface Things {
  readonly proxy: string
  readonly consumer: string
  readonly subscription: string
  readonly product: string
  readonly credential: string
  readonly flow: string
  readonly waiting: string
}

/** An API with a staged revision and two tiers, a product, a subscription that serves and one that waits. */
async function prepare(house: House): Promise<Things> {
  const { proxy, consumer } = await furnish(house)
  for (const variant of ['silver', 'gold']) {
    await house.specifications.createOpenSla(ACME, { api: API, specification: base64(declaration({ variant })) })
  }
  const { id: subscription } = await house.subscriptions.create(ACME, { consumer, api: API, slaVariant: 'silver' })
  const { items } = await house.credentials.read(ACME, subscription)
  await house.apiPolicies.put(ACME, API, { subscriptionApproval: 'Manual' })
  const waiting = await house.subscriptions.create(ACME, { consumer, api: API })
  const { id: product } = await house.products.create(ACME, { name: 'Trade', apis: [API] })
  const wider = base64(orders({ operations: { ...OFFERED, another: [] } }))
  await house.proxies.stage(ACME, { api: API, specification: wider })
  const flow = waiting.approvalFlow ?? ''
  return { proxy, consumer, subscription, product, credential: items[0]?.id ?? '', flow, waiting: waiting.id }
}

type Command = (house: House, things: Things) => Promise<unknown>

const COMMANDS: Readonly<Record<string, Command>> = {
  'makes a consumer': (house) => house.consumers.create(ACME, { name: 'Ada', kind: 'agent' }),
  'stages a revision': (house) => house.proxies.stage(ACME, { api: API, specification: base64(orders()) }),
  'stages a new API': (house) =>
    house.proxies.stage(ACME, { api: 'parcels-v1', specification: base64(orders({ title: 'Parcels' })) }),
  'activates a revision': (house, { proxy }) => house.proxies.activate(ACME, proxy),
  'discards a revision': (house, { proxy }) => house.proxies.discard(ACME, proxy),
  'declares a tier anew': (house) =>
    house.specifications.createOpenSla(ACME, { api: API, specification: base64(declaration({ variant: 'gold' })) }),
  subscribes: (house, { consumer }) => house.subscriptions.create(ACME, { consumer, api: API }),
  'subscribes to a product': (house, { consumer, product }) => house.subscriptions.create(ACME, { consumer, product }),
  cancels: (house, { subscription }) => house.subscriptions.cancel(ACME, subscription),
  'cancels a request': (house, { waiting }) => house.subscriptions.cancel(ACME, waiting),
  suspends: (house, { subscription }) => house.subscriptions.suspend(ACME, subscription),
  'takes scopes away': (house, { subscription }) => house.subscriptions.setScopes(ACME, subscription, []),
  'revokes a credential': (house, { subscription, credential }) =>
    house.credentials.revoke(ACME, subscription, credential),
  'rotates credentials': (house, { subscription }) => house.credentials.rotate(ACME, subscription, 0),
  'changes a policy': (house) => house.apiPolicies.put(ACME, API, { tokenAlgorithm: 'RS256' }),
  'makes a product': (house) => house.products.create(ACME, { name: 'More', apis: [API] }),
  'empties a product': (house, { product }) => house.products.replace(ACME, product, { name: 'Trade', apis: [] }),
  deprecates: (house) => house.retirement.deprecate(ACME, API, { retirementDate: LATER }),
  approves: (house, { waiting, flow }) => house.approvals.decide(BOSS, waiting, flow, { outcome: 'Approved' }),
  rejects: (house, { waiting, flow }) => house.approvals.decide(BOSS, waiting, flow, { outcome: 'Rejected' }),
  'sends a request back': (house, { waiting, flow }) =>
    house.approvals.decide(BOSS, waiting, flow, { outcome: 'AmendmentRequired' }),
  'asks for another tier': (house, { subscription }) =>
    house.approvals.requestTier(ACME, subscription, { slaVariant: 'gold' }),
}

async function dump(registry: Registry): Promise<string> {
  const documents = await Promise.all(KINDS.map((kind) => registry.list(kind, { limit: 500 })))
  return JSON.stringify(documents)
}

class Died extends Error {
  override readonly name = 'Died'
}

describe.each(Object.entries(COMMANDS))('who %s', (_, command) => {
  it('and dies before the commit has done nothing', async () => {
    const house = openHouse()
    const things = await prepare(house)
    const before = await dump(house.registry)
    house.registry.commit = () => Promise.reject(new Died())
    await expect(command(house, things)).rejects.toThrow(Died)
    expect(await dump(house.restart().registry)).toBe(before)
  })

  it('and dies after it, with threads that know nothing, has done all of it in that one commit', async () => {
    const house = openHouse()
    const things = await prepare(house)
    const { commit } = house.registry
    let commits = 0
    let after = ''
    house.registry.commit = async (...writes) => {
      if (++commits > 1) throw new Error('a second commit')
      await commit(...writes)
      after = await dump(house.registry)
      throw new Died()
    }
    const before = await dump(house.registry)
    await expect(command(house, things)).rejects.toThrow(Died)
    const revived = house.restart()
    expect(await dump(revived.registry)).toBe(after)
    expect(after).not.toBe(before)
    // What the dead process left is whole: it can be served and read.
    for await (const { plan } of revived.proxies.activePlans()) expect(plan.operations.length).toBeGreaterThan(0)
    for (const { id } of (await revived.subscriptions.list('acme', { limit: 99 })).items) {
      await revived.credentials.read(ACME, id)
      await revived.subscriptions.operations('acme', id)
    }
  })

  it('makes one commit, and then tells the gateway', async () => {
    const house = openHouse()
    const things = await prepare(house)
    const { commit } = house.registry
    const steps: string[] = []
    house.registry.commit = async (...writes) => {
      await commit(...writes)
      steps.push('commit')
    }
    house.gateway.heard.length = 0
    const push = house.gateway.heard.push.bind(house.gateway.heard)
    house.gateway.heard.push = (...heard) => {
      steps.push(...heard.map((each) => each.split(' ')[0] ?? ''))
      return push(...heard)
    }
    await command(house, things)
    expect(steps.filter((step) => step === 'commit')).toHaveLength(1)
    expect(steps.slice(0, steps.indexOf('commit')).filter((step) => step !== 'prepare')).toEqual([])
  })
})
