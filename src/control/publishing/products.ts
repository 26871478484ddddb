/**
 * Products: bundles of APIs with a common subscription.
 *
 * Each proxy stores the products that it is a member of; they change in the same commit as the product. Every
 * gateway thread applies the change before the command returns, so that an API that leaves a product rejects
 * the product's credentials immediately, including tokens that have not expired.
 */

import { Problem } from '../../foundation/domain/problem.ts'
import type { CreateId } from '../../foundation/runtime/ids.ts'
import type { Labelled, Labels } from '../../storage/store/labels.ts'
import { documentKind, type Author, type Document, type Registry, type Write } from '../../storage/store/registry.ts'
import { commit, find, invalidAt } from '../command/commands.ts'
import type { GatewayPort } from '../../boundary/plan/gateway-port.ts'
import { listPage, type Page, type PageQuery } from '../command/page.ts'
import { PROXY_KIND, proxyWrite, type ProxyBody } from './proxy-document.ts'
import type { KeyedMutex } from '../command/keyed-mutex.ts'
import { refuseSubscribed, subscriptionsLock } from '../subscriptions/document/live-subscriptions.ts'

export interface ProductInput extends Labelled {
  readonly name: string
  readonly apis: readonly string[]
}

export interface Product extends ProductInput {
  readonly id: string
  readonly labels: Labels
}

export type ProductBody = ProductInput

export interface Products {
  create(author: Author, input: ProductInput): Promise<Product>
  replace(author: Author, id: string, input: ProductInput): Promise<Product>
  update(author: Author, id: string, change: Partial<ProductInput>): Promise<Product>
  /** Throws `Problem('subscriptions_active')` if a subscription to the product has not ended. */
  remove(author: Author, id: string): Promise<void>
  get(tenant: string, id: string): Promise<Product>
  list(tenant: string, query: PageQuery): Promise<Page<Product>>
}

export interface ProductsOptions {
  readonly registry: Registry
  readonly gateway: Pick<GatewayPort, 'applyMembership'>
  readonly createId: CreateId
  readonly mutex: KeyedMutex
}

export const PRODUCT_KIND = documentKind<ProductBody>('product', ['name', 'apis', 'labels'])
/** Limited, because every gateway thread holds the list. */
const PRODUCTS_PER_API_MAX = 500

export function createProducts(options: ProductsOptions): Products {
  const { registry, createId, mutex } = options
  const get = async (tenant: string, id: string): Promise<Product> =>
    showProduct(await find(registry, tenant, PRODUCT_KIND, id))

  return {
    get,
    create: (author, input) =>
      mutex.runExclusive(input.apis, async () => {
        const id = createId('prd')
        const write = { kind: PRODUCT_KIND, id, tenant: author.tenant, expected: 0, body: input }
        await save(options, author, write, input.apis, [])
        return get(author.tenant, id)
      }),
    // A client that does not know labels keeps them.
    replace: (author, id, input) =>
      change(options, author, id, ({ labels }) => ({ ...(labels && { labels }), ...input })),
    update: (author, id, members) => change(options, author, id, (body) => ({ ...body, ...members })),
    remove: (author, id) => mutex.runExclusive([PRODUCT_KIND], () => remove(options, author, id)),
    list: (tenant, query) => listPage({ registry, kind: PRODUCT_KIND, tenant, query, show: showProduct }),
  }
}

/** Serialized with all changes of products, because the APIs to lock are read from the product. */
function change(
  options: ProductsOptions,
  author: Author,
  id: string,
  to: (body: ProductBody) => ProductBody,
): Promise<Product> {
  const { registry, mutex } = options
  return mutex.runExclusive([PRODUCT_KIND], async () => {
    const { tenant, revision, body } = await find(registry, author.tenant, PRODUCT_KIND, id)
    const next = to(body)
    // Checked before they are locked: an API cannot have the name of a lock that this change holds.
    await Promise.all(next.apis.map((api, position) => proxyOf(registry, tenant, api, position)))
    return mutex.runExclusive([...new Set([...body.apis, ...next.apis])], async () => {
      const write = { kind: PRODUCT_KIND, id, tenant, expected: revision, body: next }
      await save(options, author, write, next.apis, body.apis)
      return showProduct(await find(registry, tenant, PRODUCT_KIND, id))
    })
  })
}

async function remove(options: ProductsOptions, author: Author, id: string): Promise<void> {
  const { registry, mutex } = options
  const { tenant, revision, body } = await find(registry, author.tenant, PRODUCT_KIND, id)
  await mutex.runExclusive([...body.apis, subscriptionsLock(tenant)], async () => {
    const detail = 'The product has subscriptions. Cancel them before you remove it.'
    await refuseSubscribed(registry, tenant, [{ product: id }], detail)
    await save(options, author, { kind: PRODUCT_KIND, id, tenant, expected: revision, body: null }, [], body.apis)
  })
}

/** Commits the product and the proxies that join or leave it, then updates the gateway threads. */
async function save(
  { registry, gateway }: ProductsOptions,
  author: Author,
  product: Write,
  apis: readonly string[],
  before: readonly string[],
): Promise<void> {
  const changed = [...apis, ...before].filter((api) => apis.includes(api) !== before.includes(api))
  const proxies = await Promise.all(changed.map((api) => proxyOf(registry, author.tenant, api, apis.indexOf(api))))
  const moved = proxies.map(({ id, tenant, revision, body }) => {
    const others = body.memberOfProductIds.filter((each) => each !== product.id)
    const memberOfProductIds = apis.includes(body.api) ? [...others, product.id] : others
    if (memberOfProductIds.length > PRODUCTS_PER_API_MAX) throw tooMany(body.api)
    return proxyWrite(id, tenant, revision, { ...body, memberOfProductIds })
  })
  const action = product.body === null ? 'product.remove' : 'product.save'
  await commit(registry, author, action, [product, ...moved])
  await Promise.all(
    moved.map(({ body }) => {
      const { api, memberOfProductIds } = body as ProxyBody
      return gateway.applyMembership(api, memberOfProductIds)
    }),
  )
}

async function proxyOf(
  registry: Registry,
  tenant: string,
  api: string,
  position: number,
): Promise<Document<ProxyBody>> {
  const proxy = await registry.find(PROXY_KIND, 'api', api)
  if (proxy?.tenant !== tenant) throw invalidAt(`/apis/${position}`, 'The API does not exist or has no proxy.')
  return proxy
}

function tooMany(api: string): Problem {
  return new Problem(
    'state_conflict',
    `The API ${api} is already a member of ${PRODUCTS_PER_API_MAX} products, which is the maximum.`,
    { extensions: { state: 'full', allowed: [] } },
  )
}

export function showProduct({ id, body }: Document<ProductBody>): Product {
  return { id, ...body, labels: body.labels ?? {} }
}
