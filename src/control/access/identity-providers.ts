/**
 * Federated identity providers: their tokens are accepted at the tenant's APIs beside those of this service, and they can sign people
 * in.
 *
 * A provider must serve its keys before it is registered. A registration or a removal has reached every gateway thread before the
 * command returns. A change of who signs in, or with which roles, ends the access of the people of the provider first.
 */

import { Problem } from '../../foundation/domain/problem.ts'
import type { CreateId } from '../../foundation/runtime/ids.ts'
import type { Vault } from '../../foundation/runtime/vault.ts'
import type { Labelled, Labels } from '../../storage/store/labels.ts'
import type { Author, Document, Registry } from '../../storage/store/registry.ts'
import { API_KIND } from '../publishing/apis.ts'
import { commit, find, invalidAt, removeDocument } from '../command/commands.ts'
import type { KeyedMutex } from '../command/keyed-mutex.ts'
import { listPage, type Page, type PageQuery } from '../command/page.ts'
import type { ProviderClaims } from '../../boundary/plan/provider-plan.ts'
import type { HeldScopes } from './held-scopes.ts'
import {
  IDENTITY_PROVIDER_KIND,
  providerWrite,
  type IdentityProviderBody,
  type ProviderSignIn,
} from './identity-provider-document.ts'
import type { FederatedPeople } from './people/federated-people.ts'
import type { Granting } from './people/granting.ts'
import { createSignInChanges, endsAccess, type SignInInput } from './provider-sign-in.ts'
import { peopleOf } from './users.ts'

export interface IdentityProviderInput extends Labelled {
  readonly issuer: string
  readonly audience?: string
  readonly claims?: Partial<ProviderClaims>
  readonly apis?: readonly string[]
  readonly signIn?: SignInInput
}

export interface IdentityProvider {
  readonly id: string
  readonly issuer: string
  readonly audience: string | null
  readonly claims: Partial<ProviderClaims>
  readonly apis: readonly string[]
  readonly signIn: ProviderSignIn | null
  /** Where the provider returns people to after the sign-in. */
  readonly redirectUri: string
  readonly labels: Labels
}

export interface IdentityProviderChange extends Partial<Omit<IdentityProviderInput, 'issuer' | 'audience' | 'signIn'>> {
  /** Null: the default. */
  readonly audience?: string | null
  /** Members that are left out stay as they are. Null: the provider no longer signs people in. */
  readonly signIn?: SignInInput | null
}

export interface IdentityProviders {
  create(author: Author, input: IdentityProviderInput, held?: HeldScopes): Promise<IdentityProvider>
  get(tenant: string, id: string): Promise<IdentityProvider>
  list(tenant: string, query: PageQuery): Promise<Page<IdentityProvider>>
  /** Every gateway thread has the change when this resolves. The issuer is constant. */
  update(author: Author, id: string, change: IdentityProviderChange, held?: HeldScopes): Promise<IdentityProvider>
  remove(author: Author, id: string, held?: HeldScopes): Promise<void>
}

/** The part of the federation that these commands use. */
export interface FederationPort {
  /** Returns why a provider cannot be used now, or null. */
  probe(issuer: string, use: 'tokens' | 'signIn'): Promise<string | null>
  /** Resolves when every gateway thread has the registered providers, and the keys of the one that was created. */
  changed(created?: string): Promise<void>
}

export interface IdentityProvidersOptions {
  readonly registry: Registry
  readonly createId: CreateId
  readonly vault: Pick<Vault, 'encrypt'>
  readonly mutex: KeyedMutex
  readonly federation: FederationPort
  readonly people: { readonly granting: Granting; readonly federated: FederatedPeople }
  readonly gatewayUrl: string
}

/** Bounds the keys that every thread holds and that each change sends to all threads. */
const OF_TENANT_MAX = 100

