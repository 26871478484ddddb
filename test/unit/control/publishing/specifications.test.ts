import { describe, expect, it } from 'vitest'
import {
  ACME,
  base64,
  declaration,
  publishApi,
  openTestCatalogue,
  orders,
  RIVAL,
} from '../../../fixtures/test-catalogue.ts'
import { SWAGGER } from '../../../fixtures/swagger-document.ts'
import { OUTBOX_EVENT_KIND } from '../../../../src/control/command/event-outbox.ts'
import { lint } from '../../../../src/documents/governance/lint/lint.ts'
import { OPENSLA_SPEC_KIND, openSlaWrite } from '../../../../src/control/publishing/specifications.ts'
import type { DocumentKind } from '../../../../src/storage/store/registry.ts'

const API = 'orders-v1'

describe('published documents', () => {
  it('are returned byte for byte, with their media type', async () => {
    const catalogue = openTestCatalogue()
    await publishApi(catalogue)
    const bytes = declaration()
    const { id } = await catalogue.specifications.createOpenSla(ACME, { api: API, specification: base64(bytes) })
    const [document] = (await catalogue.specifications.openApis('acme', { limit: 9 })).items

    expect(await catalogue.specifications.openSlaContent('acme', id)).toEqual({ bytes, mediaType: 'application/yaml' })
    expect(document).toMatchObject({ api: API, version: '1.2.3', mediaType: 'application/json' })
    const content = await catalogue.specifications.openApiContent('acme', document?.id ?? '')
    expect(content).toEqual({ bytes: orders(), mediaType: 'application/json' })
  })

  it('are stored in their converted form if they were published as Swagger 2.0', async () => {
    const { proxies, specifications } = openTestCatalogue()
    const { api } = await proxies.stage(ACME, { api: 'stock-v1', specification: base64(Buffer.from(SWAGGER)) })
    const [document] = (await specifications.openApis('acme', { api, limit: 9 })).items
    const { bytes, mediaType } = await specifications.openApiContent('acme', document?.id ?? '')
    expect([document?.mediaType, mediaType]).toEqual(['application/json', 'application/json'])
    expect(JSON.parse(bytes.toString())).toMatchObject({ openapi: '3.0.4', paths: { '/counts/{id}': {} } })
    expect(await lint(bytes)).toMatchObject({ isServable: true })
  })

  it('are accepted with line breaks in their base64', async () => {
    const catalogue = openTestCatalogue()
    const wrapped = base64(orders()).replaceAll(/.{76}/g, '$&\r\n')
    const { api } = await catalogue.proxies.stage(ACME, { api: API, specification: `${wrapped}\n` })
    expect(api).toBe(API)
  })

  it('are refused in linear time if their base64 is mostly white space', async () => {
    const catalogue = openTestCatalogue()
    const specification = `A${'\n'.repeat(10_000_000)}!`
    const refused = catalogue.proxies.stage(ACME, { api: API, specification })
    await expect(refused).rejects.toMatchObject({ errors: [{ pointer: '/specification' }] })
  })

  it('are listed without their bytes', async () => {
    const catalogue = openTestCatalogue()
    await publishApi(catalogue)
    await catalogue.specifications.createOpenSla(ACME, { api: API, specification: base64(declaration()) })

    for (const kind of ['openapispec', 'openslaspec']) {
      const [document] = await catalogue.registry.list(kind as DocumentKind<unknown>, { limit: 1 })
      expect(JSON.stringify(document).length).toBeLessThan(500)
    }
  })

  it('are 404 for another tenant, and under the id of another kind', async () => {
    const catalogue = openTestCatalogue()
    await publishApi(catalogue)
    const { specifications } = catalogue
    const { id } = await specifications.createOpenSla(ACME, { api: API, specification: base64(declaration()) })
    const missing = { status: 404, code: 'not_found' }

    await expect(specifications.openSla('rival', id)).rejects.toMatchObject(missing)
    await expect(specifications.openSlaContent('rival', id)).rejects.toMatchObject(missing)
    await expect(specifications.openApiContent('acme', id)).rejects.toMatchObject(missing)
    expect((await specifications.openSlas('rival', { limit: 9 })).items).toEqual([])
  })
})

