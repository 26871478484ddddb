/**
 * The part of the catalogue that one consumer sees: the APIs and products that it may subscribe to, and those that it has.
 *
 * The exposure of an API is set by its policy, and that of a consumer by the provider: `Internal` consumers see every API, `Partner`
 * consumers those for partners and for everyone, and `Public` consumers those for everyone. An API that is not active yet, or retired,
 * is visible only to its subscribers. A product is visible if each of its APIs is.
 */

import { CONSUMER_KIND } from '../access/consumer-document.ts'
import { find, notFound } from '../command/commands.ts'
import { listFiltered, type Page, type PageQuery } from '../command/page.ts'
import type { Document, Registry } from '../../storage/store/registry.ts'
import { policyOf, type ApiPolicy } from '../publishing/api-policy.ts'
import { API_KIND, showApi, type Api, type ApiBody, type ApiQuery } from '../publishing/apis.ts'
import { PRODUCT_KIND, showProduct, type Product, type ProductBody } from '../publishing/products.ts'
import { PROXY_KIND } from '../publishing/proxy-document.ts'
import { SUBSCRIPTION_KIND } from './document/subscription-document.ts'

export interface ConsumerView {
  api(tenant: string, consumer: string, name: string): Promise<Api>
  apis(tenant: string, consumer: string, query: ApiQuery): Promise<Page<Api>>
  product(tenant: string, consumer: string, id: string): Promise<Product>
  products(tenant: string, consumer: string, query: PageQuery): Promise<Page<Product>>
  /** Whether the consumer may subscribe to the API or to the product. */
  isVisible(
    tenant: string,
    consumer: string,
    to: { readonly api?: string; readonly product?: string },
  ): Promise<boolean>
}

type Reader = Pick<Registry, 'get' | 'find' | 'list'>

const RANKS: readonly ApiPolicy['exposure'][] = ['Public', 'Partner', 'Internal']
const LIVE_STATES = ['Active', 'Suspended', 'Pending', 'WaitlistedForCapacity']
const SUBSCRIPTIONS_MAX = 500

export function createConsumerView({ registry }: { readonly registry: Registry }): ConsumerView {
  async function showsApi(consumer: string, { id, tenant, body }: Document<ApiBody>): Promise<boolean> {
    if (isOpen(body) && (await isExposed(registry, consumer, id))) return true
    return (await subscriptionsTo(registry, tenant, consumer, id)).length > 0
  }

  async function showsProduct(consumer: string, { id, tenant, body }: Document<ProductBody>): Promise<boolean> {
    if (body.apis.length > 0 && (await everyExposed(registry, consumer, body.apis))) return true
    return (await liveSubscriptions(registry, tenant, { consumer, product: id })).length > 0
  }

  return {
    async api(tenant, consumer, name) {
      const entry = await find(registry, tenant, API_KIND, name)
      if (!(await showsApi(consumer, entry))) throw notFound(API_KIND, name)
      return showToConsumer(entry)
    },
    apis: (tenant, consumer, query) =>
      listFiltered({
        registry,
        kind: API_KIND,
        tenant,
        query,
        where: { state: query.state },
        prefix: query.id,
        show: showToConsumer,
        isShown: (entry) => showsApi(consumer, entry),
      }),
    async product(tenant, consumer, id) {
      const product = await find(registry, tenant, PRODUCT_KIND, id)
      if (!(await showsProduct(consumer, product))) throw notFound(PRODUCT_KIND, id)
      return showProduct(product)
    },
    products: (tenant, consumer, query) =>
      listFiltered({
        registry,
        kind: PRODUCT_KIND,
        tenant,
        query,
        show: showProduct,
        isShown: (product) => showsProduct(consumer, product),
      }),
    async isVisible(tenant, consumer, { api, product }) {
      const [entry, bundle] = [
        api === undefined ? null : await registry.get(API_KIND, api),
        product === undefined ? null : await registry.get(PRODUCT_KIND, product),
      ]
      if (bundle !== null) return bundle.tenant === tenant && showsProduct(consumer, bundle)
      if (entry === null) return false
      // The platform API belongs to the operator, and every tenant may subscribe to it.
      return entry.body.ownScopes !== undefined || (entry.tenant === tenant && showsApi(consumer, entry))
    },
  }
}

/** Returns the ids of the consumer's subscriptions to an API that have not ended, also through products. */
export async function subscriptionsTo(
  registry: Reader,
  tenant: string,
  consumer: string,
  api: string,
): Promise<readonly string[]> {
  const proxy = await registry.find(PROXY_KIND, 'api', api)
  const products = proxy?.body.memberOfProductIds ?? []
  const found = await Promise.all(
    [{ api }, ...products.map((product) => ({ product }))].map((to) =>
      liveSubscriptions(registry, tenant, { consumer, ...to }),
    ),
  )
  return found.flat()
}

async function liveSubscriptions(
  registry: Reader,
  tenant: string,
  where: Readonly<Record<string, string>>,
): Promise<readonly string[]> {
  const found = await Promise.all(
    LIVE_STATES.map((state) =>
      registry.list(SUBSCRIPTION_KIND, { tenant, where: { ...where, state }, limit: SUBSCRIPTIONS_MAX }),
    ),
  )
  return found.flat().map(({ id }) => id)
}

async function everyExposed(registry: Reader, consumer: string, apis: readonly string[]): Promise<boolean> {
  for (const api of apis) {
    const entry = await registry.get(API_KIND, api)
    if (entry === null || !isOpen(entry.body) || !(await isExposed(registry, consumer, api))) return false
  }
  return true
}

/** The score and the programme are for those who publish the API. */
function showToConsumer(entry: Document<ApiBody>): Api {
  return { ...showApi(entry), complianceScore: null, programme: null }
}

function isOpen({ state }: ApiBody): boolean {
  return state === 'Active' || state === 'Deprecated'
}

async function isExposed(registry: Reader, consumer: string, api: string): Promise<boolean> {
  const { exposure } = await policyOf(registry, api)
  const reach = (await registry.get(CONSUMER_KIND, consumer))?.body.exposure ?? 'Public'
  return RANKS.indexOf(exposure) <= RANKS.indexOf(reach)
}
