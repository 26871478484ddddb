import { describe, expect, it } from 'vitest'
import { ACME, base64, declaration, furnish, openHouse, orders, RIVAL } from '../../fixtures/test-catalogue.ts'

const API = 'orders-v1'

describe('published documents', () => {
  it('are given back byte for byte, with their media type', async () => {
    const house = openHouse()
    await furnish(house)
    const bytes = declaration()
    const { id } = await house.specifications.createOpenSla(ACME, { api: API, specification: base64(bytes) })
    const [document] = (await house.specifications.openApis('acme', { limit: 9 })).items

    expect(await house.specifications.openSlaContent('acme', id)).toEqual({ bytes, mediaType: 'application/yaml' })
    expect(document).toMatchObject({ api: API, version: '1.2.3', mediaType: 'application/json' })
    const content = await house.specifications.openApiContent('acme', document?.id ?? '')
    expect(content).toEqual({ bytes: orders(), mediaType: 'application/json' })
  })

  it('are read however their base64 is wrapped', async () => {
    const house = openHouse()
    const wrapped = base64(orders()).replaceAll(/.{76}/g, '$&\r\n')
    const { api } = await house.proxies.stage(ACME, { api: API, specification: `${wrapped}\n` })
    expect(api).toBe(API)
  })

  it('are refused in linear time where their base64 is white space without an end', async () => {
    const house = openHouse()
    const specification = `A${'\n'.repeat(10_000_000)}!`
    const refused = house.proxies.stage(ACME, { api: API, specification })
    await expect(refused).rejects.toMatchObject({ errors: [{ pointer: '/specification' }] })
  })

  it('are listed without their bytes', async () => {
    const house = openHouse()
    await furnish(house)
    await house.specifications.createOpenSla(ACME, { api: API, specification: base64(declaration()) })

    for (const kind of ['openapispec', 'openslaspec']) {
      const [document] = await house.registry.list(kind, { limit: 1 })
      expect(JSON.stringify(document).length).toBeLessThan(500)
    }
  })

  it('are 404 for another tenant, and under the id of another kind', async () => {
    const house = openHouse()
    await furnish(house)
    const { specifications } = house
    const { id } = await specifications.createOpenSla(ACME, { api: API, specification: base64(declaration()) })
    const missing = { status: 404, code: 'not_found' }

    await expect(specifications.openSla('rival', id)).rejects.toMatchObject(missing)
    await expect(specifications.openSlaContent('rival', id)).rejects.toMatchObject(missing)
    await expect(specifications.openApiContent('acme', id)).rejects.toMatchObject(missing)
    expect((await specifications.openSlas('rival', { limit: 9 })).items).toEqual([])
  })
})

describe('a declaration', () => {
  it('comes into force on disk, then on every thread, in the place of the one of its variant', async () => {
    const house = openHouse()
    await furnish(house)
    const { specifications, gateway } = house
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
    expect(gateway.heard).toEqual(['sla orders-v1 gold', 'sla orders-v1 plain', 'sla orders-v1 gold'])
    const inForce = await specifications.plansInForce(API, ['listOrders'])
    expect(inForce.map(({ variant, limits }) => [variant, limits[0]?.rule.value])).toEqual([
      ['plain', 2],
      ['gold', 3],
    ])
  })

  it('is one a variant in force, also where two come at once', async () => {
    const house = openHouse()
    await furnish(house)
    const { specifications } = house
    const input = { api: API, specification: base64(declaration()) }
    const ends = await Promise.allSettled([
      specifications.createOpenSla(ACME, input),
      specifications.createOpenSla(ACME, input),
    ])

    // One after the other: the later replaces the earlier.
    expect(ends.map(({ status }) => status)).toEqual(['fulfilled', 'fulfilled'])
    expect(await specifications.plansInForce(API, [])).toHaveLength(1)
    expect(house.gateway.slas).toHaveLength(2)
    const changes = await house.registry.list<{ type: string }>('event', { limit: 9 })
    expect(changes.map(({ body }) => body.type)).toEqual(['SlaChanged'])
  })

  it('is refused with its place where it names what the API has not, and nothing comes into force', async () => {
    const house = openHouse()
    await furnish(house)
    const specification = base64(declaration({ operationIds: ['listOrders', 'none'] }))

    await expect(house.specifications.createOpenSla(ACME, { api: API, specification })).rejects.toMatchObject({
      code: 'specification_invalid',
      errors: [{ pointer: '/limits/0/operationIds/1' }],
    })
    expect(house.gateway.heard).toEqual([])
    expect(await house.specifications.plansInForce(API, [])).toEqual([])
  })

  it.each([
    ['another tenant’s API', RIVAL, API],
    ['an API that is not there', ACME, 'none-v1'],
  ])('is refused for %s', async (_, author, api) => {
    const house = openHouse()
    await furnish(house)
    const created = house.specifications.createOpenSla(author, { api, specification: base64(declaration()) })
    await expect(created).rejects.toMatchObject({ status: 400, errors: [{ pointer: '/api' }] })
  })
})

describe('SlaChanged', () => {
  const changesOf = async ({ registry }: ReturnType<typeof openHouse>): Promise<unknown[]> =>
    (await registry.list<{ type: string; data: object }>('event', { limit: 99 }))
      .filter(({ body }) => body.type === 'SlaChanged')
      .map(({ body }) => body.data)

  it('is raised by the first declaration for an API that already has subscriptions', async () => {
    const house = openHouse()
    const { consumer } = await furnish(house)
    await house.subscriptions.create(ACME, { consumer, api: API })
    await house.specifications.createOpenSla(ACME, { api: API, specification: base64(declaration()) })
    expect(await changesOf(house)).toEqual([{ api: API, variant: null, from: null, to: '1.0.0' }])
  })

  it('is raised by it for a subscription to a product that holds the API, of the variant that it declares', async () => {
    const house = openHouse()
    const { consumer } = await furnish(house)
    await house.proxies.stage(ACME, { api: 'parcels-v1', specification: base64(orders({ title: 'Parcels' })) })
    const gold = base64(declaration({ variant: 'gold' }))
    await house.specifications.createOpenSla(ACME, { api: 'parcels-v1', specification: gold })
    const { id: product } = await house.products.create(ACME, { name: 'Trade', apis: [API, 'parcels-v1'] })
    await house.subscriptions.create(ACME, { consumer, product, slaVariant: 'gold' })
    await house.specifications.createOpenSla(ACME, {
      api: API,
      specification: base64(declaration({ variant: 'silver' })),
    })
    expect(await changesOf(house)).toEqual([])
    await house.specifications.createOpenSla(ACME, { api: API, specification: gold })
    expect(await changesOf(house)).toEqual([{ api: API, variant: 'gold', from: null, to: '1.0.0' }])
  })

  it('is not raised by the first declaration where no subscription is left', async () => {
    const house = openHouse()
    const { consumer } = await furnish(house)
    const { id } = await house.subscriptions.create(ACME, { consumer, api: API })
    await house.subscriptions.cancel(ACME, id)
    await house.specifications.createOpenSla(ACME, { api: API, specification: base64(declaration()) })
    expect(await changesOf(house)).toEqual([])
  })
})
