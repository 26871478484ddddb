import { describe, expect, it } from 'vitest'
import type { StageInput } from '../../../../src/control/publishing/deployment.ts'
import {
  ACME,
  base64,
  publishApi,
  OFFERED,
  openTestCatalogue,
  orders,
  RIVAL,
  type TestCatalogue,
} from '../../../fixtures/test-catalogue.ts'
import { PROXY_KIND } from '../../../../src/control/publishing/proxy-document.ts'
import { OPENAPI_SPEC_KIND } from '../../../../src/control/publishing/specifications.ts'

const API = 'orders-v1'
const stageInput = (more: Partial<StageInput> = {}): StageInput => ({
  api: API,
  specification: base64(orders()),
  ...more,
})

const fatesOf = async (catalogue: TestCatalogue, id: string): Promise<string[]> =>
  (await catalogue.proxies.revisions('acme', id)).items.map(({ revision, fate }) => `${revision} ${fate}`)

describe('a staged revision', () => {
  it('warns of operations that write and that everybody may call', async () => {
    const { proxies } = openTestCatalogue()
    const api = JSON.parse(orders().toString()) as { paths: Record<string, object>; security?: object[] }
    const operation = (operationId: string, more = {}) => ({
      operationId,
      responses: { 200: { description: 'done' } },
      ...more,
    })
    api.security = []
    api.paths['/own'] = { put: operation('own', { security: [{ key: [] }] }), get: operation('read') }
    api.paths['/none'] = { post: operation('none'), delete: operation('any', { security: [{ key: [] }, {}] }) }
    const specification = base64(Buffer.from(JSON.stringify(api)))
    const { id, warnings } = await proxies.stage(ACME, stageInput({ specification }))
    expect(warnings).toEqual([expect.stringMatching(/without a credential .*: none, any\.$/)])
    expect((await proxies.activate(ACME, id)).warnings).toEqual(warnings)
  })

  it('creates the proxy and the catalogue entry if it is the first of the API', async () => {
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
      declaredScopes: expect.arrayContaining(['orders:read', 'orders:write', 'orders:audit']) as string[],
      MemberOfProductIds: [],
      backend: { url: 'https://orders.example/base', timeoutMs: 30_000 },
      transform: null,
      backendSource: 'document',
      canary: null,
      staging: {
        revision: 1,
        backend: { url: 'https://orders.example/base', timeoutMs: 30_000 },
        transform: null,
        backendSource: 'document',
      },
      labels: {},
      hasStaging: true,
      warnings: [],
    })
    expect(await apis.get('acme', API)).toEqual({
      id: API,
      labels: {},
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
    expect(gateway.calls).toEqual([])
  })

  it('shows the targets of its backend as they were given, and serves them', async () => {
    const catalogue = openTestCatalogue()
    const backend = {
      targets: [{ url: 'https://a.example/x/', weight: 2 }, { url: 'https://b.example' }],
      balance: 'leastBusy',
      timeoutMs: 500,
    } as const
    const { id, staging } = await catalogue.proxies.stage(ACME, stageInput({ backend }))
    expect(staging?.backend).toEqual(backend)
    const active = await catalogue.proxies.activate(ACME, id)
    expect(active.backend).toEqual(backend)
    const [served] = await Array.fromAsync(catalogue.proxies.activePlans())
    expect(served?.plan.backend).toMatchObject({
      targets: [
        { origin: 'https://a.example', basePath: '/x', weight: 2 },
        { origin: 'https://b.example', basePath: '' },
      ],
      balance: 'leastBusy',
    })
    const again = { api: API, fromRevision: 1 }
    expect((await catalogue.proxies.stage(ACME, again)).staging?.backend).toEqual(backend)
  })

  it('replaces the previous staged revision under a new number, and does not affect the active one', async () => {
    const catalogue = openTestCatalogue()
    const { proxy } = await publishApi(catalogue)
    await catalogue.proxies.stage(ACME, stageInput())
    const staged = await catalogue.proxies.stage(ACME, stageInput({ backend: { url: 'http://other.example:81/' } }))

    expect(staged).toMatchObject({ id: proxy, state: 'active', revision: 1, activeRevision: 1, stagingRevision: 3 })
    expect(staged.backend.url).toBe('https://orders.example/base')
    expect(staged.staging).toMatchObject({ revision: 3, backend: { url: 'http://other.example:81/' } })
    expect(await fatesOf(catalogue, proxy)).toEqual(['1 active', '2 replaced', '3 staging'])
    expect(catalogue.gateway.calls).toEqual([])
    expect((await Array.fromAsync(catalogue.proxies.activePlans())).map(({ plan }) => plan.revision)).toEqual([1])
  })

  it('may be a copy of a retained revision', async () => {
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

  it('is refused if it breaks callers of the active one, with the changes, and nothing is stored', async () => {
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

  it('may break callers of a service for development', async () => {
    const catalogue = openTestCatalogue({ allowsBreaking: true })
    const { proxy } = await publishApi(catalogue)
    const narrower = { listOrders: OFFERED.listOrders }
    await catalogue.proxies.stage(ACME, stageInput({ specification: base64(orders({ operations: narrower })) }))
    expect(await catalogue.proxies.activate(ACME, proxy)).toMatchObject({ activeRevision: 2 })
  })

  it('may break callers of another major version, or of a revision that was never active', async () => {
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
    ['a name that the document does not yield', { api: 'orders-v2' }, '/api'],
    ['neither a document nor a revision', { specification: undefined as never }, '/specification'],
    ['both a document and a revision', { fromRevision: 1 }, '/specification'],
    ['invalid base64', { specification: '=nonsense' }, '/specification'],
    ['an unknown revision', { specification: undefined as never, fromRevision: 7 }, '/fromRevision'],
    ['a scope that the document does not declare', { allowedScopes: ['orders:read', 'x'] }, '/allowedScopes/1'],
    ['a backend that is no http URL', { backend: { url: 'file:///etc/passwd' } }, '/backend/url'],
    ['a backend with a password', { backend: { url: 'https://a:b@c.example' } }, '/backend/url'],
  ])('is refused for %s, with a pointer, and nothing is stored', async (_, more, pointer) => {
    const { proxies, apis } = openTestCatalogue()
    const input = stageInput(more)
    if (input.specification === undefined) delete (input as { specification?: string }).specification

    await expect(proxies.stage(ACME, input)).rejects.toMatchObject({ status: 400, errors: [{ pointer }] })
    expect((await proxies.list('acme', { limit: 9 })).items).toEqual([])
    expect((await apis.list('acme', { limit: 9 })).items).toEqual([])
  })

  it('is refused if neither the request nor the document has a usable backend', async () => {
    const { proxies } = openTestCatalogue()
    const specification = base64(orders({ servers: [{ url: '/relative' }] }))

    await expect(proxies.stage(ACME, stageInput({ specification }))).rejects.toMatchObject({ status: 400 })
    const backend = { url: 'https://b.example', timeoutMs: 5, health: '/up' }
    expect((await proxies.stage(ACME, stageInput({ specification, backend }))).backend).toEqual(backend)
  })

  it('is refused if another tenant has the name', async () => {
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
