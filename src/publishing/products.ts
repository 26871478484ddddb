/**
 * Products: bundles of APIs with a common subscription.
 *
 * Each proxy stores the products that it is a member of; they change in the same commit as the product. Every
 * gateway thread applies the change before the command returns, so that an API that leaves a product rejects
 * the product's credentials immediately, including tokens that have not expired.
 */

import { Problem } from '../domain/problem.ts'
import type { CreateId } from '../runtime/ids.ts'
import { documentKind, type Author, type Document, type Registry, type Write } from '../store/registry.ts'
import { commit, find, invalidAt } from '../command/commands.ts'
import type { GatewayPort } from '../plan/gateway-port.ts'
import { listPage, type Page, type PageQuery } from '../command/page.ts'
import { PROXY_KIND, proxyWrite, type ProxyBody } from './proxy-document.ts'
import type { KeyedMutex } from '../command/keyed-mutex.ts'

export interface ProductInput {
  readonly name: string
  readonly apis: readonly string[]
}

export interface Product extends ProductInput {
  readonly id: string
}

export type ProductBody = ProductInput

export interface Products {
  create(author: Author, input: ProductInput): Promise<Product>
  replace(author: Author, id: string, input: ProductInput): Promise<Product>
  get(tenant: string, id: string): Promise<Product>
  list(tenant: string, query: PageQuery): Promise<Page<Product>>
}

export interface ProductsOptions {
  readonly registry: Registry
  readonly gateway: Pick<GatewayPort, 'applyMembership'>
  readonly createId: CreateId
  readonly mutex: KeyedMutex
}

export const PRODUCT_KIND = documentKind<ProductBody>('product', ['name', 'apis'])
/** Limited, because every gateway thread holds the list. */
const PRODUCTS_PER_API_MAX = 500

export function createProducts({ registry, gateway, createId, mutex }: ProductsOptions): Products {
  async function get(tenant: string, id: string): Promise<Product> {
    return showProduct(await find(registry, tenant, PRODUCT_KIND, id))
  }

  /** Commits the product and the proxies that join or leave it, then updates the gateway threads. */
  async function save(author: Author, product: Write, apis: readonly string[], before: readonly string[]) {
    const changed = [...apis, ...before].filter((api) => apis.includes(api) !== before.includes(api))
    const proxies = await Promise.all(changed.map((api) => proxyOf(author.tenant, api, apis.indexOf(api))))
    const moved = proxies.map(({ id, tenant, revision, body }) => {
      const others = body.memberOfProductIds.filter((each) => each !== product.id)
      const memberOfProductIds = apis.includes(body.api) ? [...others, product.id] : others
      if (memberOfProductIds.length > PRODUCTS_PER_API_MAX) throw tooMany(body.api)
      return proxyWrite(id, tenant, revision, { ...body, memberOfProductIds })
    })
    await commit(registry, author, 'product.save', [product, ...moved])
    await Promise.all(
      moved.map(({ body }) => {
        const { api, memberOfProductIds } = body as ProxyBody
        return gateway.applyMembership(api, memberOfProductIds)
      }),
    )
  }

  async function proxyOf(tenant: string, api: string, position: number): Promise<Document<ProxyBody>> {
    const proxy = await registry.find(PROXY_KIND, 'api', api)
    if (proxy?.tenant !== tenant) throw invalidAt(`/apis/${position}`, 'The API does not exist or has no proxy.')
    return proxy
  }

  return {
    get,
    create: (author, input) =>
      mutex.runExclusive(input.apis, async () => {
        const id = createId('prd')
        const write = { kind: PRODUCT_KIND, id, tenant: author.tenant, expected: 0, body: input }
        await save(author, write, input.apis, [])
        return get(author.tenant, id)
      }),
    // Serialized with all replacements, because the APIs to lock are read from the product.
    replace: (author, id, input) =>
      mutex.runExclusive([PRODUCT_KIND], async () => {
        const { apis: before } = await get(author.tenant, id)
        return mutex.runExclusive([...new Set([...before, ...input.apis])], async () => {
          const { tenant, revision } = await find(registry, author.tenant, PRODUCT_KIND, id)
          await save(author, { kind: PRODUCT_KIND, id, tenant, expected: revision, body: input }, input.apis, before)
          return get(tenant, id)
        })
      }),
    list: (tenant, query) => listPage({ registry, kind: PRODUCT_KIND, tenant, query, show: showProduct }),
  }
}

function tooMany(api: string): Problem {
  return new Problem(
    'state_conflict',
    `The API ${api} is already a member of ${PRODUCTS_PER_API_MAX} products, which is the maximum.`,
  )
}

export function showProduct({ id, body }: Document<ProductBody>): Product {
  return { id, ...body }
}
