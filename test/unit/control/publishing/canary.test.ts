import { describe, expect, it } from 'vitest'
import { createTokenScopes } from '../../../../src/control/access/token-scopes.ts'
import { createAudit } from '../../../../src/control/command/audit-log.ts'
import { Problem } from '../../../../src/foundation/domain/problem.ts'
import type { PackedPlan } from '../../../../src/boundary/plan/packed-plan.ts'
import { RevisionWithheld } from '../../../../src/control/publishing/follow-api.ts'
import type { StageInput } from '../../../../src/control/publishing/deployment.ts'
import { storedPlans } from '../../../../src/control/publishing/stored-plans.ts'
import {
  ACME,
  base64,
  declaration,
  openTestCatalogue,
  orders,
  publishApi,
  RIVAL,
  type TestCatalogue,
} from '../../../fixtures/test-catalogue.ts'

const API = 'orders-v1'
const BACKEND = { url: 'https://canary.example/next' }

const stage = ({ proxies }: TestCatalogue, more: Partial<StageInput> = {}) =>
  proxies.stage(ACME, { api: API, specification: base64(orders({ version: '1.3.0' })), backend: BACKEND, ...more })

/** An API with revision 1 active and revision 2 staged. */
async function openStaged() {
  const catalogue = openTestCatalogue()
  const { proxy } = await publishApi(catalogue)
  await stage(catalogue)
  const packed: PackedPlan[] = []
  const { prepare } = catalogue.gateway
  catalogue.gateway.prepare = (plan, slas) => (packed.push(plan), prepare(plan, slas))
  catalogue.gateway.calls.length = 0
  const enrol = async (author = ACME): Promise<string> =>
    (await catalogue.consumers.create(author, { name: 'Shop', kind: 'application' })).id
  return { catalogue, ...catalogue, proxy, packed, enrol }
}

const canaryOf = (plan: PackedPlan | undefined) =>
  plan?.canary && { rule: plan.canary.rule, revision: plan.canary.plan.revision, backend: plan.canary.plan.backend }

