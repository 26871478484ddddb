/**
 * Fills the registry of a data folder by copying what the public API has made: the API with its proxy
 * and documents, the subscription with its consumer and credentials, as often as asked. The service is
 * down meanwhile; nothing of a copy differs from what a client would have made but its names.
 */

import { randomBytes } from 'node:crypto'
import { systemClock } from '../src/runtime/clock.ts'
import { createIdFactory } from '../src/runtime/ids.ts'
import type { Document, Registry, Write } from '../src/store/registry.ts'
import { openSqliteRegistry } from '../src/store/sqlite/registry.ts'
import { API_KIND } from '../src/publishing/apis.ts'
import { SUBSCRIPTION_KIND, type SubscriptionBody } from '../src/subscriptions/document/subscription-document.ts'
import { PROXY_KIND } from '../src/publishing/proxy-document.ts'
import { CREDENTIAL_KIND } from '../src/access/credential-document.ts'

export interface StockOptions {
  /** Path of the registry. */
  readonly path: string
  readonly api: string
  readonly subscription: string
  readonly apis: number
  readonly subscriptions: number
}

const COPIES_AT_ONCE = 500
const AUTHOR = { tenant: 'default', consumer: 'bench' }

export async function stock({ path, api, subscription, apis, subscriptions }: StockOptions): Promise<void> {
  const registry = openSqliteRegistry({ path, clock: systemClock })
  const createId = createIdFactory(systemClock.nowMs)
  try {
    const copyApi = await apiCopier(registry, createId, api)
    await copyAll(registry, apis, (number) => copyApi(`bench${number}-v1`))
    const copySubscription = await subscriptionCopier(registry, createId, subscription)
    await copyAll(registry, subscriptions, copySubscription)
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

async function apiCopier(registry: Registry, createId: (prefix: string) => string, api: string) {
  const entry = await need(registry.get(API_KIND, api))
  const proxy = await need(registry.find(PROXY_KIND, 'api', api))
  return (name: string): Write[] => [
    write(entry, name, entry.body, { state: entry.body.state }),
    write(proxy, createId('prx'), { ...proxy.body, api: name }, { api: name }, ['api']),
  ]
}

async function subscriptionCopier(registry: Registry, createId: (prefix: string) => string, id: string) {
  const subscription = await need(registry.get(SUBSCRIPTION_KIND, id))
  const where = { subscription: id }
  const credentials = await registry.list(CREDENTIAL_KIND, { tenant: subscription.tenant, where, limit: 10 })
  const keys = ({ consumer, api }: SubscriptionBody) => ({ consumer, api, state: 'Active' })
  return (): Write[] => {
    const copy = createId('sub')
    return [
      write(subscription, copy, subscription.body, keys(subscription.body)),
      ...credentials.map(({ body, ...credential }) => {
        const isKey = body.type === 'ApiKey'
        const name = isKey ? { keyHash: randomBytes(32).toString('hex') } : { clientId: createId('cli') }
        const next = { ...body, ...name, subscription: copy }
        return write({ ...credential, body }, createId('crd'), next, { subscription: copy, ...name }, Object.keys(name))
      }),
    ]
  }
}

function write<Body>(
  { kind, tenant }: Document<Body>,
  id: string,
  body: Body,
  keys: Readonly<Record<string, string>>,
  unique: readonly string[] = [],
): Write {
  return { kind, id, tenant, expected: 0, body, keys, unique }
}

async function need<T>(found: Promise<T | null>): Promise<T> {
  const document = await found
  if (document === null) throw new Error('the data folder does not hold what is to be copied')
  return document
}
