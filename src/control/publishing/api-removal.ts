/**
 * Removes APIs without subscriptions.
 *
 * When the command returns, every gateway thread answers 404 for the API and its name is free, also for other tenants. Documents,
 * declarations and usage stay, because bills refer to them.
 */

import { commit, find, stateConflict } from '../command/commands.ts'
import { dropDueWrite } from '../command/due-times.ts'
import type { KeyedMutex } from '../command/keyed-mutex.ts'
import { Problem } from '../../foundation/domain/problem.ts'
import type { GatewayPort } from '../../boundary/plan/gateway-port.ts'
import type { Author, Document, Registry, Write } from '../../storage/store/registry.ts'
import { refuseSubscribed, subscriptionsLock } from '../subscriptions/document/live-subscriptions.ts'
import { API_POLICY_KIND } from './api-policy.ts'
import { API_KIND, type ApiBody } from './apis.ts'
import { PRODUCT_KIND } from './products.ts'
import { PROXY_KIND, type ProxyBody } from './proxy-document.ts'
import { RETIREMENT_DUE } from './retirement.ts'
import { endedDeclarationWrites } from './specifications.ts'

export interface ApiRemoval {
  /**
   * Throws `Problem('subscriptions_active')` if a subscription has not ended, and `Problem('state_conflict')` if the API belongs to a
   * product or is the platform's own.
   */
  remove(author: Author, api: string): Promise<void>
}

export interface ApiRemovalOptions {
  readonly registry: Registry
  readonly gateway: Pick<GatewayPort, 'withdraw'>
  readonly mutex: KeyedMutex
}

export function createApiRemoval(options: ApiRemovalOptions): ApiRemoval {
  const { registry, mutex } = options

  return {
    async remove(author, api) {
      // Found before it is locked: an API cannot have the name of another lock.
      const { tenant, body } = await find(registry, author.tenant, API_KIND, api)
      if (body.ownScopes !== undefined) throw stateConflict({ state: body.state, allowed: [] })
      await mutex.runExclusive([PRODUCT_KIND], () =>
        mutex.runExclusive([api, subscriptionsLock(tenant)], () => remove(options, author, api)),
      )
    },
  }
}

async function remove({ registry, gateway }: ApiRemovalOptions, author: Author, api: string): Promise<void> {
  const { tenant } = author
  const entry = await find(registry, tenant, API_KIND, api)
  const proxy = await registry.find(PROXY_KIND, 'api', api)
  const products = proxy?.body.memberOfProductIds ?? []
  const keys = [{ api }, ...products.map((product) => ({ product }))]
  await refuseSubscribed(registry, tenant, keys, 'The API has subscriptions. Cancel them before you remove it.')
  if (products.length > 0) throw isMember(entry.body, products)
  await commit(registry, author, 'api.remove', [
    ...(await entryWrites(registry, entry)),
    ...(proxy === null ? [] : [removal(PROXY_KIND, proxy)]),
    ...(await endedDeclarationWrites(registry, api)),
  ])
  await gateway.withdraw(api)
}

/** Returns the writes that remove the catalogue entry, its policy and its retirement date. */
async function entryWrites(registry: Registry, entry: Document<ApiBody>): Promise<readonly Write[]> {
  const { id: api, body } = entry
  const policy = await registry.get(API_POLICY_KIND, api)
  const due =
    body.retirementDate === null
      ? []
      : await dropDueWrite(registry, RETIREMENT_DUE, api, Date.parse(body.retirementDate))
  return [removal(API_KIND, entry), ...(policy === null ? [] : [removal(API_POLICY_KIND, policy)]), ...due]
}

function removal(kind: string, { id, tenant, revision }: Document<ApiBody | ProxyBody | object>): Write {
  return { kind, id, tenant, expected: revision, body: null }
}

function isMember({ state }: ApiBody, products: readonly string[]): Problem {
  const detail = 'The API is a member of products. Remove it from them before you remove it.'
  return new Problem('state_conflict', detail, { extensions: { state, allowed: [], products } })
}
