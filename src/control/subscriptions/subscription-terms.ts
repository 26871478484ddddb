/**
 * The terms of a new subscription: an API or a product, its scopes and variant, and the approval policy. Refuses terms
 * that do not exist, and scopes that the caller may not grant.
 */

import { Problem } from '../../foundation/domain/problem.ts'
import type { Document, Registry } from '../../storage/store/registry.ts'
import { policyOfAll, type SubscriptionPolicy } from '../publishing/api-policy.ts'
import type { HeldScopes } from '../access/held-scopes.ts'
import { API_KIND, type ApiBody } from '../publishing/apis.ts'
import { invalidAt } from '../command/commands.ts'
import { PLATFORM_API } from '../../foundation/domain/platform-api.ts'
import { includesScope, isOwnScope } from '../../foundation/domain/scope-width.ts'
import { PRODUCT_KIND } from '../publishing/products.ts'
import { PROXY_KIND, servingOrStaged } from '../publishing/proxy-document.ts'
import { OPENSLA_SPEC_KIND } from '../publishing/specifications.ts'

export interface TermsInput {
  readonly api?: string
  readonly product?: string
  readonly slaVariant?: string
  readonly scopes?: readonly string[]
  /** Allows a subscription to a deprecated API. */
  readonly force?: boolean
}

export interface Terms {
  /** `''` for a product. */
  readonly api: string
  readonly apiProductId: string
  readonly scopes: readonly string[]
  readonly slaVariant: string
  readonly policy: SubscriptionPolicy
}

export interface SubscriptionTerms {
  of(tenant: string, input: TermsInput, held: HeldScopes): Promise<Terms>
  /** Throws if no declaration in force has the variant. */
  checkVariant(tenant: string, to: Pick<Terms, 'api' | 'apiProductId'>, variant: string): Promise<void>
  /**
   * Throws if a scope that `scopes` adds to `to` is not declared, or is a platform scope that the caller does not hold.
   * Scopes can always be removed, also from a subscription to a retired API.
   */
  checkScopes(
    tenant: string,
    to: Pick<Terms, 'api' | 'apiProductId' | 'scopes'>,
    scopes: readonly string[],
    held: HeldScopes,
  ): Promise<void>
}

export function createSubscriptionTerms({ registry }: { registry: Registry }): SubscriptionTerms {
  return {
    async of(tenant, input, held) {
      const apis = await membersOf(registry, tenant, input)
      const declared = await declaredByAll(registry, tenant, input, apis)
      if (input.force !== true) await checkNotDeprecated(registry, apis)
      checkDeclared(declared, input.scopes ?? [])
      const isPlatform = apis.includes(PLATFORM_API)
      const scopes = [...new Set(input.scopes ?? (isPlatform ? ownScopes(declared, held) : declared))]
      checkHeld(apis, scopes, held)
      const slaVariant = input.slaVariant ?? ''
      await checkVariant(registry, tenant, apis, slaVariant)
      return {
        api: input.api ?? '',
        apiProductId: input.product ?? '',
        scopes,
        slaVariant,
        policy: await policyOfAll(registry, apis),
      }
    },
    async checkVariant(tenant, { api, apiProductId }, variant) {
      await checkVariant(
        registry,
        tenant,
        await membersOf(registry, tenant, api === '' ? { product: apiProductId } : { api }),
        variant,
      )
    },
    async checkScopes(tenant, { api, apiProductId, scopes: has }, scopes, held) {
      const added = scopes.filter((scope) => !has.includes(scope))
      if (added.length === 0) return
      const to = api === '' ? { product: apiProductId } : { api }
      const apis = await membersOf(registry, tenant, to)
      checkDeclared([...has, ...(await declaredByAll(registry, tenant, to, apis))], scopes)
      checkHeld(apis, added, held)
    },
  }
}

