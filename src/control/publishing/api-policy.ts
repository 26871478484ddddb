/**
 * The policy of an API: approval of subscriptions, how its tokens are issued, whether agents reach it over MCP, and which pages of
 * other origins may call it.
 */

import { isDeepStrictEqual } from 'node:util'
import { Problem, type ProblemPointer } from '../../foundation/domain/problem.ts'
import { readCorsPlan, type CorsPlan, type CorsSettings } from '../../boundary/plan/cors.ts'
import { documentKind, type Author, type Document, type Registry, type Write } from '../../storage/store/registry.ts'
import { API_KIND, apiWrite, type ApiBody } from './apis.ts'
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
  /** Overrides `x-tollgate-cors` of the document; null leaves it to the document. */
  readonly cors: CorsSettings | null
}

/** The part of a policy that applies to subscriptions. */
export type SubscriptionPolicy = Pick<ApiPolicy, 'subscriptionApproval' | 'credentialLifetimeDays'>

export interface ApiPolicies {
  get(tenant: string, api: string): Promise<ApiPolicy>
  /** Replaces the policy; omitted members get their defaults. Throws `Problem('payload_invalid')`. */
  put(author: Author, api: string, policy: Partial<ApiPolicy>): Promise<ApiPolicy>
  /** Omitted members stay as they are. Throws `Problem('payload_invalid')`. */
  update(author: Author, api: string, policy: Partial<ApiPolicy>): Promise<ApiPolicy>
}

export const API_POLICY_KIND = documentKind<ApiPolicy>('api_policy', [
  'subscriptionApproval',
  'exposure',
  'tokenAlgorithm',
  'credentialLifetimeDays',
  'mcp',
  'cors',
])

const DEFAULT_POLICY: ApiPolicy = {
  subscriptionApproval: 'Auto',
  exposure: 'Internal',
  tokenAlgorithm: 'ES256',
  credentialLifetimeDays: 365,
  mcp: false,
  cors: null,
}

export interface ApiPoliciesOptions {
  readonly registry: Registry
  readonly mutex: KeyedMutex
  readonly proxies: Pick<Proxies, 'change'>
}

export function createApiPolicies({ registry, mutex, proxies }: ApiPoliciesOptions): ApiPolicies {
  const change = (author: Author, api: string, toPolicy: (before: ApiPolicy) => ApiPolicy): Promise<ApiPolicy> =>
    mutex.runExclusive([api], async () => {
      const entry = await find(registry, author.tenant, API_KIND, api)
      const { tenant } = entry
      const current: Document<ApiPolicy> | null = await registry.get(API_POLICY_KIND, api)
      const policy = toPolicy({ ...DEFAULT_POLICY, ...current?.body })
      const next = withPolicy(entry.body, policy)
      const write = { kind: API_POLICY_KIND, id: api, tenant, expected: current?.revision ?? 0, body: policy }
      const save = (writes: readonly Write[]) => commit(registry, author, 'api.policy', [write, ...writes])
      if (isDeepStrictEqual(next, entry.body)) await save([])
      else {
        const changed = apiWrite(api, tenant, entry.revision, next)
        await proxies.change(api, next, (writes) => save([changed, ...writes]))
      }
      return policy
    })

  return {
    async get(tenant, api) {
      await find(registry, tenant, API_KIND, api)
      return policyOf(registry, api)
    },
    put: (author, api, given) => change(author, api, () => ({ ...DEFAULT_POLICY, ...given })),
    update: (author, api, given) => change(author, api, (before) => ({ ...before, ...given })),
  }
}

/** Returns a catalogue entry with what a policy changes in what the gateway serves. Throws `Problem('payload_invalid')`. */
function withPolicy(body: ApiBody, policy: ApiPolicy): ApiBody {
  const { isMcpOn: _isMcpOn, cors: _cors, ...rest } = body
  const cors = policy.cors === null ? null : toCorsPlan(body, policy.cors)
  return { ...rest, ...(policy.mcp && { isMcpOn: true }), ...(cors !== null && { cors }) }
}

function toCorsPlan({ ownScopes }: ApiBody, settings: CorsSettings): CorsPlan {
  const faults: ProblemPointer[] = []
  const plan = readCorsPlan(settings, '/cors', faults)
  // The main thread serves that API, by settings that only the operator of the service changes.
  if (ownScopes !== undefined) {
    const detail = 'The platform API allows the origins of the setting CORS_ORIGINS.'
    faults.push({ pointer: '/cors', detail })
  }
  if (plan !== undefined && faults.length === 0) return plan
  throw new Problem('payload_invalid', 'The policy does not allow origins in this form.', { errors: faults })
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
