/**
 * Crashes of the process in every command: afterwards, either all of its effects are stored or none.
 *
 * A command makes one commit and then updates the gateway threads. Each command is run with a crash before its commit and with one
 * after it, and the order of commit and update is checked.
 */

import { unpackPlan } from '../../src/boundary/plan/packed-plan.ts'
import { describe, expect, it } from 'vitest'
import type { DocumentKind, Registry } from '../../src/storage/store/registry.ts'
import {
  ACME,
  base64,
  declaration,
  publishApi,
  OFFERED,
  openTestCatalogue,
  orders,
  type TestCatalogue,
} from '../fixtures/test-catalogue.ts'

const API = 'orders-v1'
const BOSS = { tenant: 'acme', consumer: 'con_boss' }
const LATER = '2099-01-01T00:00:00Z'
const KINDS = [
  ...['api', 'api_policy', 'approval_flow', 'compiled', 'consumer', 'content', 'credential', 'due', 'event'],
  ...['openapispec', 'openslaspec', 'product', 'proxy', 'subscription'],
]

interface Prepared {
  readonly proxy: string
  readonly consumer: string
  readonly subscription: string
  readonly product: string
  readonly credential: string
  readonly flow: string
  readonly waiting: string
}

/** Creates an API with a staged revision and two tiers, a product, an active subscription and a pending one. */
async function prepare(catalogue: TestCatalogue): Promise<Prepared> {
  const { proxy, consumer } = await publishApi(catalogue)
  for (const variant of ['silver', 'gold']) {
    await catalogue.specifications.createOpenSla(ACME, { api: API, specification: base64(declaration({ variant })) })
  }
  const { id: subscription } = await catalogue.subscriptions.create(ACME, { consumer, api: API, slaVariant: 'silver' })
  const { items } = await catalogue.credentials.read(ACME, subscription)
  await catalogue.apiPolicies.put(ACME, API, { subscriptionApproval: 'Manual' })
  const waiting = await catalogue.subscriptions.create(ACME, { consumer, api: API })
  const { id: product } = await catalogue.products.create(ACME, { name: 'Trade', apis: [API] })
  const wider = base64(orders({ operations: { ...OFFERED, another: [] } }))
  await catalogue.proxies.stage(ACME, { api: API, specification: wider })
  const flow = waiting.approvalFlow ?? ''
  return { proxy, consumer, subscription, product, credential: items[0]?.id ?? '', flow, waiting: waiting.id }
}

type Command = (catalogue: TestCatalogue, things: Prepared) => Promise<unknown>

const COMMANDS: Readonly<Record<string, Command>> = {
  'creates a consumer': (catalogue) => catalogue.consumers.create(ACME, { name: 'Ada', kind: 'agent' }),
  'stages a revision': (catalogue) => catalogue.proxies.stage(ACME, { api: API, specification: base64(orders()) }),
  'stages a new API': (catalogue) =>
    catalogue.proxies.stage(ACME, { api: 'parcels-v1', specification: base64(orders({ title: 'Parcels' })) }),
  'activates a revision': (catalogue, { proxy }) => catalogue.proxies.activate(ACME, proxy),
  'discards a revision': (catalogue, { proxy }) => catalogue.proxies.discard(ACME, proxy),
  'declares a tier again': (catalogue) =>
    catalogue.specifications.createOpenSla(ACME, { api: API, specification: base64(declaration({ variant: 'gold' })) }),
  subscribes: (catalogue, { consumer }) => catalogue.subscriptions.create(ACME, { consumer, api: API }),
  'subscribes to a product': (catalogue, { consumer, product }) =>
    catalogue.subscriptions.create(ACME, { consumer, product }),
  cancels: (catalogue, { subscription }) => catalogue.subscriptions.cancel(ACME, subscription),
  'cancels a request': (catalogue, { waiting }) => catalogue.subscriptions.cancel(ACME, waiting),
  suspends: (catalogue, { subscription }) => catalogue.subscriptions.suspend(ACME, subscription),
  'removes scopes': (catalogue, { subscription }) => catalogue.subscriptions.setScopes(ACME, subscription, []),
  'revokes a credential': (catalogue, { subscription, credential }) =>
    catalogue.credentials.revoke(ACME, subscription, credential),
  'rotates credentials': (catalogue, { subscription }) =>
    catalogue.credentials.rotate(ACME, subscription, { overlapSeconds: 0 }),
  'changes a policy': (catalogue) => catalogue.apiPolicies.put(ACME, API, { tokenAlgorithm: 'RS256' }),
  'creates a product': (catalogue) => catalogue.products.create(ACME, { name: 'More', apis: [API] }),
  'empties a product': (catalogue, { product }) =>
    catalogue.products.replace(ACME, product, { name: 'Trade', apis: [] }),
  deprecates: (catalogue) => catalogue.retirement.deprecate(ACME, API, { retirementDate: LATER }),
  approves: (catalogue, { waiting, flow }) => catalogue.approvals.decide(BOSS, waiting, flow, { outcome: 'Approved' }),
  rejects: (catalogue, { waiting, flow }) => catalogue.approvals.decide(BOSS, waiting, flow, { outcome: 'Rejected' }),
  'requests an amendment': (catalogue, { waiting, flow }) =>
    catalogue.approvals.decide(BOSS, waiting, flow, { outcome: 'AmendmentRequired' }),
  'requests another tier': (catalogue, { subscription }) =>
    catalogue.approvals.requestTier(ACME, subscription, { slaVariant: 'gold' }),
}

