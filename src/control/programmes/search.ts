/**
 * Finds resources by the beginning of an id or of a name, a few of each kind.
 *
 * The registry reads as many documents as it returns, so the cost of a search does not grow with the tenant.
 */

import { CONSUMER_KIND } from '../access/consumer-document.ts'
import { stateOf as stateOfUser, USER_KIND } from '../access/people/user-document.ts'
import { API_KIND } from '../publishing/apis.ts'
import { PRODUCT_KIND } from '../publishing/products.ts'
import type { Document, DocumentKind, Registry } from '../../storage/store/registry.ts'
import { SUBSCRIPTION_KIND, type SubscriptionBody } from '../subscriptions/document/subscription-document.ts'
import { PROGRAMME_KIND, stateOf } from './programme-document.ts'

export const FOUND_KINDS = ['api', 'consumer', 'subscription', 'product', 'programme', 'user'] as const
export type FoundKind = (typeof FOUND_KINDS)[number]

export interface Found {
  readonly kind: FoundKind
  readonly id: string
  readonly name: string
  /** Tells it from others with the same name. */
  readonly detail: string
  /** The consumer that it belongs to. */
  readonly consumer: string | null
}

export interface Search {
  find(kind: FoundKind, tenant: string, text: string, limit: number): Promise<readonly Found[]>
}

export function createSearch({ registry }: { readonly registry: Pick<Registry, 'search' | 'get'> }): Search {
  const read =
    <Body>(kind: DocumentKind<Body>, show: (document: Document<Body>) => Omit<Found, 'kind' | 'id'>) =>
    async (query: { readonly tenant: string; readonly text: string; readonly limit: number }) =>
      (await registry.search(kind, query)).map((document) => ({ id: document.id, ...show(document) }))
  const readers: Record<FoundKind, ReturnType<typeof read>> = {
    api: read(API_KIND, ({ body }) => ({ name: body.title, detail: body.state, consumer: null })),
    consumer: read(CONSUMER_KIND, ({ body }) => ({ name: body.name, detail: body.kind, consumer: null })),
    subscription: read(SUBSCRIPTION_KIND, ({ body }) => showSubscription(body)),
    product: read(PRODUCT_KIND, ({ body }) => ({ name: body.name, detail: '', consumer: null })),
    programme: read(PROGRAMME_KIND, ({ body }) => ({ name: body.name, detail: stateOf(body), consumer: null })),
    user: read(USER_KIND, ({ body }) => ({
      name: body.name,
      detail: `${body.username} · ${stateOfUser(body)}`,
      consumer: null,
    })),
  }
  return {
    async find(kind, tenant, text, limit) {
      return (await readers[kind]({ tenant, text, limit })).map((each) => ({ kind, ...each }))
    },
  }
}

function showSubscription({ api, apiProductId, actor, consumer }: SubscriptionBody): Omit<Found, 'kind' | 'id'> {
  return { name: api === '' ? apiProductId : api, detail: String(actor.value), consumer }
}
