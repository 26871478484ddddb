import { describe, expect, it } from 'vitest'
import type { StageInput } from '../../../src/publishing/deployment.ts'
import type { Proxies } from '../../../src/publishing/proxies.ts'
import type { ActivePlan } from '../../../src/publishing/serving-plan.ts'
import { Problem } from '../../../src/domain/problem.ts'
import {
  ACME,
  base64,
  declaration,
  publishApi,
  OFFERED,
  openTestCatalogue,
  orders,
  RIVAL,
  type TestCatalogue,
} from '../../fixtures/test-catalogue.ts'
import { COMPILED_KIND } from '../../../src/publishing/compiled-document.ts'
import { PROXY_KIND } from '../../../src/publishing/proxy-document.ts'
import { OPENAPI_SPEC_KIND } from '../../../src/publishing/specifications.ts'

const API = 'orders-v1'
const stageInput = (more: Partial<StageInput> = {}): StageInput => ({
  api: API,
  specification: base64(orders()),
  ...more,
})

async function plansOf(proxies: Proxies): Promise<ActivePlan[]> {
  return Array.fromAsync(proxies.activePlans())
}

const fatesOf = async (catalogue: TestCatalogue, id: string): Promise<string[]> =>
  (await catalogue.proxies.revisions('acme', id)).items.map(({ revision, fate }) => `${revision} ${fate}`)

