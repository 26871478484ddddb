/** Reads subscriptions with their operations, their remaining limits and recommendations. */

import type { SubscriptionState } from './document/subscription-machine.ts'
import type { Clock } from '../../foundation/runtime/clock.ts'
import type { Labels } from '../../storage/store/labels.ts'
import type { Document, Registry } from '../../storage/store/registry.ts'
import { CONSUMER_KIND } from '../access/consumer-document.ts'
import { CREDENTIAL_KIND } from '../access/credential-document.ts'
import { CREDENTIALS_MAX } from '../access/credentials.ts'
import { find, toTime } from '../command/commands.ts'
import type { LimitBook } from '../../boundary/plan/limit-book.ts'
import { listPage, type Page, type PageQuery } from '../command/page.ts'
import { PLATFORM_API, type PlatformOperation } from '../../foundation/domain/platform-api.ts'
import { PRODUCT_KIND } from '../publishing/products.ts'
import { toClientView, type ClientView } from './client-view.ts'
import { recommendTier, type Recommendation } from './recommendations.ts'
import type { DocumentReader } from '../publishing/document-reader.ts'
import type { Specifications } from '../publishing/specifications.ts'
import { createSubscribedOperations, ofPlatform, planFor, type SubscribedOperation } from './subscribed-operations.ts'
import { SUBSCRIPTION_KIND, type SubscriptionBody } from './document/subscription-document.ts'

export interface Subscription extends ClientView {
  readonly id: string
  readonly consumer: string
  /** Empty if the consumer was removed. */
  readonly consumerName: string
  readonly ApiId: string | null
  readonly ApiProductId: string | null
  readonly state: SubscriptionState
  readonly slaVariant: string | null
  readonly scopes: readonly string[]
  readonly redirectUris: readonly string[]
  readonly refreshTokens: boolean
  readonly approvalFlow: string | null
  readonly recommendations: readonly Recommendation[]
  readonly contact: string | null
  /** On this date the subscription is cancelled. */
  readonly expiresAt: string | null
  readonly labels: Labels
  readonly createdAt: string
}

export interface SubscriptionQuery extends PageQuery {
  readonly consumer?: string
  readonly api?: string
  readonly product?: string
  readonly state?: string
}

export interface SubscriptionReader {
  get(tenant: string, id: string): Promise<Subscription>
  list(tenant: string, query: SubscriptionQuery): Promise<Page<Subscription>>
  operations(tenant: string, id: string): Promise<Page<SubscribedOperation>>
}

export interface SubscriptionReaderOptions {
  readonly registry: Registry
  readonly documents: Pick<DocumentReader, 'compile'>
  readonly specifications: Pick<Specifications, 'plansInForce'>
  readonly limits: LimitBook
  readonly clock: Clock
  /** The operations of the platform API, which has no proxy. */
  readonly platformOperations?: readonly PlatformOperation[] | undefined
}

export function createSubscriptionReader(options: SubscriptionReaderOptions): SubscriptionReader {
  const { registry, specifications, limits, clock, platformOperations = [] } = options
  const operationsOf = createSubscribedOperations(options)

  async function operations(tenant: string, id: string): Promise<Page<SubscribedOperation>> {
    const { body } = await find(registry, tenant, SUBSCRIPTION_KIND, id)
    if (body.api === PLATFORM_API) {
      const plan = planFor(body.slaVariant, await specifications.plansInForce(PLATFORM_API, []))
      const usage = plan === null ? null : await limits.usage(id, plan)
      const items = ofPlatform(platformOperations, body.scopes, { plan, usage, nowMs: clock.nowMs() })
      return { items, next: null }
    }
    const items: SubscribedOperation[] = []
    for (const api of await apisOf(body)) items.push(...(await operationsOf(tenant, id, { ...body, api })))
    return { items, next: null }
  }

  async function apisOf({ api, apiProductId }: SubscriptionBody): Promise<readonly string[]> {
    if (api !== '') return [api]
    return (await registry.get(PRODUCT_KIND, apiProductId))?.body.apis ?? []
  }

  async function show(document: Document<SubscriptionBody>): Promise<Subscription> {
    const { id, tenant, body } = document
    const apis = body.actor.status === 'done' ? [] : await apisOf(body)
    const recommendations = apis.flatMap((api) => recommendTier(api, limits.breachesMs(id, api)))
    const consumerName = (await registry.get(CONSUMER_KIND, body.consumer))?.body.name ?? ''
    const where = { subscription: id }
    const credentials = await registry.list(CREDENTIAL_KIND, { tenant, where, limit: CREDENTIALS_MAX })
    const client = toClientView(
      credentials.map((each) => each.body),
      clock.nowMs(),
    )
    return { ...toSubscription(document), ...client, consumerName, recommendations }
  }

  async function get(tenant: string, id: string): Promise<Subscription> {
    return show(await find(registry, tenant, SUBSCRIPTION_KIND, id))
  }

  async function list(tenant: string, query: SubscriptionQuery): Promise<Page<Subscription>> {
    const { consumer, api, product, state } = query
    const where = { consumer, api, product, state }
    const page = await listPage<SubscriptionBody, Document<SubscriptionBody>>({
      registry,
      kind: SUBSCRIPTION_KIND,
      tenant,
      query,
      where,
      show: (document) => document,
    })
    return { ...page, items: await Promise.all(page.items.map(show)) }
  }

  return { get, list, operations }
}

function toSubscription({
  id,
  body,
  createdAtMs,
}: Document<SubscriptionBody>): Omit<Subscription, keyof ClientView | 'consumerName' | 'recommendations'> {
  return {
    id,
    consumer: body.consumer,
    ApiId: body.api === '' ? null : body.api,
    ApiProductId: body.apiProductId === '' ? null : body.apiProductId,
    state: body.actor.value as SubscriptionState,
    slaVariant: body.slaVariant === '' ? null : body.slaVariant,
    scopes: body.scopes,
    redirectUris: body.redirectUris ?? [],
    refreshTokens: body.refreshTokens === true,
    approvalFlow: body.approvalFlow ?? null,
    contact: body.contact ?? null,
    expiresAt: body.expiresAtMs === undefined ? null : toTime(body.expiresAtMs),
    labels: body.labels ?? {},
    createdAt: toTime(createdAtMs),
  }
}
