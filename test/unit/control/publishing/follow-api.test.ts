import { describe, expect, it } from 'vitest'
import { Problem } from '../../../../src/foundation/domain/problem.ts'
import { RevisionWithheld } from '../../../../src/control/publishing/follow-api.ts'
import { StoreUnwritable } from '../../../../src/storage/store/unwritable.ts'
import { ACME, base64, declaration, openTestCatalogue, orders, publishApi } from '../../../fixtures/test-catalogue.ts'

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

  it('serves changed declarations and products without compiling, and everything else with a swap', async () => {
    const catalogue = openTestCatalogue()
    const node = catalogue.restart()
    await publishApi(catalogue)
    await node.proxies.follow(API)
    const declare = (variant: string, perMinute: number) => {
      const specification = base64(declaration({ variant, perMinute }))
      return catalogue.specifications.createOpenSla(ACME, { api: API, specification })
    }
    await declare('gold', 10)
    await declare('silver', 5)
    node.gateway.calls.length = 0
    await node.proxies.follow(API)
    expect(node.gateway.calls).toEqual(['sla orders-v1 gold', 'sla orders-v1 silver'])
    await declare('gold', 20)
    const { id } = await catalogue.products.create(ACME, { name: 'Bundle', apis: [API] })
    node.gateway.calls.length = 0
    node.gateway.renumbered.length = 0
    await node.proxies.follow(API)
    expect(node.gateway.calls).toEqual(['sla orders-v1 gold', `members orders-v1 ${id}`])
    expect(node.gateway.slas.at(-1)).toMatchObject({ variant: 'gold', number: 3 })
    expect(node.gateway.renumbered).toMatchObject([{ variant: 'silver', number: 3 }])
    await node.proxies.follow(API)
    expect(node.gateway.calls).toHaveLength(2)
    await catalogue.retirement.deprecate(ACME, API, { retirementDate: '2027-09-01' })
    await node.proxies.follow(API)
    expect(node.gateway.calls.slice(2)).toEqual(['prepare orders-v1 1', 'swap orders-v1 1'])
    const { plan, slas } = node.gateway.prepared.at(-1)!
    expect(slas.map(({ variant }) => variant).sort()).toEqual(['gold', 'silver'])
    expect(plan).toMatchObject({ state: 'Deprecated', memberOfProductIds: [id] })
  })

  it('withholds the API if a thread cannot apply a declaration, because it would allow what is forbidden now', async () => {
    const catalogue = openTestCatalogue()
    const node = catalogue.restart()
    await publishApi(catalogue)
    await node.proxies.follow(API)
    await catalogue.specifications.createOpenSla(ACME, { api: API, specification: base64(declaration()) })
    node.gateway.applySla = () => failToCompile()
    await expect(node.proxies.follow(API)).rejects.toThrow(RevisionWithheld)
    expect(node.gateway.prepared.at(-1)?.plan.state).toBe('Withheld')
    await node.proxies.follow(API)
    expect(node.gateway.prepared.at(-1)).toMatchObject({ plan: { state: 'Active' }, slas: [{ variant: '' }] })
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

  it('withholds an API that it cannot compile, also one that it served, until a revision compiles', async () => {
    const catalogue = openTestCatalogue()
    const node = catalogue.restart()
    const { proxy } = await publishApi(catalogue)
    await node.proxies.follow(API)
    await catalogue.proxies.stage(ACME, { api: API, specification: base64(orders({ version: '1.3.0' })) })
    await catalogue.proxies.activate(ACME, proxy)
    node.gateway.calls.length = 0
    node.gateway.onPrepare = failToCompile
    await expect(node.proxies.follow(API)).rejects.toThrow(RevisionWithheld)
    expect(node.gateway.calls).toEqual(['prepare orders-v1 2', 'prepare orders-v1 2', 'swap orders-v1 2'])
    const { plan, slas } = node.gateway.prepared.at(-1)!
    expect([plan.state, plan.tenant, plan.operations, plan.backend, slas]).toEqual(['Withheld', 'acme', [], null, []])

    node.gateway.calls.length = 0
    await node.proxies.follow(API)
    expect(node.gateway.calls).toEqual(['prepare orders-v1 2', 'swap orders-v1 2'])
    expect(node.gateway.prepared.at(-1)?.plan.state).toBe('Active')
  })

  it('withholds an API if a thread cannot swap, because another thread may serve an older revision', async () => {
    const catalogue = openTestCatalogue()
    const node = catalogue.restart()
    await publishApi(catalogue)
    node.gateway.onSwap = () => {
      node.gateway.onSwap = async () => {}
      return failToCompile()
    }
    await expect(node.proxies.follow(API)).rejects.toThrow(RevisionWithheld)
    expect(node.gateway.prepared.at(-1)?.plan.state).toBe('Withheld')
  })

  it('keeps serving what it serves while the registry cannot be read', async () => {
    const catalogue = openTestCatalogue()
    const node = catalogue.restart()
    await publishApi(catalogue)
    node.gateway.onPrepare = async () => {
      throw new Problem('unavailable', 'Retry later.', { cause: new StoreUnwritable('away') })
    }
    await expect(node.proxies.follow(API)).rejects.toThrow('Retry later.')
    expect(node.gateway.calls).toEqual(['prepare orders-v1 1'])
  })
})

async function failToCompile(): Promise<void> {
  throw new Problem('specification_invalid', 'No memory.')
}
