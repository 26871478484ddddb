/**
 * Fills the registry of a data folder by copying what the public API has made: the API with its proxy
 * and documents, the consumer, the subscription with its credentials, as often as asked. The service is
 * down meanwhile; nothing of a copy differs from what a client would have made but its names.
 */

import { randomBytes } from 'node:crypto'
import { CONSUMER_KIND, consumerWrite } from '../src/control/access/consumer-document.ts'
import { CREDENTIAL_KIND, credentialWrite } from '../src/control/access/credential-document.ts'
import { API_KIND, apiWrite } from '../src/control/publishing/apis.ts'
import { PROXY_KIND, proxyWrite } from '../src/control/publishing/proxy-document.ts'
import { systemClock } from '../src/foundation/runtime/clock.ts'
import { createIdFactory } from '../src/foundation/runtime/ids.ts'
import type { Registry, Write } from '../src/storage/store/registry.ts'
import { openSqliteRegistry } from '../src/storage/store/sqlite/registry.ts'
import { SUBSCRIPTION_KIND, subscriptionWrite } from '../src/control/subscriptions/document/subscription-document.ts'

export interface StockOptions {
  /** Path of the registry. */
  readonly path: string
  readonly api: string
  readonly subscription: string
  readonly apis: number
  readonly subscriptions: number
  /** The copies of the subscription are spread over as many copies of its consumer; 0: all of them are of that consumer. */
  readonly consumers?: number
}

type CreateId = (prefix: string) => string

const COPIES_AT_ONCE = 500
const AUTHOR = { tenant: 'default', consumer: 'bench' }

export async function stock(options: StockOptions): Promise<void> {
  const { path, api, subscription, apis, subscriptions, consumers = 0 } = options
  const registry = openSqliteRegistry({ path, clock: systemClock })
  const createId = createIdFactory(systemClock.nowMs)
  try {
    const copyApi = await apiCopier(registry, createId, api)
    await copyAll(registry, apis, (number) => copyApi(`bench${number}-v1`))
    const held = await need(registry.get(SUBSCRIPTION_KIND, subscription))
    const owners = Array.from({ length: consumers }, () => createId('con'))
    const copyConsumer = await consumerCopier(registry, held.body.consumer)
    await copyAll(registry, consumers, (number) => copyConsumer(owners[number]!, number))
    const copySubscription = await subscriptionCopier(registry, createId, subscription)
    await copyAll(registry, subscriptions, (number) => copySubscription(owners[number % consumers]))
  } finally {
    registry.close()
  }
}

async function copyAll(registry: Registry, count: number, copy: (number: number) => readonly Write[]): Promise<void> {
  for (let from = 0; from < count; from += COPIES_AT_ONCE) {
    const numbers = Array.from({ length: Math.min(COPIES_AT_ONCE, count - from) }, (_, at) => from + at)
    await registry.commit(AUTHOR, 'bench.stock', numbers.flatMap(copy))
  }
}

async function apiCopier(registry: Registry, createId: CreateId, api: string) {
  const entry = await need(registry.get(API_KIND, api))
  const proxy = await need(registry.find(PROXY_KIND, 'api', api))
  return (name: string): Write[] => [
    apiWrite(name, entry.tenant, 0, entry.body),
    proxyWrite(createId('prx'), proxy.tenant, 0, { ...proxy.body, api: name }),
  ]
}

async function consumerCopier(registry: Registry, id: string) {
  const { tenant, body } = await need(registry.get(CONSUMER_KIND, id))
  return (copy: string, number: number): Write[] => [
    consumerWrite(copy, tenant, 0, { ...body, name: `${body.name} ${number}` }),
  ]
}

async function subscriptionCopier(registry: Registry, createId: CreateId, id: string) {
  const { tenant, body } = await need(registry.get(SUBSCRIPTION_KIND, id))
  const credentials = await registry.list(CREDENTIAL_KIND, { tenant, where: { subscription: id }, limit: 10 })
  return (consumer = body.consumer): Write[] => {
    const copy = createId('sub')
    return [
      subscriptionWrite(copy, tenant, 0, { ...body, consumer }),
      ...credentials.map(({ body: held }) => {
        const isKey = held.type === 'ApiKey'
        const name = isKey ? { keyHash: randomBytes(32).toString('hex') } : { clientId: createId('cli') }
        return credentialWrite(createId('crd'), tenant, 0, { ...held, ...name, subscription: copy })
      }),
    ]
  }
}

async function need<T>(found: Promise<T | null>): Promise<T> {
  const document = await found
  if (document === null) throw new Error('the data folder does not hold what is to be copied')
  return document
}