describe('a revision that is staged', () => {
  it('is the first of the API’s one proxy, and makes the catalogue entry', async () => {
    const { proxies, apis, gateway } = openTestCatalogue()
    const proxy = await proxies.stage(ACME, stageInput())

    expect(proxy).toEqual({
      id: expect.stringMatching(/^prx_/) as string,
      api: API,
      state: 'staging',
      revision: null,
      activeRevision: null,
      stagingRevision: 1,
      allowedScopes: expect.arrayContaining(['orders:read', 'orders:write', 'orders:audit']) as string[],
      MemberOfProductIds: [],
      backend: { url: 'https://orders.example/base', timeoutMs: 30_000 },
      backendSource: 'document',
      staging: {
        revision: 1,
        backend: { url: 'https://orders.example/base', timeoutMs: 30_000 },
        backendSource: 'document',
      },
      warnings: [],
    })
    expect(await apis.get('acme', API)).toEqual({
      id: API,
      title: 'Orders',
      major: 1,
      version: '1.2.3',
      state: 'Prospect',
      owner: 'con_acme',
      complianceScore: null,
      programme: null,
      retirementDate: null,
      successor: null,
    })
    expect(gateway.heard).toEqual([])
  })

  it('replaces the one before under a new number, and leaves what serves alone', async () => {
    const catalogue = openTestCatalogue()
    const { proxy } = await publishApi(catalogue)
    await catalogue.proxies.stage(ACME, stageInput())
    const staged = await catalogue.proxies.stage(ACME, stageInput({ backend: { url: 'http://other.example:81/' } }))

    expect(staged).toMatchObject({ id: proxy, state: 'active', revision: 1, activeRevision: 1, stagingRevision: 3 })
    expect(staged.backend.url).toBe('https://orders.example/base')
    expect(staged.staging).toMatchObject({ revision: 3, backend: { url: 'http://other.example:81/' } })
    expect(await fatesOf(catalogue, proxy)).toEqual(['1 active', '2 replaced', '3 staging'])
    expect(catalogue.gateway.heard).toEqual([])
    expect((await plansOf(catalogue.proxies)).map(({ plan }) => plan.revision)).toEqual([1])
  })

  it('may be what a kept revision deployed', async () => {
    const catalogue = openTestCatalogue()
    const { proxies, gateway } = catalogue
    const { proxy } = await publishApi(catalogue)
    await proxies.stage(
      ACME,
      stageInput({ specification: base64(orders({ operations: { ...OFFERED, another: [] } })) }),
    )
    await proxies.activate(ACME, proxy)
    await proxies.stage(ACME, { api: API, fromRevision: 1 })
    await proxies.activate(ACME, proxy)

    expect(gateway.prepared.at(-1)?.plan.operations.map(({ operationId }) => operationId)).toEqual([
      'listOrders',
      'createOrder',
    ])
    expect(await fatesOf(catalogue, proxy)).toEqual(['1 superseded', '2 superseded', '3 active'])
  })

  it('is refused where it breaks what serves, with what it breaks, and nothing is made', async () => {
    const catalogue = openTestCatalogue()
    const { proxies } = catalogue
    const { proxy } = await publishApi(catalogue)
    const narrower = { listOrders: OFFERED.listOrders }
    const staged = proxies.stage(ACME, stageInput({ specification: base64(orders({ operations: narrower })) }))
    await expect(staged).rejects.toMatchObject({
      status: 409,
      code: 'breaking_change',
      extensions: {
        changes: [{ id: 'operation.removed', level: 'breaking', pointer: '/paths/~1createOrder/get' }],
      },
    })
    expect(await proxies.get('acme', proxy)).toMatchObject({ stagingRevision: null, activeRevision: 1 })
    expect(await catalogue.registry.list(OPENAPI_SPEC_KIND, { limit: 9 })).toHaveLength(1)
  })

  it('may be another major version beside the one that it breaks, or break what never served', async () => {
    const catalogue = openTestCatalogue()
    const { proxies } = catalogue
    await publishApi(catalogue)
    const narrower = { operations: { listOrders: OFFERED.listOrders } }
    const next = base64(orders({ ...narrower, version: '2.0.0' }))
    expect(await proxies.stage(ACME, { api: 'orders-v2', specification: next })).toMatchObject({ api: 'orders-v2' })
    const wider = base64(orders({ operations: { ...OFFERED, another: [] } }))
    await proxies.stage(ACME, stageInput({ specification: wider }))
    expect(await proxies.stage(ACME, stageInput())).toMatchObject({ stagingRevision: 3 })
  })

  it.each<[string, Partial<StageInput>, string]>([
    ['a name that the document does not give', { api: 'orders-v2' }, '/api'],
    ['neither a document nor a revision', { specification: undefined as never }, '/specification'],
    ['both a document and a revision', { fromRevision: 1 }, '/specification'],
    ['what is not base64', { specification: '=nonsense' }, '/specification'],
    ['a revision that is not kept', { specification: undefined as never, fromRevision: 7 }, '/fromRevision'],
    ['a scope that the document does not declare', { allowedScopes: ['orders:read', 'x'] }, '/allowedScopes/1'],
    ['a backend that is no web address', { backend: { url: 'file:///etc/passwd' } }, '/backend/url'],
    ['a backend with a password', { backend: { url: 'https://a:b@c.example' } }, '/backend/url'],
  ])('is refused for %s, with its place, and nothing is made', async (_, more, pointer) => {
    const { proxies, apis } = openTestCatalogue()
    const input = stageInput(more)
    if (input.specification === undefined) delete (input as { specification?: string }).specification

    await expect(proxies.stage(ACME, input)).rejects.toMatchObject({ status: 400, errors: [{ pointer }] })
    expect((await proxies.list('acme', { limit: 9 })).items).toEqual([])
    expect((await apis.list('acme', { limit: 9 })).items).toEqual([])
  })

  it('is refused without a usable backend: neither named nor in the document', async () => {
    const { proxies } = openTestCatalogue()
    const specification = base64(orders({ servers: [{ url: '/relative' }] }))

    await expect(proxies.stage(ACME, stageInput({ specification }))).rejects.toMatchObject({ status: 400 })
    const backend = { url: 'https://b.example', timeoutMs: 5, health: '/up' }
    expect((await proxies.stage(ACME, stageInput({ specification, backend }))).backend).toEqual(backend)
  })

  it('is refused under a name that another tenant has, by name alone', async () => {
    const catalogue = openTestCatalogue()
    await publishApi(catalogue)
    await expect(catalogue.proxies.stage(RIVAL, stageInput())).rejects.toMatchObject({
      status: 409,
      code: 'name_taken',
    })
    expect((await catalogue.proxies.list('rival', { limit: 9 })).items).toEqual([])
  })

  it.each([ACME, RIVAL])('is refused under the name of the platform’s own API, for $tenant', async (author) => {
    const catalogue = openTestCatalogue()
    const body = { title: 'Platform', major: 1, version: '1.0.0', state: 'Active', ownScopes: ['apis:read'] }
    const entry = { kind: 'api', id: 'platform-v1', tenant: 'acme', expected: 0, body }
    await catalogue.registry.commit(ACME, 'platform.start', [entry])
    const specification = base64(orders({ title: 'Platform', version: '1.0.0' }))

    const staged = catalogue.proxies.stage(author, { api: 'platform-v1', specification })
    await expect(staged).rejects.toMatchObject({ status: 409, code: 'name_taken' })
    expect(await catalogue.registry.find(PROXY_KIND, 'api', 'platform-v1')).toBeNull()
  })
})

