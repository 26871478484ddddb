import { expect, it } from 'vitest'
import { PROXY_KIND } from '../../../../src/control/publishing/proxy-document.ts'
import { upgradeProxies } from '../../../../src/control/publishing/upgrade-proxies.ts'
import type { Registry } from '../../../../src/storage/store/registry.ts'
import { ACME, openTestCatalogue, publishApi } from '../../../fixtures/test-catalogue.ts'

it('The upgrade of proxies gives the oldest ones a revision and exempts their backends, and later starts read none of them', async () => {
  const { registry, ...catalogue } = openTestCatalogue()
  const { proxy } = await publishApi({ registry, ...catalogue })
  const { tenant, revision, body } = (await registry.get(PROXY_KIND, proxy))!
  const old = { api: body.api, deployment: body.deployments['1'] }
  await registry.commit(ACME, 'test.old', [
    { kind: 'proxy', id: proxy, tenant, expected: revision, body: old, keys: { api: body.api }, unique: ['api'] },
  ])
  const lists: string[] = []
  const counted: Registry = {
    ...registry,
    list: (kind, query) => (lists.push(kind), registry.list(kind, query)),
  }
  await upgradeProxies(counted, 'default')
  const upgraded = await registry.get(PROXY_KIND, proxy)
  expect(upgraded?.body).toMatchObject({ deployments: { 0: { isBackendExempt: true } } })
  expect(lists).not.toEqual([])
  lists.length = 0
  await upgradeProxies(counted, 'default')
  expect([lists, await registry.get(PROXY_KIND, proxy)]).toEqual([[], upgraded])
})
