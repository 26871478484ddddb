/** The policy of an API: approval of subscriptions, how its tokens are issued, and whether agents reach it over MCP. */

import { documentKind, type Author, type Document, type Registry, type Write } from '../store/registry.ts'
import { API_KIND, apiWrite } from './apis.ts'
import { commit, find } from '../command/commands.ts'
import { PRODUCT_KIND } from './products.ts'
import type { Proxies } from './proxies.ts'
import type { SubscriptionBody } from '../subscriptions/document/subscription-document.ts'
import type { KeyedMutex } from '../command/keyed-mutex.ts'

export interface ApiPolicy {
  /** `Manual` leaves a new subscription Pending. */
  readonly subscriptionApproval: 'Auto' | 'Manual'
  readonly exposure: 'Internal' | 'Partner' | 'Public'
  readonly tokenAlgorithm: 'ES256' | 'RS256'
  /** Applies to credentials that are created from now on. */
  readonly credentialLifetimeDays: number
  /** Exposes all operations over MCP, except for those that the document hides. */
  readonly mcp: boolean
}

/** The part of a policy that applies to subscriptions. */
export type SubscriptionPolicy = Pick<ApiPolicy, 'subscriptionApproval' | 'credentialLifetimeDays'>

export interface ApiPolicies {
  get(tenant: string, api: string): Promise<ApiPolicy>
  /** Replaces the policy; omitted members get their defaults. */
  put(author: Author, api: string, policy: Partial<ApiPolicy>): Promise<ApiPolicy>
}

export const API_POLICY_KIND = documentKind<ApiPolicy>('api_policy', [
  'subscriptionApproval',
  'exposure',
  'tokenAlgorithm',
  'credentialLifetimeDays',
  'mcp',
])

const DEFAULT_POLICY: ApiPolicy = {
  subscriptionApproval: 'Auto',
  exposure: 'Internal',
  tokenAlgorithm: 'ES256',
  credentialLifetimeDays: 365,
  mcp: false,
}

export interface ApiPoliciesOptions {
  readonly registry: Registry
  readonly mutex: KeyedMutex
  readonly proxies: Pick<Proxies, 'change'>
}

export function createApiPolicies({ registry, mutex, proxies }: ApiPoliciesOptions): ApiPolicies {
  return {
    async get(tenant, api) {
      await find(registry, tenant, API_KIND, api)
      return policyOf(registry, api)
    },
    put: (author, api, given) =>
      mutex.runExclusive([api], async () => {
        const entry = await find(registry, author.tenant, API_KIND, api)
        const { tenant } = entry
        const policy: ApiPolicy = { ...DEFAULT_POLICY, ...given }
        const current: Document<ApiPolicy> | null = await registry.get(API_POLICY_KIND, api)
        const write = { kind: API_POLICY_KIND, id: api, tenant, expected: current?.revision ?? 0, body: policy }
        const save = (writes: readonly Write[]) => commit(registry, author, 'api.policy', [write, ...writes])
        const { isMcpOn = false, ...rest } = entry.body
        if (policy.mcp === isMcpOn) await save([])
        else {
          const next = policy.mcp ? { ...rest, isMcpOn: true as const } : rest
          const changed = apiWrite(api, tenant, entry.revision, next)
          await proxies.change(api, next, (writes) => save([changed, ...writes]))
        }
        return policy
      }),
  }
}

export async function policyOf(registry: Pick<Registry, 'get'>, api: string): Promise<ApiPolicy> {
  return { ...DEFAULT_POLICY, ...(await registry.get(API_POLICY_KIND, api))?.body }
}

/** Returns the strictest value of each member, so that a product is no easier to access than each of its APIs. */
export async function policyOfAll(
  registry: Pick<Registry, 'get'>,
  apis: readonly string[],
): Promise<SubscriptionPolicy> {
  const policies = await Promise.all(apis.map((api) => policyOf(registry, api)))
  if (policies.length === 0) return DEFAULT_POLICY
  return {
    subscriptionApproval: policies.some((each) => each.subscriptionApproval === 'Manual') ? 'Manual' : 'Auto',
    credentialLifetimeDays: Math.min(...policies.map((each) => each.credentialLifetimeDays)),
  }
}

/** Returns the current policy of the subscribed API or product. */
export async function policyOfSubscribed(
  registry: Pick<Registry, 'get'>,
  { api, apiProductId }: Pick<SubscriptionBody, 'api' | 'apiProductId'>,
): Promise<SubscriptionPolicy> {
  if (api !== '') return policyOf(registry, api)
  const product = await registry.get(PRODUCT_KIND, apiProductId)
  return policyOfAll(registry, product?.body.apis ?? [])
}