export function createIdentityProviders(options: IdentityProvidersOptions): IdentityProviders {
  const { registry, createId, federation, mutex, people, gatewayUrl } = options
  const signIns = createSignInChanges({ ...options, granting: people.granting })
  const show = (document: Document<IdentityProviderBody>): IdentityProvider => showProvider(gatewayUrl, document)
  const get = async (tenant: string, id: string): Promise<IdentityProvider> =>
    show(await find(registry, tenant, IDENTITY_PROVIDER_KIND, id))

  async function probe(issuer: string, pointer: string, signIn: SignInInput | null | undefined): Promise<void> {
    const fault = await federation.probe(issuer, signIn === null || signIn === undefined ? 'tokens' : 'signIn')
    if (fault !== null) throw invalidAt(pointer, fault)
  }

  /** Commits a change, alone among the changes of people and roles of the tenant. */
  const change = (author: Author, id: string, held: HeldScopes, input: IdentityProviderChange): Promise<void> =>
    mutex.runExclusive([peopleOf(author.tenant)], async () => {
      const { tenant, revision, body } = await find(registry, author.tenant, IDENTITY_PROVIDER_KIND, id)
      const { signIn } = input
      const changed = withMembers(body, input)
      const next = signIn === undefined ? changed : await signIns.apply(author, held, { id, body: changed }, signIn)
      await commit(registry, author, 'identity_provider.update', [providerWrite(id, tenant, revision, next)])
    })

  return {
    get,
    async create(author, { signIn, ...input }, held = null) {
      const { tenant } = author
      const apis = [...new Set(input.apis ?? [])]
      await checkApis(registry, tenant, apis)
      const id = createId('idp')
      const body = await signIns.apply(author, held, { id, body: { ...input, apis } }, signIn ?? null)
      await probe(input.issuer, '/issuer', signIn)
      await checkLimit(registry, tenant)
      const taken = 'The issuer is already registered.'
      await commit(registry, author, 'identity_provider.create', [providerWrite(id, tenant, 0, body)], taken)
      await federation.changed(id)
      return get(tenant, id)
    },
    list: (tenant, query) => listPage({ registry, kind: IDENTITY_PROVIDER_KIND, tenant, query, where: {}, show }),
    async update(author, id, input, held = null) {
      const { tenant, body } = await find(registry, author.tenant, IDENTITY_PROVIDER_KIND, id)
      await checkApis(registry, tenant, input.apis ?? [])
      if (body.signIn === undefined && input.signIn) await probe(body.issuer, '/signIn', input.signIn)
      await change(author, id, held, input)
      if (endsAccess(input.signIn)) await people.federated.endAccess(author, id)
      await federation.changed()
      return get(tenant, id)
    },
    async remove(author, id, held = null) {
      const { body } = await find(registry, author.tenant, IDENTITY_PROVIDER_KIND, id)
      // First the sign-in, so that a repetition after a crash still finds the provider and ends the access.
      if (body.signIn !== undefined) await change(author, id, held, { signIn: null })
      await people.federated.endAccess(author, id)
      await removeDocument(registry, author, 'identity_provider.remove', IDENTITY_PROVIDER_KIND, id)
      await federation.changed()
    },
  }
}

function withMembers(
  { audience: before, ...body }: IdentityProviderBody,
  { audience, signIn: _, ...members }: IdentityProviderChange,
): IdentityProviderBody {
  const expected = audience === undefined ? before : audience
  return { ...body, ...members, ...(typeof expected === 'string' && { audience: expected }) }
}

async function checkLimit(registry: Registry, tenant: string): Promise<void> {
  const registered = await registry.list(IDENTITY_PROVIDER_KIND, { tenant, limit: OF_TENANT_MAX })
  if (registered.length < OF_TENANT_MAX) return
  const detail = `A tenant can register at most ${OF_TENANT_MAX} identity providers; remove one that is not used.`
  throw new Problem('state_conflict', detail, { extensions: { state: 'full', allowed: ['remove'] } })
}

async function checkApis(registry: Registry, tenant: string, apis: readonly string[]): Promise<void> {
  for (const [position, api] of apis.entries()) {
    const entry = await registry.get(API_KIND, api)
    if (entry?.tenant !== tenant) throw invalidAt(`/apis/${position}`, 'There is no such API.')
  }
}

function showProvider(gatewayUrl: string, { id, body }: Document<IdentityProviderBody>): IdentityProvider {
  const { issuer, audience, claims, apis, signIn, labels = {} } = body
  return {
    id,
    issuer,
    audience: audience ?? null,
    claims: claims ?? {},
    apis: apis ?? [],
    signIn: signIn ?? null,
    redirectUri: callbackUri(gatewayUrl, id),
    labels,
  }
}

/**
 * Each provider has an address of its own, so that a response of one cannot be passed off as that of another (RFC 9700, 4.4).
 */
export function callbackUri(gatewayUrl: string, provider: string): string {
  return `${gatewayUrl}/oauth2/v2/callback/${provider}`
}
