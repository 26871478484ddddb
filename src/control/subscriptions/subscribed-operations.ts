/**
 * Lists the operations that a subscription may call, with their scopes, limits and costs: of the active revision, or else
 * of the staged one.
 *
 * Applies the rules of the gateway: any security alternative of an operation grants access for which the subscription has a usable
 * credential, and neither tokens nor keys have scopes beyond those that the proxy allows.
 */

import type { Clock } from '../../foundation/runtime/clock.ts'
import type { Registry } from '../../storage/store/registry.ts'
import { unpackDocument } from '../../boundary/plan/packed-plan.ts'
import { readCompiled } from '../publishing/compiled-document.ts'
import type { DocumentReader } from '../publishing/document-reader.ts'
import type { LimitBook, LimitUsage } from '../../boundary/plan/limit-book.ts'
import { CREDENTIAL_KIND } from '../access/credential-document.ts'
import { PLATFORM_API, type PlatformOperation } from '../../foundation/domain/platform-api.ts'
import { PROXY_KIND, servingOrStaged } from '../publishing/proxy-document.ts'
import type { SlaPlan } from '../../boundary/plan/sla-plan.ts'
import type { SecurityAlternative } from '../../boundary/plan/route-plan.ts'
import { describeLimits, type LimitsView } from './limits-view.ts'
import type { Specifications } from '../publishing/specifications.ts'
import type { SubscriptionBody } from './document/subscription-document.ts'

export interface SubscribedOperation extends LimitsView {
  /** Technical name; a product has several APIs. */
  readonly api: string
  readonly operationId: string
  readonly method: string
  readonly path: string
  readonly scopes: readonly string[]
  readonly security: readonly string[]
}

export interface SubscribedOperationsOptions {
  readonly registry: Registry
  readonly documents: Pick<DocumentReader, 'compile'>
  readonly specifications: Pick<Specifications, 'plansInForce'>
  readonly limits: Pick<LimitBook, 'usage'>
  readonly clock: Clock
}

/** The limit of a subscription. */
const CREDENTIALS_MAX = 500

export type SubscribedOperations = (
  tenant: string,
  id: string,
  subscription: Pick<SubscriptionBody, 'api' | 'scopes' | 'slaVariant'>,
) => Promise<readonly SubscribedOperation[]>

export function createSubscribedOperations(options: SubscribedOperationsOptions): SubscribedOperations {
  const { registry, specifications, limits, clock } = options

  return async (tenant, id, { api, scopes, slaVariant }) => {
    const proxy = await registry.find(PROXY_KIND, 'api', api)
    const deployment = proxy === null ? null : servingOrStaged(proxy.body)
    if (deployment === null) return []
    const { operations } = await unpackDocument(await readCompiled(options, tenant, deployment.specification, null))
    const plan = planFor(slaVariant, await specifications.plansInForce(api, deployment.operationIds))
    const usage = plan === null ? null : await limits.usage(id, plan)
    const nowMs = clock.nowMs()
    const held: Held = {
      scopes: new Set(scopes.filter((scope) => deployment.allowedScopes.includes(scope))),
      ...(await methodsOf(registry, tenant, id, nowMs)),
    }
    return operations.flatMap(({ operationId, method, path, security }) => {
      const opening = security.filter((alternative) => opens(alternative, held))
      if (security.length > 0 && opening.length === 0) return []
      const [first] = opening
      const needed = first?.tokenScopes ?? first?.keyScopes ?? []
      return [
        {
          api,
          operationId,
          method,
          path,
          scopes: needed,
          security: kindsOf(opening),
          ...describeLimits(plan, operationId, usage, nowMs),
        },
      ]
    })
  }
}

/** Lists the operations of the platform API, which has no proxy. */
export function ofPlatform(
  operations: readonly PlatformOperation[],
  granted: readonly string[],
  { plan, usage, nowMs }: { readonly plan: SlaPlan | null; readonly usage: LimitUsage | null; readonly nowMs: number },
): SubscribedOperation[] {
  return operations.flatMap(({ alternatives, ...operation }) => {
    const opening = alternatives.find((scope) => granted.includes(scope))
    if (opening === undefined && alternatives.length > 0) return []
    const [scopes, security] = opening === undefined ? [[], []] : [[opening], ['OAuth2']]
    const limits = describeLimits(plan, operation.operationId, usage, nowMs)
    return [{ api: PLATFORM_API, ...operation, scopes, security, ...limits }]
  })
}

/** Returns the plan of a variant, or the default plan if the API does not declare the variant. */
export function planFor(slaVariant: string, plans: readonly SlaPlan[]): SlaPlan | null {
  return plans.find(({ variant }) => variant === slaVariant) ?? plans.find(({ variant }) => variant === '') ?? null
}

/** The scopes and the credentials that the client of a subscription can use. */
interface Held {
  readonly scopes: ReadonlySet<string>
  readonly hasToken: boolean
  readonly hasKey: boolean
}

async function methodsOf(
  registry: Pick<Registry, 'list'>,
  tenant: string,
  subscription: string,
  nowMs: number,
): Promise<Omit<Held, 'scopes'>> {
  const all = await registry.list(CREDENTIAL_KIND, { tenant, where: { subscription }, limit: CREDENTIALS_MAX })
  // People use the subscription of their own consumer by clients that all share.
  if (all.length === 0) return { hasToken: true, hasKey: true }
  const usable = all.filter(({ body }) => body.state === 'Active' && body.expiresAtMs > nowMs)
  return {
    hasToken: usable.some(({ body }) => body.type !== 'ApiKey'),
    hasKey: usable.some(({ body }) => body.type === 'ApiKey'),
  }
}

function opens({ tokenScopes, apiKey, keyScopes }: SecurityAlternative, { scopes, hasToken, hasKey }: Held): boolean {
  if ((tokenScopes !== null && !hasToken) || (apiKey && !hasKey)) return false
  return [...(tokenScopes ?? []), ...keyScopes].every((scope) => scopes.has(scope))
}

function kindsOf(alternatives: readonly SecurityAlternative[]): readonly string[] {
  const kinds = alternatives.flatMap(({ tokenScopes, apiKey }) => [
    ...(tokenScopes === null ? [] : ['OAuth2']),
    ...(apiKey ? ['ApiKey'] : []),
  ])
  return [...new Set(kinds)]
}
