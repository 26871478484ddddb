/** Two nodes on PostgreSQL, of which one cannot compile an API of one tenant. Their gateways are recorders; everything else is real. */

// @module-tag postgres

import { randomBytes } from 'node:crypto'
import { describe, expect, it, onTestFinished } from 'vitest'
import { createSharedMutex } from '../../../src/control/command/shared-mutex.ts'
import { followRegistry, type Follow } from '../../../src/storage/nodes/follow-registry.ts'
import { API_KIND } from '../../../src/control/publishing/apis.ts'
import { RevisionWithheld } from '../../../src/control/publishing/follow-api.ts'
import { PROXY_KIND, type ProxyBody } from '../../../src/control/publishing/proxy-document.ts'
import { systemClock } from '../../../src/foundation/runtime/clock.ts'
import { createVault } from '../../../src/foundation/runtime/vault.ts'
import type { Change } from '../../../src/storage/store/registry.ts'
import { ACME, base64, NOW_MS, openCatalogueOn, orders, publishApi, RIVAL } from '../../fixtures/test-catalogue.ts'
import { openTestPostgres } from '../../fixtures/test-postgres.ts'
import { usePostgres } from '../../fixtures/use-postgres.ts'
import { NODE } from './nodes.contract.ts'

const server = usePostgres()
const API = 'orders-v1'
/** A command that waits for a node that does not go on would end the test by its time limit. */
const LONG_MS = 60_000

async function startNode(url: string, name: string) {
  const { registry, fences, nodes, preparations } = await openTestPostgres(url)
  const incarnation = `i-${name}`
  await nodes.register({ ...NODE, incarnation, name })
  const vault = createVault(randomBytes(32))
  const catalogue = openCatalogueOn({ registry, vault, time: { nowMs: NOW_MS }, mutex: createSharedMutex(fences) })
  catalogue.nodes.ask = (request) => preparations.ask(incarnation, request)
  const failures: string[] = []
  const apiOf = ({ document: { kind, id, body } }: Change): string =>
    kind === PROXY_KIND ? (body as ProxyBody).api : id
  const follow = {
    lane: apiOf,
    apply: async (change: Change) => void (await catalogue.proxies.follow(apiOf(change))),
    isContained: (cause: unknown) => cause instanceof RevisionWithheld,
  }
  const follower = followRegistry(
    {
      registry,
      clock: systemClock,
      follows: new Map<string, Follow>([
        [API_KIND, follow],
        [PROXY_KIND, follow],
      ]),
      onFailed: (cause) => failures.push(String(cause)),
      onReached: nodes.serve.bind(nodes),
    },
    await registry.end(),
  )
  onTestFinished(() => follower.stop())
  preparations.answer(incarnation, catalogue.proxies.prepare)
  nodes.serve(1)
  const pending = async () => nodes.acknowledged(await registry.end(), LONG_MS)
  return { ...catalogue, failures, pending, catalogue }
}

async function startTwo() {
  const url = await server.createDatabase()
  const [a, b] = [await startNode(url, 'a'), await startNode(url, 'b')]
  const { proxy } = await publishApi(a.catalogue)
  expect(await a.pending()).toEqual([])
  expect(b.gateway.calls).toContain('swap orders-v1 1')
  return { a, b, proxy }
}

const stage = ({ proxies }: Awaited<ReturnType<typeof startNode>>, name: string) =>
  proxies.stage(ACME, { api: API, specification: base64(orders({ version: name })) })

describe('a revision that one of two nodes cannot compile', () => {
  it('is refused before the commit, by name, and the node serves the former one', async () => {
    const { a, b, proxy } = await startTwo()
    b.gateway.uncompilable.add(API)
    await stage(a, '1.3.0')
    const refused = 'The node b cannot prepare the revision: It does not compile here.'
    await expect(a.proxies.activate(ACME, proxy)).rejects.toThrow(refused)
    expect(await a.proxies.revisions('acme', proxy)).toMatchObject({ items: [{ fate: 'active' }, { fate: 'staging' }] })
    expect(b.gateway.calls.at(-1)).toBe('prepare orders-v1 2')
    expect(b.failures).toEqual([])

    b.gateway.uncompilable.clear()
    await a.proxies.activate(ACME, proxy)
    expect(await a.pending()).toEqual([])
    expect(b.gateway.calls.slice(-2)).toEqual(['prepare orders-v1 2', 'swap orders-v1 2'])
  })

  it('is withheld there if it was committed, delays no command of another tenant, and recovers by the next one', async () => {
    const { a, b, proxy } = await startTwo()
    a.nodes.ask = async () => []
    b.gateway.uncompilable.add(API)
    await stage(a, '1.3.0')
    await a.proxies.activate(ACME, proxy)
    expect(await a.pending()).toEqual([])
    expect(new Set(b.failures)).toEqual(
      new Set(['RevisionWithheld: the active revision of orders-v1 cannot be compiled on this node']),
    )
    expect(b.gateway.prepared.at(-1)?.plan.state).toBe('Withheld')

    const { id } = await a.proxies.stage(RIVAL, { api: 'rival-v1', specification: base64(orders({ title: 'Rival' })) })
    await a.proxies.activate(RIVAL, id)
    expect(await a.pending()).toEqual([])
    expect(b.gateway.calls.at(-1)).toBe('swap rival-v1 1')

    b.gateway.uncompilable.clear()
    await stage(a, '1.4.0')
    await a.proxies.activate(ACME, proxy)
    expect(await a.pending()).toEqual([])
    expect(b.gateway.prepared.at(-1)?.plan).toMatchObject({ revision: 3, state: 'Active' })
  })
})
