/**
 * Federated identity providers, whose tokens are accepted at the tenant's APIs beside those of this service.
 *
 * A provider must serve its keys before it is registered. A registration or a removal has reached every gateway thread
 * before the command returns.
 */

import { Problem } from '../domain/problem.ts'
import type { CreateId } from '../runtime/ids.ts'
import type { Labelled, Labels } from '../store/labels.ts'
import { documentKind, type Author, type Document, type Registry, type Write } from '../store/registry.ts'
import { API_KIND } from '../publishing/apis.ts'
import { commit, find, invalidAt, removeDocument } from '../command/commands.ts'
import { listPage, type Page, type PageQuery } from '../command/page.ts'
import type { ProviderClaims, ProviderPlan } from '../plan/provider-plan.ts'

export interface IdentityProviderInput extends Labelled {
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
  readonly labels: Labels
}

export interface IdentityProviderChange extends Partial<Omit<IdentityProviderInput, 'issuer' | 'audience'>> {
  /** Null: the default. */
  readonly audience?: string | null
}

export interface IdentityProviders {
  create(author: Author, input: IdentityProviderInput): Promise<IdentityProvider>
  get(tenant: string, id: string): Promise<IdentityProvider>
  list(tenant: string, query: PageQuery): Promise<Page<IdentityProvider>>
  /** Every gateway thread has the change when this resolves. The issuer is constant. */
  update(author: Author, id: string, change: IdentityProviderChange): Promise<IdentityProvider>
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
  'labels',
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

  async function checkApis(tenant: string, apis: readonly string[]): Promise<void> {
    for (const [position, api] of apis.entries()) {
      const entry = await registry.get(API_KIND, api)
      if (entry?.tenant !== tenant) throw invalidAt(`/apis/${position}`, 'There is no such API.')
    }
  }

  return {
    async create(author, input) {
      const { tenant } = author
      const apis = [...new Set(input.apis ?? [])]
      await checkApis(tenant, apis)
      const fault = await federation.probe(input.issuer)
      if (fault !== null) throw invalidAt('/issuer', fault)
      await checkLimit(tenant)
      const id = createId('idp')
      const body: IdentityProviderInput = { ...input, apis }
      await commit(
        registry,
        author,
        'identity_provider.create',
        [providerWrite(id, tenant, 0, body)],
        'The issuer is already registered.',
      )
      await federation.changed()
      return show(await find(registry, tenant, IDENTITY_PROVIDER_KIND, id))
    },
    get: async (tenant, id) => show(await find(registry, tenant, IDENTITY_PROVIDER_KIND, id)),
    list: (tenant, query) => listPage({ registry, kind: IDENTITY_PROVIDER_KIND, tenant, query, where: {}, show }),
    async update(author, id, { audience, ...change }) {
      const { tenant, revision, body } = await find(registry, author.tenant, IDENTITY_PROVIDER_KIND, id)
      await checkApis(tenant, change.apis ?? [])
      const { audience: before, ...members } = body
      const expected = audience === undefined ? before : audience
      const next = { ...members, ...change, ...(typeof expected === 'string' && { audience: expected }) }
      await commit(registry, author, 'identity_provider.update', [providerWrite(id, tenant, revision, next)])
      await federation.changed()
      return show(await find(registry, tenant, IDENTITY_PROVIDER_KIND, id))
    },
    async remove(author, id) {
      await removeDocument(registry, author, 'identity_provider.remove', IDENTITY_PROVIDER_KIND, id)
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

function providerWrite(id: string, tenant: string, expected: number, body: IdentityProviderInput): Write {
  const keys = { issuer: keyOf(tenant, body.issuer) }
  return { kind: IDENTITY_PROVIDER_KIND, id, tenant, expected, body, keys, unique: ['issuer'] }
}

function keyOf(tenant: string, issuer: string): string {
  return JSON.stringify([tenant, issuer])
}

function show({ id, body }: Document<IdentityProviderInput>): IdentityProvider {
  const { issuer, audience, claims, apis, labels = {} } = body
  return { id, issuer, audience: audience ?? null, claims: claims ?? {}, apis: apis ?? [], labels }
}