describe('a canary', () => {
  it('is swapped in together with the active revision, which keeps serving the others', async () => {
    const { proxies, proxy, gateway, packed, apis } = await openStaged()
    const shown = await proxies.activate(ACME, proxy, { percent: 10 })
    expect(shown).toMatchObject({
      activeRevision: 1,
      stagingRevision: 2,
      hasStaging: true,
      canary: { revision: 2, percent: 10 },
    })
    expect(gateway.calls).toEqual(['prepare orders-v1 1', 'swap orders-v1 1'])
    expect(canaryOf(packed[0])).toMatchObject({
      rule: { percent: 10 },
      revision: 2,
      backend: { origin: 'https://canary.example', basePath: '/next' },
    })
    expect(packed[0]?.backend?.origin).not.toBe('https://canary.example')
    expect((await apis.get('acme', API)).version).toBe('1.2.3')
    expect((await proxies.revisions('acme', proxy)).items.map(({ fate }) => fate)).toEqual(['active', 'canary'])
  })

  it('can be given other callers, and then serves all or none', async () => {
    const { catalogue, proxies, proxy, packed, enrol, apis } = await openStaged()
    const consumers = [await enrol(), await enrol()]
    const first = await proxies.activate(ACME, proxy, { percent: 10 })
    const second = await proxies.activate(ACME, proxy, { consumers })
    expect(second.canary).toEqual({ revision: 2, consumers, since: first.canary?.since })
    await proxies.activate(ACME, proxy)
    expect(canaryOf(packed.at(-1))).toBeUndefined()
    expect(await proxies.get('acme', proxy)).toMatchObject({ activeRevision: 2, stagingRevision: null, canary: null })
    expect((await apis.get('acme', API)).version).toBe('1.3.0')

    await stage(catalogue, { specification: base64(orders({ version: '1.4.0' })) })
    await proxies.activate(ACME, proxy, { percent: 1 })
    await proxies.discard(ACME, proxy)
    expect(packed.at(-1)).toMatchObject({ revision: 2 })
    expect(canaryOf(packed.at(-1))).toBeUndefined()
    expect(await proxies.get('acme', proxy)).toMatchObject({ activeRevision: 2, stagingRevision: null, canary: null })
  })

  it('holds back other revisions, and says why', async () => {
    const { catalogue, proxies, proxy } = await openStaged()
    await proxies.activate(ACME, proxy, { percent: 10 })
    await expect(stage(catalogue)).rejects.toMatchObject({
      code: 'state_conflict',
      message: expect.stringMatching(
        /^Revision 2 serves some of the callers\. Activate it for all, or discard it/,
      ) as string,
    })
  })

  it('needs an active and a staging revision', async () => {
    const catalogue = openTestCatalogue()
    const { id } = await stage(catalogue)
    const needed = {
      status: 409,
      code: 'state_conflict',
      message: expect.stringContaining('No revision is active') as string,
    }
    await expect(catalogue.proxies.activate(ACME, id, { percent: 10 })).rejects.toMatchObject(needed)
    await catalogue.proxies.activate(ACME, id)
    await expect(catalogue.proxies.activate(ACME, id, { percent: 10 })).rejects.toMatchObject({
      code: 'no_staging_revision',
    })
  })

  it('cannot be chosen for consumers that are unknown or of another tenant, nor for two groups at once', async () => {
    const { proxies, proxy, enrol, gateway } = await openStaged()
    const own = await enrol()
    const foreign = await enrol(RIVAL)
    const refused = (at: string) => ({ code: 'payload_invalid', errors: [{ pointer: at }] })
    for (const consumers of [
      [own, foreign],
      [own, 'con_unknown'],
      [own, 'constructor'],
    ]) {
      await expect(proxies.activate(ACME, proxy, { consumers })).rejects.toMatchObject(refused('/consumers/1'))
    }
    await expect(proxies.activate(ACME, proxy, { percent: 5, consumers: [own] })).rejects.toMatchObject(
      refused('/consumers'),
    )
    await expect(proxies.activate(RIVAL, proxy, { percent: 5 })).rejects.toMatchObject({ code: 'not_found' })
    expect(gateway.calls).toEqual([])
    expect(await proxies.get('acme', proxy)).toMatchObject({ canary: null, stagingRevision: 2 })
  })

  it('changes nothing if its backend is refused, or if a thread cannot compile it', async () => {
    const { proxies, proxy, backends, gateway } = await openStaged()
    backends.refuse = (_, url) => (url === BACKEND.url ? 'It is private.' : null)
    await expect(proxies.activate(ACME, proxy, { percent: 5 })).rejects.toMatchObject({ code: 'state_conflict' })
    backends.refuse = () => null
    gateway.onPrepare = async () => {
      throw new Problem('specification_invalid', 'A schema cannot be compiled.')
    }
    await expect(proxies.activate(ACME, proxy, { percent: 5 })).rejects.toMatchObject({ code: 'specification_invalid' })
    expect(await proxies.get('acme', proxy)).toMatchObject({ canary: null })
  })

  it('ends with its API', async () => {
    const { proxies, proxy, retirement, packed } = await openStaged()
    await proxies.activate(ACME, proxy, { percent: 10 })
    await retirement.deprecate(ACME, API, { retirementDate: '2027-09-01' })
    expect(packed.at(-1)).toMatchObject({ state: 'Deprecated', canary: { plan: { state: 'Deprecated', revision: 2 } } })
    await retirement.retire(ACME, API, false)
    expect(packed.at(-1)?.state).toBe('Retired')
    expect(canaryOf(packed.at(-1))).toBeUndefined()
    expect(await proxies.get('acme', proxy)).toMatchObject({ stagingRevision: null, canary: null })
  })

  it('is audited with its callers', async () => {
    const { proxies, proxy, registry } = await openStaged()
    const audit = createAudit({ registry })
    await proxies.activate(ACME, proxy, { percent: 10 })
    const [entry] = (await audit.list('acme', { limit: 1, id: proxy })).items
    expect(entry).toMatchObject({
      action: 'proxy.canary',
      after: { state: { activeRevision: 1, stagingRevision: 2, canary: { percent: 10 } } },
    })
  })

  it('adds its scopes to those of tokens while it serves', async () => {
    const { catalogue, proxies, proxy, registry } = await openStaged()
    await proxies.discard(ACME, proxy)
    const scopesOf = createTokenScopes({ registry })
    const before = await scopesOf(API)
    await stage(catalogue, { allowedScopes: ['orders:read'] })
    await proxies.activate(ACME, proxy)
    await stage(catalogue, { allowedScopes: ['orders:write'] })
    expect((await scopesOf(API))?.allowed).toEqual(['orders:read'])
    await proxies.activate(ACME, proxy, { percent: 10 })
    expect(await scopesOf(API)).toMatchObject({
      allowed: ['orders:read', 'orders:write'],
      byDefault: ['orders:read'],
    })
    expect((await scopesOf(API))?.declared).toEqual(before?.declared)
    await proxies.discard(ACME, proxy)
    expect((await scopesOf(API))?.allowed).toEqual(['orders:read'])
    expect(await scopesOf(API)).not.toHaveProperty('byDefault')
  })
})

