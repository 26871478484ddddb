import { describe, expect, it } from 'vitest'
import { COMPILED_KIND } from '../../../../src/control/publishing/compiled-document.ts'
import type { StageInput } from '../../../../src/control/publishing/deployment.ts'
import { packDocument, unpackDocument } from '../../../../src/boundary/plan/packed-plan.ts'
import type { Proxies } from '../../../../src/control/publishing/proxies.ts'
import type { ActivePlan } from '../../../../src/control/publishing/serving-plan.ts'
import {
  ACME,
  base64,
  declaration,
  publishApi,
  OFFERED,
  openTestCatalogue,
  orders,
} from '../../../fixtures/test-catalogue.ts'

const API = 'orders-v1'
const stageInput = (more: Partial<StageInput> = {}): StageInput => ({
  api: API,
  specification: base64(orders()),
  ...more,
})

async function plansOf(proxies: Proxies): Promise<ActivePlan[]> {
  return Array.fromAsync(proxies.activePlans())
}

describe('active revisions', () => {
  it('are served again after a restart, each API once with its limits', async () => {
    const catalogue = openTestCatalogue()
    for (let number = 1; number <= 24; number++) {
      const specification = base64(orders({ version: `${number}.0.0` }))
      const { id } = await catalogue.proxies.stage(ACME, { api: `orders-v${number}`, specification })
      if (number !== 11) await catalogue.proxies.activate(ACME, id)
    }
    await catalogue.specifications.createOpenSla(ACME, { api: 'orders-v7', specification: base64(declaration()) })
    const plans = await plansOf(catalogue.restart().proxies)

    expect(plans.map(({ plan }) => plan.api).sort()).toEqual(
      Array.from({ length: 24 }, (_, index) => `orders-v${index + 1}`)
        .filter((api) => api !== 'orders-v11')
        .sort(),
    )
    expect(plans.filter(({ slas }) => slas.length > 0).map(({ plan }) => plan.api)).toEqual(['orders-v7'])
  })

  it('are compiled again once if an earlier compiler version compiled them', async () => {
    const catalogue = openTestCatalogue()
    await publishApi(catalogue)
    const [document] = await catalogue.registry.list(COMPILED_KIND, { limit: 2 })
    if (document === undefined) throw new Error('nothing is compiled')
    const { kind, id, tenant } = document
    const change = async (expected: number, body: object): Promise<string[]> => {
      await catalogue.registry.commit(ACME, 'change', [{ kind, id, tenant, expected, body }])
      const [active] = await plansOf(catalogue.restart().proxies)
      const { operations } = await unpackDocument(active!.plan.document)
      return operations.map(({ operationId }) => operationId)
    }
    const plan = await unpackDocument(Buffer.from(document.body.packed, 'base64'))
    const packed = Buffer.from(packDocument({ ...plan, operations: [] })).toString('base64')

    expect(await change(1, { ...document.body, packed })).toEqual([])
    expect(await change(2, { packed, rules: 0 })).toEqual(['listOrders', 'createOrder'])
    // The compiled form replaced the one of the earlier version, and a further start reads it.
    const [renewed] = await catalogue.registry.list(COMPILED_KIND, { limit: 2 })
    expect(renewed).toMatchObject({ id, tenant, revision: 4, body: { rules: document.body.rules } })
    expect(await plansOf(catalogue.restart().proxies)).toHaveLength(1)
    expect(await catalogue.registry.list(COMPILED_KIND, { limit: 2 })).toEqual([renewed])
  })

  it('are served although a declaration names an operation that was only staged, or was removed', async () => {
    const catalogue = openTestCatalogue()
    const { proxies, specifications } = catalogue
    const { proxy } = await publishApi(catalogue)
    const wider = orders({ operations: { ...OFFERED, staged: [] } })
    await proxies.stage(ACME, stageInput({ specification: base64(wider) }))
    const specification = base64(declaration({ operationIds: ['staged', 'createOrder'] }))
    await specifications.createOpenSla(ACME, { api: API, specification })
    await proxies.discard(ACME, proxy)
    expect(await plansOf(catalogue.restart().proxies)).toHaveLength(1)

    await proxies.stage(ACME, stageInput({ specification: base64(wider) }))
    await proxies.activate(ACME, proxy)
    await proxies.stage(ACME, { api: API, fromRevision: 1 })
    await proxies.activate(ACME, proxy)
    const [active] = await plansOf(catalogue.restart().proxies)
    expect(active).toMatchObject({ plan: { revision: 4 }, slas: [{ api: API }] })
  })
})

describe('the list of proxies by whether a revision is staged', () => {
  it('follows staging, activation, discarding and rolling back', async () => {
    const { proxies } = openTestCatalogue()
    const listed = async (): Promise<readonly string[][]> => {
      const pages = [true, false].map((hasStaging) => proxies.list('acme', { hasStaging, limit: 9 }))
      return (await Promise.all(pages)).map(({ items }) => items.map(({ api, hasStaging }) => `${api} ${hasStaging}`))
    }
    const waits = [['orders-v1 true'], []]
    const none = [[], ['orders-v1 false']]
    const { id } = await proxies.stage(ACME, stageInput())
    expect(await listed()).toEqual(waits)
    await proxies.activate(ACME, id)
    expect(await listed()).toEqual(none)
    await proxies.stage(ACME, { api: API, specification: base64(orders({ version: '1.1.0' })) })
    expect(await listed()).toEqual(waits)
    await proxies.update(ACME, id, { labels: { team: 'pay' } })
    expect(await listed()).toEqual(waits)
    await proxies.discard(ACME, id)
    expect(await listed()).toEqual(none)
    await proxies.stage(ACME, { api: API, fromRevision: 1 })
    expect(await listed()).toEqual(waits)
    await proxies.activate(ACME, id)
    expect(await listed()).toEqual(none)
    expect((await proxies.list('rival', { hasStaging: false, limit: 9 })).items).toEqual([])
  })
})