describe('a declaration', () => {
  it('replaces the one of its variant, on disk and then on every thread', async () => {
    const catalogue = openTestCatalogue()
    await publishApi(catalogue)
    const { specifications, gateway } = catalogue
    const create = (variant: string, perMinute: number) =>
      specifications.createOpenSla(ACME, { api: API, specification: base64(declaration({ variant, perMinute })) })
    const first = await create('gold', 1)
    const other = await create('plain', 2)
    const second = await create('gold', 3)
    const { items } = await specifications.openSlas('acme', { limit: 9, api: API })

    expect(items.map(({ id, variant, inForce }) => [id, variant, inForce])).toEqual([
      [first.id, 'gold', false],
      [other.id, 'plain', true],
      [second.id, 'gold', true],
    ])
    const idsOf = async (inForce: boolean) =>
      (await specifications.openSlas('acme', { limit: 9, api: API, inForce })).items.map(({ id }) => id)
    expect(await idsOf(true)).toEqual([other.id, second.id])
    expect(await idsOf(false)).toEqual([first.id])
    expect(gateway.calls).toEqual(['sla orders-v1 gold', 'sla orders-v1 plain', 'sla orders-v1 gold'])
    const inForce = await specifications.plansInForce(API, ['listOrders'])
    expect(inForce.map(({ variant, limits }) => [variant, limits[0]?.rule.value])).toEqual([
      ['plain', 2],
      ['gold', 3],
    ])
    expect(gateway.slas.map(({ number }) => number)).toEqual([1, 2, 3])
    expect(inForce.map(({ number }) => number)).toEqual([3, 3])
  })

  it('of an earlier version has no number, and counts as older than any other', async () => {
    const catalogue = openTestCatalogue()
    await publishApi(catalogue)
    const { registry, specifications, gateway } = catalogue
    const create = () => specifications.createOpenSla(ACME, { api: API, specification: base64(declaration()) })
    const { id } = await create()
    const { revision, body } = (await registry.get(OPENSLA_SPEC_KIND, id))!
    const { number: _number, ...earlier } = body
    await registry.commit(ACME, 'test', [openSlaWrite(id, 'acme', revision, earlier)])
    expect(await specifications.plansInForce(API, [])).toMatchObject([{ number: 0 }])
    await create()
    expect(gateway.slas.at(-1)).toMatchObject({ number: 1 })
  })

  it('is the only one of its variant in force, also after concurrent requests', async () => {
    const catalogue = openTestCatalogue()
    await publishApi(catalogue)
    const { specifications } = catalogue
    const input = { api: API, specification: base64(declaration()) }
    const ends = await Promise.allSettled([
      specifications.createOpenSla(ACME, input),
      specifications.createOpenSla(ACME, input),
    ])

    // The requests are serialized; the second replaces the first.
    expect(ends.map(({ status }) => status)).toEqual(['fulfilled', 'fulfilled'])
    expect(await specifications.plansInForce(API, [])).toHaveLength(1)
    expect(catalogue.gateway.slas).toHaveLength(2)
    const changes = await catalogue.registry.list(OUTBOX_EVENT_KIND, { limit: 9 })
    expect(changes.map(({ body }) => body.type)).toEqual(['SlaChanged'])
  })

  it('is refused with a pointer if it names an unknown operation, and changes nothing', async () => {
    const catalogue = openTestCatalogue()
    await publishApi(catalogue)
    const specification = base64(declaration({ operationIds: ['listOrders', 'none'] }))

    await expect(catalogue.specifications.createOpenSla(ACME, { api: API, specification })).rejects.toMatchObject({
      code: 'specification_invalid',
      errors: [{ pointer: '/limits/0/operationIds/1' }],
    })
    expect(catalogue.gateway.calls).toEqual([])
    expect(await catalogue.specifications.plansInForce(API, [])).toEqual([])
  })

  it.each([
    ['another tenant’s API', RIVAL, API],
    ['an unknown API', ACME, 'none-v1'],
  ])('is refused for %s', async (_, author, api) => {
    const catalogue = openTestCatalogue()
    await publishApi(catalogue)
    const created = catalogue.specifications.createOpenSla(author, { api, specification: base64(declaration()) })
    await expect(created).rejects.toMatchObject({ status: 400, errors: [{ pointer: '/api' }] })
  })
})

describe('SlaChanged', () => {
  const changesOf = async ({ registry }: ReturnType<typeof openTestCatalogue>): Promise<unknown[]> =>
    (await registry.list(OUTBOX_EVENT_KIND, { limit: 99 }))
      .filter(({ body }) => body.type === 'SlaChanged')
      .map(({ body }) => body.data)

  it('is published by the first declaration for an API that already has subscriptions', async () => {
    const catalogue = openTestCatalogue()
    const { consumer } = await publishApi(catalogue)
    await catalogue.subscriptions.create(ACME, { consumer, api: API })
    await catalogue.specifications.createOpenSla(ACME, { api: API, specification: base64(declaration()) })
    expect(await changesOf(catalogue)).toEqual([{ api: API, variant: null, from: null, to: '1.0.0' }])
  })

  it('is published for subscriptions to a product that contains the API, if they have the declared variant', async () => {
    const catalogue = openTestCatalogue()
    const { consumer } = await publishApi(catalogue)
    await catalogue.proxies.stage(ACME, { api: 'parcels-v1', specification: base64(orders({ title: 'Parcels' })) })
    const gold = base64(declaration({ variant: 'gold' }))
    await catalogue.specifications.createOpenSla(ACME, { api: 'parcels-v1', specification: gold })
    const { id: product } = await catalogue.products.create(ACME, { name: 'Trade', apis: [API, 'parcels-v1'] })
    await catalogue.subscriptions.create(ACME, { consumer, product, slaVariant: 'gold' })
    await catalogue.specifications.createOpenSla(ACME, {
      api: API,
      specification: base64(declaration({ variant: 'silver' })),
    })
    expect(await changesOf(catalogue)).toEqual([])
    await catalogue.specifications.createOpenSla(ACME, { api: API, specification: gold })
    expect(await changesOf(catalogue)).toEqual([{ api: API, variant: 'gold', from: null, to: '1.0.0' }])
  })

  it('is not published by the first declaration if all subscriptions are cancelled', async () => {
    const catalogue = openTestCatalogue()
    const { consumer } = await publishApi(catalogue)
    const { id } = await catalogue.subscriptions.create(ACME, { consumer, api: API })
    await catalogue.subscriptions.cancel(ACME, id)
    await catalogue.specifications.createOpenSla(ACME, { api: API, specification: base64(declaration()) })
    expect(await changesOf(catalogue)).toEqual([])
  })
})
