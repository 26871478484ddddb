/** `/v1/products`: bundles of APIs with common subscriptions. */

import type { Products } from '../../control/publishing/products.ts'
import type { ConsumerView } from '../../control/subscriptions/consumer-view.ts'
import type { Handlers, Operations } from './operation.ts'
import { id, labelledQuery, labels, list, name, named, object, reference, text } from './schemas.ts'

const apis = { type: 'array', maxItems: 100, uniqueItems: true, items: reference } as const
const product = named('Product', object({ id, name: text, apis: { type: 'array', items: text }, labels }))
const input = named('ProductInput', object({ name, apis, labels }, ['name', 'apis']))
const tag = 'Products'

export const PRODUCT_OPERATIONS = {
  createProduct: {
    method: 'POST',
    path: '/v1/products',
    summary: 'Creates a product, a bundle of APIs',
    tag,
    scope: 'products:write',
    body: input,
    status: 201,
    answer: product,
    problems: ['state_conflict'],
  },
  listProducts: {
    method: 'GET',
    path: '/v1/products',
    summary: 'Lists the products of the tenant',
    tag,
    scope: 'products:read',
    own: 'filtered',
    query: labelledQuery(),
    status: 200,
    answer: list(product),
  },
  getProduct: {
    method: 'GET',
    path: '/v1/products/:id',
    summary: 'Returns a product',
    tag,
    scope: 'products:read',
    own: 'filtered',
    status: 200,
    answer: product,
  },
  replaceProduct: {
    method: 'PUT',
    path: '/v1/products/:id',
    summary: 'Replaces a product; access to a removed API ends before this call returns',
    tag,
    scope: 'products:write',
    body: input,
    status: 200,
    answer: product,
    problems: ['state_conflict'],
    changes: 'getProduct',
  },
  updateProduct: {
    method: 'PATCH',
    path: '/v1/products/:id',
    summary: 'Changes members of a product; access to a removed API ends before this call returns',
    tag,
    scope: 'products:write',
    body: named('ProductChange', object({ name, apis, labels }, [])),
    status: 200,
    answer: product,
    problems: ['state_conflict'],
    changes: 'getProduct',
  },
  removeProduct: {
    method: 'DELETE',
    path: '/v1/products/:id',
    summary: 'Deletes a product whose subscriptions have ended',
    tag,
    scope: 'products:write',
    status: 204,
    problems: ['state_conflict', 'subscriptions_active'],
    changes: 'getProduct',
  },
} as const satisfies Operations

export interface ProductHandlersOptions {
  readonly products: Products
  readonly consumerView: ConsumerView
}

export function productHandlers({
  products,
  consumerView: view,
}: ProductHandlersOptions): Handlers<typeof PRODUCT_OPERATIONS> {
  return {
    createProduct: async ({ author, body }) => products.create(author, body),
    listProducts: async ({ author: { tenant }, owner, query }) =>
      owner === null ? products.list(tenant, query) : view.products(tenant, owner, query),
    getProduct: async ({ author: { tenant }, owner, params }) =>
      owner === null ? products.get(tenant, params.id) : view.product(tenant, owner, params.id),
    replaceProduct: async ({ author, params, body }) => products.replace(author, params.id, body),
    updateProduct: async ({ author, params, body }) => products.update(author, params.id, body),
    removeProduct: async ({ author, params }) => products.remove(author, params.id),
  }
}
