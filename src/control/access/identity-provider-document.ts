/** The stored form of an identity provider. */

import type { ProviderClaims, ProviderPlan } from '../../boundary/plan/provider-plan.ts'
import type { Labelled } from '../../storage/store/labels.ts'
import { documentKind, type Document, type Registry, type Write } from '../../storage/store/registry.ts'
import type { RoleAssignment } from './people/user-document.ts'

/** Gives a role to the people whose claim has the value, or has it as one of its values. */
export interface RoleMapping extends RoleAssignment {
  readonly claim: string
  readonly value: string
}

/** How the provider signs people in. */
export interface ProviderSignIn {
  readonly clientId: string
  readonly roles: readonly RoleMapping[]
  /** Scopes that are requested besides `openid`. */
  readonly scopes: readonly string[]
  /** Whether an unknown person becomes a user. */
  readonly createPeople: boolean
  /** The name on the sign-in page; null: the host of the issuer. */
  readonly name: string | null
}

export interface IdentityProviderBody extends Labelled {
  readonly issuer: string
  readonly audience?: string
  readonly claims?: Partial<ProviderClaims>
  readonly apis?: readonly string[]
  readonly signIn?: ProviderSignIn
  /** Encrypted. */
  readonly clientSecret?: string
}

export const IDENTITY_PROVIDER_KIND = documentKind<IdentityProviderBody>('identity_provider', [
  'issuer',
  'audience',
  'claims',
  'apis',
  'signIn',
  'labels',
])

const SIGN_IN = { signIn: 'on' } as const
const MAPPED = 'mapped'
const PAGE = 100

export function providerWrite(id: string, tenant: string, expected: number, body: IdentityProviderBody): Write {
  const { issuer, signIn } = body
  const roles = (signIn?.roles ?? []).map(({ role }) => [roleKey(role), MAPPED])
  const keys = { issuer: issuerKey(tenant, issuer), ...(signIn && SIGN_IN), ...Object.fromEntries(roles) }
  return { kind: IDENTITY_PROVIDER_KIND, id, tenant, expected, body, keys, unique: ['issuer'] }
}

/** The context of the encrypted client secret. */
export function clientSecretContext(id: string): string {
  return `identity provider ${id}`
}

export async function isRegistered(registry: Pick<Registry, 'find'>, tenant: string, issuer: string): Promise<boolean> {
  return (await registry.find(IDENTITY_PROVIDER_KIND, 'issuer', issuerKey(tenant, issuer))) !== null
}

/** Returns the providers of the tenant that sign people in. */
export function signInProviders(
  registry: Pick<Registry, 'list'>,
  tenant: string,
): Promise<readonly Document<IdentityProviderBody>[]> {
  return registry.list(IDENTITY_PROVIDER_KIND, { tenant, where: SIGN_IN, limit: PAGE })
}

/** Whether a mapping of the tenant names the role. */
export async function isMapped(registry: Pick<Registry, 'list'>, tenant: string, role: string): Promise<boolean> {
  const where = { [roleKey(role)]: MAPPED }
  return (await registry.list(IDENTITY_PROVIDER_KIND, { tenant, where, limit: 1 })).length > 0
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

function toPlan({ id, tenant, body }: Document<IdentityProviderBody>): Omit<ProviderPlan, 'keys'> {
  const { issuer, audience = '', claims = {}, apis = [] } = body
  return { id, tenant, issuer, audience, apis, claims: { clientId: '', scope: '', person: '', ...claims } }
}

function issuerKey(tenant: string, issuer: string): string {
  return JSON.stringify([tenant, issuer])
}

function roleKey(role: string): string {
  return `role ${role}`
}