async function dump(registry: Registry): Promise<string> {
  const documents = await Promise.all(KINDS.map((kind) => registry.list(kind as DocumentKind<unknown>, { limit: 500 })))
  return JSON.stringify(documents)
}

class Died extends Error {
  override readonly name = 'Died'
}

describe.each(Object.entries(COMMANDS))('a command that %s', (_, command) => {
  it('has no effect if the process dies before the commit', async () => {
    const catalogue = openTestCatalogue()
    const things = await prepare(catalogue)
    const before = await dump(catalogue.registry)
    catalogue.registry.commit = () => Promise.reject(new Died())
    await expect(command(catalogue, things)).rejects.toThrow(Died)
    expect(await dump(catalogue.restart().registry)).toBe(before)
  })

  it('takes full effect if the process dies after the commit', async () => {
    const catalogue = openTestCatalogue()
    const things = await prepare(catalogue)
    const { commit } = catalogue.registry
    let commits = 0
    let after = ''
    catalogue.registry.commit = async (...writes) => {
      if (++commits > 1) throw new Error('a second commit')
      await commit(...writes)
      after = await dump(catalogue.registry)
      throw new Died()
    }
    const before = await dump(catalogue.registry)
    await expect(command(catalogue, things)).rejects.toThrow(Died)
    const revived = catalogue.restart()
    expect(await dump(revived.registry)).toBe(after)
    expect(after).not.toBe(before)
    // The stored documents are complete: they can be served and read.
    for await (const { plan } of revived.proxies.activePlans())
      expect((await unpackPlan(plan)).operations.length).toBeGreaterThan(0)
    for (const { id } of (await revived.subscriptions.list('acme', { limit: 99 })).items) {
      await revived.credentials.read(ACME, id)
      await revived.subscriptions.operations('acme', id)
    }
  })

  it('makes one commit, and then updates the gateway', async () => {
    const catalogue = openTestCatalogue()
    const things = await prepare(catalogue)
    const { commit } = catalogue.registry
    const steps: string[] = []
    catalogue.registry.commit = async (...writes) => {
      await commit(...writes)
      steps.push('commit')
    }
    catalogue.gateway.calls.length = 0
    const push = catalogue.gateway.calls.push.bind(catalogue.gateway.calls)
    catalogue.gateway.calls.push = (...calls) => {
      steps.push(...calls.map((each) => each.split(' ')[0] ?? ''))
      return push(...calls)
    }
    await command(catalogue, things)
    expect(steps.filter((step) => step === 'commit')).toHaveLength(1)
    expect(steps.slice(0, steps.indexOf('commit')).filter((step) => step !== 'prepare')).toEqual([])
  })
})
