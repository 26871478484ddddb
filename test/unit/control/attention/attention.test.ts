import { describe, expect, it } from 'vitest'
import { createCredentialExpiry } from '../../../../src/control/access/credential-expiry.ts'
import { CREDENTIAL_KIND } from '../../../../src/control/access/credential-document.ts'
import {
  createAttention,
  COUNT_MAX,
  REVISIONS_MAX,
  type AttentionItem,
} from '../../../../src/control/attention/attention.ts'
import { begin, step } from '../../../../src/control/command/persisted-machine.ts'
import { PROXY_KIND, proxyWrite } from '../../../../src/control/publishing/proxy-document.ts'
import { eventSubscription } from '../../../../src/control/webhooks/event-subscription-machine.ts'
import { eventSubscriptionWrite } from '../../../../src/control/webhooks/event-subscription-document.ts'
import {
  ACME,
  base64,
  openTestCatalogue,
  orders,
  publishApi,
  type TestCatalogue,
} from '../../../fixtures/test-catalogue.ts'
import { createMemoryRiskFeed } from '../../../fixtures/memory-risk-feed.ts'
import { riskEvent } from '../../../fixtures/risk-event.ts'

const DAY_MS = 86_400_000

function attentionOf({ registry, clock }: TestCatalogue, risks = createMemoryRiskFeed()) {
  const attention = createAttention({
    registry,
    risks,
    upstreamIssues: async () => [],
    clock: { nowMs: () => clock.nowMs },
  })
  return (consumer: string | null = null): Promise<readonly AttentionItem[]> =>
    attention.read({ tenant: 'acme', consumer, may: () => true })
}

/** Runs the task that is due at a time before the expiry. */
async function warnAt(catalogue: TestCatalogue, id: string, atMs: number): Promise<void> {
  const { registry, createId, clock } = catalogue
  clock.nowMs = atMs
  const warn = createCredentialExpiry({ registry, createId, clock: { nowMs: () => clock.nowMs } })
  await warn({ tenant: 'acme', kind: 'credential_expiring', subject: id, atMs })
}

async function issue(catalogue: TestCatalogue) {
  const { consumer } = await publishApi(catalogue)
  const input = { consumer, api: 'orders-v1', securityTypes: ['OAuth2'] } as const
  const { id: subscription } = await catalogue.subscriptions.create(ACME, input)
  const { items } = await catalogue.credentials.read(ACME, subscription)
  const { id, expiresAt } = items[0]!
  return { consumer, subscription, id, endsMs: Date.parse(expiresAt) }
}

describe('a credential', () => {
  it('is listed from its first warning until it expires, for its consumer alone', async () => {
    const catalogue = openTestCatalogue()
    const read = attentionOf(catalogue)
    const { consumer, subscription, id, endsMs } = await issue(catalogue)
    expect(await read()).toEqual([])
    await warnAt(catalogue, id, endsMs - 30 * DAY_MS)
    const at = new Date(endsMs).toISOString()
    const item = { kind: 'credential', severity: 'Warning', count: 1, isMore: false }
    expect(await read()).toMatchObject([{ ...item, subjects: [{ id, parent: subscription, at }] }])
    expect(await read(consumer)).toMatchObject([item])
    expect(await read('con_other')).toEqual([])

    catalogue.clock.nowMs = endsMs
    expect(await read()).toEqual([])
    await warnAt(catalogue, id, endsMs)
    expect((await catalogue.registry.get(CREDENTIAL_KIND, id))?.body.isExpiring).toBeUndefined()
  })

  it.each(['revoke', 'rotate'] as const)('is no longer listed after %s', async (action) => {
    const catalogue = openTestCatalogue()
    const read = attentionOf(catalogue)
    const { subscription, id, endsMs } = await issue(catalogue)
    await warnAt(catalogue, id, endsMs - 7 * DAY_MS)
    expect(await read()).toHaveLength(1)
    if (action === 'revoke') await catalogue.credentials.revoke(ACME, subscription, id)
    else await catalogue.credentials.rotate(ACME, subscription, { overlapSeconds: 60 })
    expect(await read()).toEqual([])
  })
})

describe('a webhook', () => {
  it('is listed while it fails, with the host of its receiver alone', async () => {
    const catalogue = openTestCatalogue()
    const failed = step(eventSubscription, begin(eventSubscription, undefined), { type: 'failed', atMs: DAY_MS })
    if ('refused' in failed) throw new Error('a subscription that is active can fail')
    const body = { url: 'https://user:pw@hooks.example/secret-path', events: null, secrets: [], actor: failed.next }
    await catalogue.registry.commit(ACME, 'test', [eventSubscriptionWrite('evs_1', 'acme', 0, body)])
    const [item] = await attentionOf(catalogue)()
    expect(item).toMatchObject({ kind: 'webhook', count: 1, subjects: [{ name: 'hooks.example' }] })
    expect(JSON.stringify(item)).not.toMatch(/secret-path|pw/)
  })
})

describe('risks', () => {
  it('are counted up to a maximum, and limits apart from them', async () => {
    const catalogue = openTestCatalogue()
    const risks = createMemoryRiskFeed()
    risks.positions.push({ event: riskEvent({ type: 'ApproachingLimit' }), state: 'open' })
    for (let number = 0; number < COUNT_MAX + 1; number++)
      risks.positions.push({ event: riskEvent({ severity: 'Info' }), state: 'open' })
    const [limit, info] = await attentionOf(catalogue, risks)()
    expect(limit).toMatchObject({ kind: 'limit', severity: 'Warning', count: 1, isMore: true })
    expect(info).toMatchObject({ kind: 'risk', severity: 'Info', count: COUNT_MAX, isMore: true })
    expect(info?.subjects).toHaveLength(5)
  })
})

describe('staged revisions', () => {
  it('are listed with their API and since when, for the tenant and not for a consumer', async () => {
    const catalogue = openTestCatalogue()
    const read = attentionOf(catalogue)
    const { consumer } = await publishApi(catalogue)
    expect(await read()).toEqual([])
    catalogue.clock.nowMs += DAY_MS
    const at = new Date(catalogue.clock.nowMs).toISOString()
    const specification = base64(orders({ version: '1.1.0' }))
    const { id } = await catalogue.proxies.stage(ACME, { api: 'orders-v1', specification })
    expect(await read()).toEqual([
      {
        ...{ kind: 'revision', severity: 'Info', count: 1, isMore: false },
        subjects: [{ id: 'orders-v1', name: '2', parent: null, at }],
      },
    ])
    expect(await read(consumer)).toEqual([])
    await catalogue.proxies.activate(ACME, id)
    expect(await read()).toEqual([])
  })

  it('are counted up to a maximum', async () => {
    const catalogue = openTestCatalogue()
    await publishApi(catalogue)
    await catalogue.proxies.stage(ACME, { api: 'orders-v1', specification: base64(orders({ version: '1.1.0' })) })
    const staged = await catalogue.registry.find(PROXY_KIND, 'api', 'orders-v1')
    const copies = Array.from({ length: REVISIONS_MAX }, (_, number) =>
      proxyWrite(`prx_${number}`, 'acme', 0, { ...staged!.body, api: `copy${number}-v1` }),
    )
    await catalogue.registry.commit(ACME, 'test', copies)
    const [item] = await attentionOf(catalogue)()
    expect(item).toMatchObject({ kind: 'revision', count: REVISIONS_MAX, isMore: true })
    expect(item?.subjects).toHaveLength(5)
  })
})
