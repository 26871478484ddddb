/**
 * Federated identity providers, whose tokens are accepted at the tenant's APIs beside those of this service.
 *
 * A provider must serve its keys before it is registered. A registration or a removal has reached every gateway thread
 * before the command returns.
 */

import { Problem } from '../domain/problem.ts'
import type { CreateId } from '../runtime/ids.ts'
import { documentKind, type Author, type Document, type Registry } from '../store/registry.ts'
import { API_KIND } from '../publishing/apis.ts'
import { commit, find, invalidAt } from '../command/commands.ts'
import { listPage, type Page, type PageQuery } from '../command/page.ts'
import type { ProviderClaims, ProviderPlan } from '../plan/provider-plan.ts'

export interface IdentityProviderInput {
  readonly issuer: string
  readonly audience?: string
  readonly claims?: Partial<ProviderClaims>
  readonly apis?: readonly string[]
}

export interface IdentityProvider {
  readonly id: string
  readonly issuer: string
  readonly audience: string | null
  readonly claims: Partial<ProviderClaims>
  readonly apis: readonly string[]
}

export interface IdentityProviders {
  create(author: Author, input: IdentityProviderInput): Promise<IdentityProvider>
  get(tenant: string, id: string): Promise<IdentityProvider>
  list(tenant: string, query: PageQuery): Promise<Page<IdentityProvider>>
  remove(author: Author, id: string): Promise<void>
}

/** The part of the federation that these commands use. */
export interface FederationPort {
  /** Returns why a provider cannot be used now, or null. */
  probe(issuer: string): Promise<string | null>
  /** Resolves when every gateway thread has the registered providers. */
  changed(): Promise<void>
}

export interface IdentityProvidersOptions {
  readonly registry: Registry
  readonly createId: CreateId
  readonly federation: FederationPort
}

const IDENTITY_PROVIDER_KIND = documentKind<IdentityProviderInput>('identity_provider', [
  'issuer',
  'audience',
  'claims',
  'apis',
])
const PAGE = 100
/** Bounds the keys that every thread holds and that each change sends to all threads. */
const OF_TENANT_MAX = 100

export function createIdentityProviders(options: IdentityProvidersOptions): IdentityProviders {
  const { registry, createId, federation } = options

  async function checkLimit(tenant: string): Promise<void> {
    const registered = await registry.list(IDENTITY_PROVIDER_KIND, { tenant, limit: OF_TENANT_MAX })
    if (registered.length < OF_TENANT_MAX) return
    throw new Problem(
      'state_conflict',
      `A tenant can register at most ${OF_TENANT_MAX} identity providers; remove one that is not used.`,
    )
  }

  return {
    async create(author, input) {
      const { tenant } = author
      const apis = [...new Set(input.apis ?? [])]
      for (const [position, api] of apis.entries()) {
        const entry = await registry.get(API_KIND, api)
        if (entry?.tenant !== tenant) throw invalidAt(`/apis/${position}`, 'There is no such API.')
      }
      const fault = await federation.probe(input.issuer)
      if (fault !== null) throw invalidAt('/issuer', fault)
      await checkLimit(tenant)
      const id = createId('idp')
      const body: IdentityProviderInput = { ...input, apis }
      const keys = { issuer: keyOf(tenant, input.issuer) }
      await commit(
        registry,
        author,
        'identity_provider.create',
        [{ kind: IDENTITY_PROVIDER_KIND, id, tenant, expected: 0, body, keys, unique: ['issuer'] }],
        'The issuer is already registered.',
      )
      await federation.changed()
      return show(await find(registry, tenant, IDENTITY_PROVIDER_KIND, id))
    },
    get: async (tenant, id) => show(await find(registry, tenant, IDENTITY_PROVIDER_KIND, id)),
    list: (tenant, query) => listPage({ registry, kind: IDENTITY_PROVIDER_KIND, tenant, query, where: {}, show }),
    async remove(author, id) {
      const { tenant, revision } = await find(registry, author.tenant, IDENTITY_PROVIDER_KIND, id)
      await commit(registry, author, 'identity_provider.remove', [
        { kind: IDENTITY_PROVIDER_KIND, id, tenant, expected: revision, body: null },
      ])
      await federation.changed()
    },
  }
}

export async function isRegistered(registry: Pick<Registry, 'find'>, tenant: string, issuer: string): Promise<boolean> {
  return (await registry.find(IDENTITY_PROVIDER_KIND, 'issuer', keyOf(tenant, issuer))) !== null
}

/** Returns the providers of all tenants, without their keys. */
export async function registeredProviders(registry: Pick<Registry, 'list'>): Promise<Omit<ProviderPlan, 'keys'>[]> {
  const all: Omit<ProviderPlan, 'keys'>[] = []
  for (let after = ''; ;) {
    const page = await registry.list(IDENTITY_PROVIDER_KIND, { after, limit: PAGE })
    all.push(...page.map(toPlan))
    if (page.length < PAGE) return all
    after = page.at(-1)?.id ?? ''
  }
}

function toPlan({ id, tenant, body }: Document<IdentityProviderInput>): Omit<ProviderPlan, 'keys'> {
  const { issuer, audience = '', claims = {}, apis = [] } = body
  return { id, tenant, issuer, audience, apis, claims: { clientId: '', scope: '', person: '', ...claims } }
}

function keyOf(tenant: string, issuer: string): string {
  return JSON.stringify([tenant, issuer])
}

function show({ id, body }: Document<IdentityProviderInput>): IdentityProvider {
  const { issuer, audience, claims, apis } = body
  return { id, issuer, audience: audience ?? null, claims: claims ?? {}, apis: apis ?? [] }
}
