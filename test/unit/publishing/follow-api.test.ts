import { describe, expect, it } from 'vitest'
import { ACME, base64, declaration, openTestCatalogue, orders, publishApi } from '../../fixtures/test-catalogue.ts'

const API = 'orders-v1'

describe('a node that follows an API', () => {
  it('serves a revision that another node has activated, once', async () => {
    const catalogue = openTestCatalogue()
    const node = catalogue.restart()
    await publishApi(catalogue)
    await node.proxies.follow(API)
    await node.proxies.follow(API)
    expect(node.gateway.calls).toEqual(['prepare orders-v1 1', 'swap orders-v1 1'])
    expect(node.gateway.prepared).toEqual(catalogue.gateway.prepared)
  })

  it('does nothing for what it serves already: by its own activation, and since its start', async () => {
    const catalogue = openTestCatalogue()
    await publishApi(catalogue)
    catalogue.gateway.calls.length = 0
    await catalogue.proxies.follow(API)
    expect(catalogue.gateway.calls).toEqual([])
    const node = catalogue.restart()
    await Array.fromAsync(node.proxies.activePlans())
    await node.proxies.follow(API)
    expect(node.gateway.calls).toEqual([])
  })

  it('serves a declaration, a state and a membership that have changed', async () => {
    const catalogue = openTestCatalogue()
    const node = catalogue.restart()
    await publishApi(catalogue)
    await node.proxies.follow(API)
    await catalogue.specifications.createOpenSla(ACME, { api: API, specification: base64(declaration()) })
    await node.proxies.follow(API)
    expect(node.gateway.prepared.at(-1)?.slas).toHaveLength(1)
    await catalogue.products.create(ACME, { name: 'Bundle', apis: [API] })
    await node.proxies.follow(API)
    expect(node.gateway.prepared.at(-1)?.plan.memberOfProductIds).toHaveLength(1)
    expect(node.gateway.prepared).toHaveLength(3)
  })

  it('leaves alone what is only staged, and withdraws what is removed', async () => {
    const catalogue = openTestCatalogue()
    const node = catalogue.restart()
    await catalogue.proxies.stage(ACME, { api: API, specification: base64(orders()) })
    await node.proxies.follow(API)
    expect(node.gateway.calls).toEqual([])
    await node.proxies.follow('absent-v1')
    expect(node.gateway.calls).toEqual(['withdraw absent-v1'])
  })

  it('tries again after a revision that it could not compile', async () => {
    const catalogue = openTestCatalogue()
    const node = catalogue.restart()
    await publishApi(catalogue)
    node.gateway.onPrepare = async () => {
      throw new Error('no memory')
    }
    await expect(node.proxies.follow(API)).rejects.toThrow('no memory')
    await node.proxies.follow(API)
    expect(node.gateway.calls).toEqual(['prepare orders-v1 1', 'prepare orders-v1 1', 'swap orders-v1 1'])
  })
})