describe('a node', () => {
  it('serves the canary of another node, and its end, once each', async () => {
    const { catalogue, proxies, proxy } = await openStaged()
    const node = catalogue.restart()
    const packed: PackedPlan[] = []
    const { prepare } = node.gateway
    node.gateway.prepare = (plan, slas) => (packed.push(plan), prepare(plan, slas))
    await proxies.activate(ACME, proxy, { percent: 10 })
    await node.proxies.follow(API)
    await node.proxies.follow(API)
    expect(packed.map(canaryOf)).toMatchObject([{ revision: 2, rule: { percent: 10 } }])
    await proxies.activate(ACME, proxy, { percent: 20 })
    await node.proxies.follow(API)
    await proxies.discard(ACME, proxy)
    await node.proxies.follow(API)
    await node.proxies.follow(API)
    expect(packed.slice(1).map(canaryOf)).toMatchObject([{ rule: { percent: 20 } }, undefined])
  })

  it('applies declarations and products of an API with a canary without compiling it', async () => {
    const { catalogue, proxies, proxy } = await openStaged()
    await proxies.activate(ACME, proxy, { percent: 10 })
    const node = catalogue.restart()
    await node.proxies.follow(API)
    node.gateway.calls.length = 0
    await catalogue.specifications.createOpenSla(ACME, { api: API, specification: base64(declaration()) })
    const { id } = await catalogue.products.create(ACME, { name: 'Bundle', apis: [API] })
    await node.proxies.follow(API)
    expect(node.gateway.calls).toEqual(['sla orders-v1 ', `members orders-v1 ${id}`])
  })

  it('compiles the canary that another node is about to activate, with both documents, and swaps it in', async () => {
    const { catalogue, proxies, proxy, nodes, packed } = await openStaged()
    const node = catalogue.restart()
    const prepared: PackedPlan[] = []
    const { prepare } = node.gateway
    node.gateway.prepare = (plan, slas) => (prepared.push(plan), prepare(plan, slas))
    let request = ''
    nodes.ask = async (asked) => {
      request = asked
      const reason = await node.proxies.prepare(asked)
      return reason === null ? [] : [{ node: 'other', reason }]
    }
    await proxies.activate(ACME, proxy, { percent: 10 })
    expect(request).not.toContain('document')
    expect(prepared).toEqual(packed)
    await node.proxies.follow(API)
    expect(node.gateway.calls).toEqual(['prepare orders-v1 1', 'swap orders-v1 1'])
  })

  it('refuses the canary, and a larger share of it, that it cannot compile: nothing changes, and the answer names it', async () => {
    const { catalogue, proxies, proxy, nodes, registry, gateway } = await openStaged()
    const node = catalogue.restart()
    nodes.ask = async (asked) => {
      const reason = await node.proxies.prepare(asked)
      return reason === null ? [] : [{ node: 'other', reason }]
    }
    const refused = {
      code: 'revision_unavailable',
      message: 'The node other cannot prepare the revision: Too many schemas.',
      extensions: { node: 'other' },
    }
    const fail = async (): Promise<void> => {
      throw new Problem('specification_invalid', 'Too many schemas.')
    }
    for (const canary of [null, { revision: 2, percent: 10 }]) {
      const end = await registry.end()
      node.gateway.onPrepare = fail
      await expect(proxies.activate(ACME, proxy, { percent: 20 })).rejects.toMatchObject(refused)
      expect(await registry.end()).toBe(end)
      expect(gateway.calls.at(-1)).toBe('abort orders-v1 1')
      expect((await proxies.get('acme', proxy)).canary).toEqual(canary && expect.objectContaining(canary))
      node.gateway.onPrepare = async () => {}
      await proxies.activate(ACME, proxy, { percent: 10 })
    }
    // A node that cannot compile anything does not prevent the end of the canary.
    node.gateway.onPrepare = fail
    expect(await proxies.discard(ACME, proxy)).toMatchObject({ canary: null })
  })

  it('starts with the canary, from stored documents and on its own', async () => {
    const { catalogue, proxies, proxy, registry, backends, packed } = await openStaged()
    await proxies.activate(ACME, proxy, { percent: 10 })
    const started = catalogue.restart()
    const plans = await Array.fromAsync(started.proxies.activePlans())
    expect(plans.map(({ plan }) => plan)).toEqual([packed.at(-1)])
    const stored = await Array.fromAsync(storedPlans({ registry, backendRule: backends }))
    expect(stored.map(({ plan }) => plan)).toEqual(plans)
  })

  it('refuses the calls of a canary that it cannot compile, and serves the others', async () => {
    const { catalogue, proxies, proxy } = await openStaged()
    const node = catalogue.restart()
    const packed: PackedPlan[] = []
    const { prepare } = node.gateway
    node.gateway.prepare = async (plan, slas) => {
      packed.push(plan)
      if (plan.canary?.plan.state === 'Active') throw new Problem('specification_invalid', 'No memory.')
      return prepare(plan, slas)
    }
    await proxies.activate(ACME, proxy, { percent: 10 })
    await expect(node.proxies.follow(API)).rejects.toThrow(RevisionWithheld)
    expect(packed.at(-1)).toMatchObject({ state: 'Active', canary: { plan: { state: 'Withheld', backend: null } } })
    node.gateway.prepare = prepare
    await node.proxies.follow(API)
    expect(node.gateway.calls.slice(-2)).toEqual(['prepare orders-v1 1', 'swap orders-v1 1'])
  })
})