/** Another process that writes the same document: it moves on by a revision. */
async function touch({ registry }: TestCatalogue, id: string): Promise<void> {
  const document = await registry.get(PROXY_KIND, id)
  if (document === null) throw new Error('the proxy is gone')
  const { kind, tenant, revision, body } = document
  const keys = { api: body.api }
  await registry.commit(ACME, 'test.touch', [{ kind, id, tenant, expected: revision, body, keys, unique: ['api'] }])
}

describe('an activation', () => {
  it('prepares every thread, then commits, then swaps, then answers', async () => {
    const catalogue = openTestCatalogue()
    const { proxies, gateway, apis } = catalogue
    const { id } = await proxies.stage(ACME, stageInput())
    const seen: unknown[] = []
    gateway.onPrepare = async () => void seen.push((await proxies.get('acme', id)).activeRevision)
    gateway.onSwap = async () => void seen.push((await proxies.get('acme', id)).activeRevision)
    const proxy = await proxies.activate(ACME, id)

    expect(seen).toEqual([null, 1])
    expect(gateway.heard).toEqual(['prepare orders-v1 1', 'swap orders-v1 1'])
    expect(proxy).toMatchObject({ state: 'active', revision: 1, activeRevision: 1, stagingRevision: null })
    expect((await apis.get('acme', API)).state).toBe('Active')
  })

  it('swaps nothing and forgets what was compiled where the commit fails', async () => {
    const catalogue = openTestCatalogue()
    const { proxies, gateway } = catalogue
    const { proxy } = await publishApi(catalogue)
    await proxies.stage(ACME, stageInput())
    gateway.onPrepare = () => touch(catalogue, proxy)

    await expect(proxies.activate(ACME, proxy)).rejects.toMatchObject({ status: 409, code: 'state_conflict' })
    expect(gateway.heard).toEqual(['prepare orders-v1 2', 'abort orders-v1 2'])
    expect(await proxies.get('acme', proxy)).toMatchObject({ activeRevision: 1, stagingRevision: 2 })
    expect((await plansOf(catalogue.restart().proxies)).map(({ plan }) => plan.revision)).toEqual([1])
  })

  it('is not overtaken: what comes meanwhile waits until every thread serves the revision', async () => {
    const catalogue = openTestCatalogue()
    const { proxies, gateway } = catalogue
    const { proxy } = await publishApi(catalogue)
    await proxies.stage(ACME, stageInput())
    let late: Promise<unknown> = Promise.resolve()
    gateway.onPrepare = async () => {
      late = proxies.discard(ACME, proxy).catch((problem: unknown) => problem)
    }

    expect(await proxies.activate(ACME, proxy)).toMatchObject({ activeRevision: 2 })
    expect(gateway.heard).toEqual(['prepare orders-v1 2', 'swap orders-v1 2'])
    expect(await late).toMatchObject({ code: 'no_staging_revision' })
  })

  it('swaps nothing where the disk refuses the commit, and says so', async () => {
    const catalogue = openTestCatalogue()
    const { proxies, gateway, registry } = catalogue
    const { proxy } = await publishApi(catalogue)
    await proxies.stage(ACME, stageInput())
    const { commit } = registry
    registry.commit = async () => {
      throw new Error('disk full')
    }

    await expect(proxies.activate(ACME, proxy)).rejects.toThrow('disk full')
    expect(gateway.heard).toEqual(['prepare orders-v1 2', 'abort orders-v1 2'])
    registry.commit = commit
    expect(await proxies.activate(ACME, proxy)).toMatchObject({ activeRevision: 2 })
  })

  it('changes nothing where a thread cannot compile the revision', async () => {
    const catalogue = openTestCatalogue()
    const { proxies, gateway } = catalogue
    const { proxy } = await publishApi(catalogue)
    await proxies.stage(ACME, stageInput())
    gateway.onPrepare = async () => {
      throw new Problem('specification_invalid', 'A schema cannot be compiled.')
    }

    await expect(proxies.activate(ACME, proxy)).rejects.toMatchObject({ code: 'specification_invalid' })
    expect(gateway.heard).toEqual(['prepare orders-v1 2'])
    expect(await proxies.get('acme', proxy)).toMatchObject({ activeRevision: 1, stagingRevision: 2 })
  })

  it('holds after the death of the process between commit and swap: the next start serves it', async () => {
    const catalogue = openTestCatalogue()
    const { proxy } = await publishApi(catalogue)
    await catalogue.proxies.stage(ACME, stageInput({ specification: base64(orders({ version: '1.3.0' })) }))
    catalogue.gateway.onSwap = async () => {
      throw new Error('the process is gone')
    }
    await expect(catalogue.proxies.activate(ACME, proxy)).rejects.toThrow('the process is gone')

    const next = catalogue.restart()
    expect((await plansOf(next.proxies)).map(({ plan }) => plan.revision)).toEqual([2])
    expect(await next.apis.get('acme', API)).toMatchObject({ version: '1.3.0' })
  })

  it('is won by one of two at once; the other is 409 and its compilation forgotten', async () => {
    const catalogue = openTestCatalogue()
    const { proxies, gateway } = catalogue
    const { proxy } = await publishApi(catalogue)
    await proxies.stage(ACME, stageInput())
    const ends = await Promise.allSettled([proxies.activate(ACME, proxy), proxies.activate(ACME, proxy)])

    expect(ends.map(({ status }) => status).sort()).toEqual(['fulfilled', 'rejected'])
    expect(ends.find(({ status }) => status === 'rejected')).toMatchObject({ reason: { status: 409 } })
    expect(gateway.heard.filter((word) => word.startsWith('swap'))).toEqual(['swap orders-v1 2'])
    expect(gateway.heard.filter((word) => word.startsWith('abort'))).toHaveLength(
      gateway.heard.filter((word) => word.startsWith('prepare')).length - 1,
    )
  })

  it('never swaps in limits older than those in force: a declaration that comes meanwhile comes after', async () => {
    const catalogue = openTestCatalogue()
    const { proxies, specifications, gateway } = catalogue
    const { proxy } = await publishApi(catalogue)
    await specifications.createOpenSla(ACME, { api: API, specification: base64(declaration({ perMinute: 10 })) })
    await proxies.stage(ACME, stageInput())
    gateway.heard.length = 0
    let declared: Promise<unknown> = Promise.resolve()
    gateway.onPrepare = async () => {
      declared = specifications.createOpenSla(ACME, { api: API, specification: base64(declaration({ perMinute: 5 })) })
    }

    await proxies.activate(ACME, proxy)
    await declared
    expect(gateway.heard).toEqual(['prepare orders-v1 2', 'swap orders-v1 2', 'sla orders-v1 '])
    expect(gateway.slas.at(-1)?.limits[0]?.rule.value).toBe(5)
  })

  it.each(['activate', 'discard'] as const)('or a discarding needs a staging revision: %s', async (verb) => {
    const catalogue = openTestCatalogue()
    const { proxy } = await publishApi(catalogue)

    const refused = catalogue.proxies[verb](ACME, proxy)
    await expect(refused).rejects.toMatchObject({ status: 409, code: 'no_staging_revision' })
    expect(catalogue.gateway.heard).toEqual([])
  })

  it.each(['activate', 'discard'] as const)('or a discarding of another tenant’s proxy is 404: %s', async (verb) => {
    const catalogue = openTestCatalogue()
    const { proxy } = await publishApi(catalogue)
    await catalogue.proxies.stage(ACME, stageInput())

    await expect(catalogue.proxies[verb](RIVAL, proxy)).rejects.toMatchObject({ status: 404, code: 'not_found' })
    expect(await catalogue.proxies.get('acme', proxy)).toMatchObject({ stagingRevision: 2 })
    await expect(catalogue.proxies.get('rival', proxy)).rejects.toMatchObject({ code: 'not_found' })
    await expect(catalogue.proxies.revisions('rival', proxy)).rejects.toMatchObject({ code: 'not_found' })
  })
})

describe('what serves', () => {
  it('is served again after a restart, each API once with its limits', async () => {
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

  it('is compiled anew from its document where it was compiled by other rules, and else is not', async () => {
    const catalogue = openTestCatalogue()
    await publishApi(catalogue)
    const [document] = await catalogue.registry.list(COMPILED_KIND, { limit: 2 })
    if (document === undefined) throw new Error('nothing is compiled')
    const { kind, id, tenant } = document
    const change = async (expected: number, body: object): Promise<string[]> => {
      await catalogue.registry.commit(ACME, 'change', [{ kind, id, tenant, expected, body }])
      const plans = await plansOf(catalogue.restart().proxies)
      return plans.flatMap(({ plan }) => plan.operations.map(({ operationId }) => operationId))
    }

    expect(await change(1, { ...document.body, operations: [] })).toEqual([])
    expect(await change(2, { ...document.body, operations: [], rules: 0 })).toEqual(['listOrders', 'createOrder'])
  })

  it('starts though a declaration names an operation that was only staged, or is no more', async () => {
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
