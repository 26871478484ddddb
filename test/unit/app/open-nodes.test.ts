import { describe, expect, it } from 'vitest'
import { createAwaitNodes, serveStoredApis, staleReason } from '../../../src/app/open-nodes.ts'
import { storedPlans } from '../../../src/control/publishing/stored-plans.ts'
import { StoreUnwritable } from '../../../src/storage/store/unwritable.ts'
import { ACME, base64, openTestCatalogue, orders, publishApi } from '../../fixtures/test-catalogue.ts'

const FRESHNESS = {
  memory: new SharedArrayBuffer(16),
  isStale: () => true,
  onFresh: () => {},
  watch: () => () => {},
}

describe('a command on one of several nodes', () => {
  const end = async (): Promise<number> => {
    throw new StoreUnwritable('away')
  }
  const ofRegistry = (acknowledged: (position: number) => Promise<readonly string[]>) => ({
    registry: { end } as never,
    nodes: { acknowledged } as never,
  })

  it('is answered at once with unknown nodes if the position of its change cannot be read', async () => {
    const awaitNodes = createAwaitNodes({ ...ofRegistry(() => new Promise(() => {})), freshness: null })
    expect(await awaitNodes()).toEqual(['*'])
  })

  it('is answered only when every node may have stopped serving, if nodes stop without the registry', async () => {
    const { promise, resolve } = Promise.withResolvers<readonly string[]>()
    const positions: number[] = []
    const acknowledged = (position: number) => {
      positions.push(position)
      return promise
    }
    let isAnswered = false
    const answer = createAwaitNodes({ ...ofRegistry(acknowledged), freshness: FRESHNESS })()
    const noted = answer.finally(() => (isAnswered = true))
    await new Promise(setImmediate)
    expect([isAnswered, positions]).toEqual([false, [Infinity]])
    resolve(['a', 'b'])
    expect(await noted).toEqual(['*'])
  })
})

describe('a node that may not serve calls', () => {
  it('is not ready', () => {
    expect(staleReason({ freshness: FRESHNESS })).toBe('This node cannot read the registry.')
    expect(staleReason({ freshness: { ...FRESHNESS, isStale: () => false } })).toBeNull()
    expect([staleReason({ freshness: null }), staleReason(null)]).toEqual([null, null])
  })
})

describe('the start of one of several nodes', () => {
  it('serves every stored API that compiles, and withholds the others', async () => {
    const catalogue = openTestCatalogue()
    await publishApi(catalogue)
    const { id } = await catalogue.proxies.stage(ACME, {
      api: 'other-v1',
      specification: base64(orders({ title: 'Other' })),
    })
    await catalogue.proxies.activate(ACME, id)
    const node = catalogue.restart()
    node.gateway.uncompilable.add('orders-v1')
    const counted: string[] = []
    const served: string[] = []
    const core = {
      backends: { serves: ({ api }: { api: string }) => served.push(api) },
      count: (reason: string) => counted.push(reason),
      log: { error: () => {} },
    }
    const withheld: string[] = []
    await serveStoredApis(core as never, node.proxies, storedPlans({ ...node, backendRule: node.backends }), {
      add: (api) => void withheld.push(api),
    })
    expect([served, counted, withheld]).toEqual([['other-v1'], ['revision_withheld'], ['orders-v1']])
    expect(node.gateway.prepared.map(({ plan }) => `${plan.api} ${plan.state}`).sort()).toEqual([
      'orders-v1 Active',
      'orders-v1 Withheld',
      'other-v1 Active',
    ])
  })

  it('is refused if the registry cannot be read', async () => {
    const catalogue = openTestCatalogue()
    await publishApi(catalogue)
    const node = catalogue.restart()
    node.gateway.onPrepare = async () => {
      throw new StoreUnwritable('away')
    }
    const stored = storedPlans({ ...node, backendRule: node.backends })
    await expect(serveStoredApis({} as never, node.proxies, stored, { add() {} })).rejects.toThrow('away')
  })
})
