import { expect, it } from 'vitest'
import { API_KIND } from '../../../../src/control/publishing/apis.ts'
import { COMPILED_KIND } from '../../../../src/control/publishing/compiled-document.ts'
import { DECLARED_KIND } from '../../../../src/control/publishing/declared-fields.ts'
import { storedPlans } from '../../../../src/control/publishing/stored-plans.ts'
import type { Registry } from '../../../../src/storage/store/registry.ts'
import {
  ACME,
  base64,
  declaration,
  openCatalogueOn,
  openTestCatalogue,
  orders,
  type TestCatalogue,
} from '../../../fixtures/test-catalogue.ts'

const TITLES = ['Orders', 'Parcels', 'Returns']
const APIS = ['orders-v1', 'parcels-v1', 'returns-v1']

/** Three APIs with an active revision; the first with two declarations. One more is only staged. */
async function publishSeveral(): Promise<TestCatalogue> {
  const catalogue = openTestCatalogue()
  for (const [index, title] of TITLES.entries()) {
    const input = { api: APIS[index]!, specification: base64(orders({ title })) }
    const { id } = await catalogue.proxies.stage(ACME, input)
    await catalogue.proxies.activate(ACME, id)
  }
  for (const variant of ['gold', 'silver']) {
    const specification = base64(declaration({ variant }))
    await catalogue.specifications.createOpenSla(ACME, { api: 'orders-v1', specification })
  }
  await catalogue.proxies.stage(ACME, { api: 'staged-v1', specification: base64(orders({ title: 'Staged' })) })
  return catalogue
}

async function startAll({
  registry,
  proxies,
  gateway,
  backends,
}: TestCatalogue): Promise<TestCatalogue['gateway']['prepared']> {
  for await (const start of proxies.startApis(storedPlans({ registry, backendRule: backends }))) await start()
  return gateway.prepared.toSorted((a, b) => a.plan.api.localeCompare(b.plan.api))
}

async function followAll({ proxies, gateway }: TestCatalogue): Promise<TestCatalogue['gateway']['prepared']> {
  for (const api of APIS) await proxies.follow(api)
  return gateway.prepared
}

it('The start of a node serves what following each API serves, and knows that it does', async () => {
  const catalogue = await publishSeveral()
  const node = catalogue.restart()
  const started = await startAll(node)
  expect(started).toEqual(await followAll(catalogue.restart()))
  expect(started[0]!.slas.map(({ variant }) => variant).sort()).toEqual(['gold', 'silver'])
  expect(started[0]!.slas.map(({ number }) => number)).toEqual([2, 2])
  node.gateway.calls.length = 0
  await followAll(node)
  expect(node.gateway.calls).toEqual([])
})

it('The start of a node reads no document by itself', async () => {
  const catalogue = await publishSeveral()
  const { registry } = catalogue
  const single: string[] = []
  const counted: Registry = {
    ...registry,
    get: (kind, id) => (single.push(id), registry.get(kind, id)),
    find: (kind, name, value) => (single.push(value), registry.find(kind, name, value)),
  }
  const node = openCatalogueOn({ registry: counted, vault: catalogue.vault, time: catalogue.clock })
  expect(await startAll(node)).toHaveLength(3)
  expect(single).toEqual([])
})

it('The start of a node compiles what an earlier version has compiled, and leaves out what another one removes meanwhile', async () => {
  const catalogue = await publishSeveral()
  const { registry } = catalogue
  const [old] = await registry.list(COMPILED_KIND, { limit: 1 })
  const { kind, id, tenant, revision, body } = old!
  const author = { tenant, consumer: 'system' }
  await registry.commit(author, 'age', [{ kind, id, tenant, expected: revision, body: { ...body, rules: 0 } }])
  const entry = await registry.get(API_KIND, 'returns-v1')
  const removal = { kind: API_KIND, id: 'returns-v1', tenant, expected: entry!.revision, body: null }
  await registry.commit(author, 'remove', [removal])
  // Nor has it stored the members of declarations.
  const [declared] = await registry.list(DECLARED_KIND, { limit: 1 })
  await registry.commit(author, 'age', [{ ...declared!, expected: declared!.revision, body: null }])
  const node = catalogue.restart()
  const started = await startAll(node)
  expect(started.map(({ plan }) => plan.api)).toEqual(['orders-v1', 'parcels-v1'])
  expect((await registry.get(DECLARED_KIND, declared!.id))?.body).toEqual(declared!.body)
  expect(started).toEqual(
    catalogue.gateway.prepared.slice(0, 2).map(({ plan }, at) => ({ plan, slas: started[at]!.slas })),
  )
  expect((await registry.get(COMPILED_KIND, id))?.body.rules).toBeGreaterThan(0)
})
