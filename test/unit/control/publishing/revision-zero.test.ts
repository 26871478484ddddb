import { describe, expect, it } from 'vitest'
import { PROXY_KIND } from '../../../../src/control/publishing/proxy-document.ts'
import { unpackDocument } from '../../../../src/boundary/plan/packed-plan.ts'
import { migrateOldProxies } from '../../../../src/control/publishing/revision-zero.ts'
import {
  ACME,
  base64,
  publishApi,
  openTestCatalogue,
  orders,
  type TestCatalogue,
} from '../../../fixtures/test-catalogue.ts'

const API = 'orders-v1'

/** Stores a proxy in the form of a version without revisions. */
async function withOldProxy(catalogue: TestCatalogue): Promise<string> {
  const { proxy } = await publishApi(catalogue)
  const document = await catalogue.registry.get(PROXY_KIND, proxy)
  if (document === null) throw new Error('the proxy is gone')
  const { tenant, revision, body } = document
  const old = { api: API, deployment: body.deployments['1'] }
  await catalogue.registry.commit(ACME, 'test.old', [
    { kind: 'proxy', id: proxy, tenant, expected: revision, body: old, keys: { api: API }, unique: ['api'] },
  ])
  return proxy
}

describe('a deployment from before revisions existed', () => {
  it('serves as revision 0, unchanged', async () => {
    const catalogue = openTestCatalogue()
    const id = await withOldProxy(catalogue)
    const after = catalogue.restart()
    expect(await migrateOldProxies(after.registry)).toBe(1)

    const [active] = await Array.fromAsync(after.proxies.activePlans())
    expect(active?.plan).toMatchObject({ api: API, revision: 0, allowedScopes: expect.any(Array) })
    const { operations } = await unpackDocument(active!.plan.document)
    expect(operations.map(({ operationId }) => operationId)).toEqual(['listOrders', 'createOrder'])
    expect(await after.proxies.get('acme', id)).toMatchObject({
      state: 'active',
      revision: 0,
      activeRevision: 0,
      stagingRevision: null,
      MemberOfProductIds: [],
    })
    expect(await migrateOldProxies(after.registry)).toBe(0)
  })

  it('is followed by revision 1, and can be staged again', async () => {
    const catalogue = openTestCatalogue()
    const id = await withOldProxy(catalogue)
    await migrateOldProxies(catalogue.registry)
    await catalogue.proxies.stage(ACME, { api: API, specification: base64(orders()) })
    expect(await catalogue.proxies.activate(ACME, id)).toMatchObject({ activeRevision: 1 })
    const { items } = await catalogue.proxies.revisions('acme', id)
    expect(items.map(({ revision, fate }) => `${revision} ${fate}`)).toEqual(['0 superseded', '1 active'])
    expect(await catalogue.proxies.stage(ACME, { api: API, fromRevision: 0 })).toMatchObject({ stagingRevision: 2 })
  })
})