async function membersOf(registry: Registry, tenant: string, { api, product }: TermsInput): Promise<readonly string[]> {
  if ((api === undefined) === (product === undefined))
    throw invalidAt('/api', 'Set exactly one of `api` and `product`.')
  if (api !== undefined) return [api]
  const found = await registry.get(PRODUCT_KIND, product ?? '')
  if (found?.tenant !== tenant) throw invalidAt('/product', 'The product does not exist.')
  return found.body.apis
}

async function entryOf(registry: Registry, tenant: string, api: string): Promise<Document<ApiBody>> {
  const entry = await registry.get(API_KIND, api)
  // Every tenant may subscribe to the platform API.
  const isOpen = entry?.tenant === tenant || entry?.body.ownScopes !== undefined
  if (entry === null || !isOpen) throw invalidAt('/api', 'The API does not exist.')
  if (entry.body.state === 'Retired') {
    throw new Problem('state_conflict', 'The API is retired.', { extensions: { state: 'Retired', allowed: [] } })
  }
  return entry
}

async function checkNotDeprecated(registry: Registry, apis: readonly string[]): Promise<void> {
  for (const api of apis) {
    const { state, retirementDate } = (await registry.get(API_KIND, api))?.body ?? {}
    if (state !== 'Deprecated') continue
    const detail = `The API ${api} is deprecated and retires on ${retirementDate}. Send \`force: true\` to subscribe to it.`
    throw new Problem('state_conflict', detail, { extensions: { state, allowed: ['force'] } })
  }
}

async function declaredBy(
  registry: Registry,
  tenant: string,
  api: string,
  pointer: string,
): Promise<readonly string[]> {
  const { body } = await entryOf(registry, tenant, api)
  if (body.ownScopes !== undefined) return body.ownScopes
  const proxy = await registry.find(PROXY_KIND, 'api', api)
  const deployment = proxy === null ? null : servingOrStaged(proxy.body)
  if (deployment === null) throw invalidAt(pointer, `The API ${api} has no revision yet.`)
  return deployment.declaredScopes
}

async function declaredByAll(
  registry: Registry,
  tenant: string,
  { product }: TermsInput,
  apis: readonly string[],
): Promise<readonly string[]> {
  const pointer = product === undefined ? '/api' : '/product'
  const declared: string[] = []
  for (const api of apis) declared.push(...(await declaredBy(registry, tenant, api, pointer)))
  return [...new Set(declared)]
}

async function checkVariant(
  registry: Registry,
  tenant: string,
  apis: readonly string[],
  variant: string,
): Promise<void> {
  if (variant === '') return
  for (const api of apis) {
    const where = { api, inForce: 'true' }
    const inForce = await registry.list(OPENSLA_SPEC_KIND, { tenant, where, limit: 500 })
    if (inForce.some(({ body }) => body.variant === variant)) return
  }
  throw invalidAt('/slaVariant', 'No OpenSLA declaration in force has this variant.')
}

/** Returns the scopes of a subscription to the platform API that names none: never those of the tenant. */
function ownScopes(declared: readonly string[], held: HeldScopes): readonly string[] {
  return declared.filter((scope) => isOwnScope(scope) && (held === null || includesScope(held, scope)))
}

/** Prevents privilege escalation: a platform credential grants only platform scopes that it holds itself. */
function checkHeld(apis: readonly string[], scopes: readonly string[], held: HeldScopes): void {
  const beyond =
    held === null || !apis.includes(PLATFORM_API) ? [] : scopes.filter((scope) => !includesScope(held, scope))
  if (beyond.length === 0) return
  throw new Problem(
    'operation_forbidden',
    `You can grant only scopes that you hold for the consumer. These are missing: ${beyond.slice(0, 10).join(', ')}.`,
  )
}

function checkDeclared(declared: readonly string[], scopes: readonly string[]): void {
  const foreign = scopes.findIndex((scope) => !declared.includes(scope))
  if (foreign >= 0) throw invalidAt(`/scopes/${foreign}`, 'The API does not declare this scope.')
}
