/** The stored form of a user, and its form in the API. */

import type { Role } from './role-document.ts'
import type { Labelled, Labels } from '../../../storage/store/labels.ts'
import { documentKind, type Document, type Write } from '../../../storage/store/registry.ts'
import { toTime } from '../../command/commands.ts'

/** A role that a person holds; `consumers` bounds its scopes with the own width. */
export interface RoleAssignment {
  readonly role: Role['name']
  readonly consumers?: readonly string[]
}

export interface UserBody extends Labelled {
  readonly username: string
  readonly name: string
  /** As `foundation/runtime/password-hash.ts` encodes it; null until a one-time link has set a password. */
  readonly passwordHash: string | null
  readonly disabled?: boolean
  readonly roles?: readonly RoleAssignment[]
  /** Who signs the person in, if there is no password. The roles come from its claims. */
  readonly identity?: ProviderIdentity
  /** Increases when sign-ins that have begun, and codes that were issued, end. */
  readonly epoch?: number
  /** The only link that is open; a new one replaces it. */
  readonly link?: OneTimeLink | null
  /** The second factor in force. */
  readonly totp?: TotpBody | null
  /** An encrypted secret that no code has confirmed yet. */
  readonly pendingTotp?: string | null
}

/** A person of an identity provider. */
export interface ProviderIdentity {
  /** The id of the provider. */
  readonly provider: string
  /** The claim `sub`, which the provider never gives to another person. */
  readonly subject: string
}

export interface TotpBody {
  /** Encrypted. */
  readonly secret: string
  /** The step of the last code; codes of this and of earlier steps are refused. */
  readonly lastStep: number
  /** Keyed hashes of the recovery codes that are left. */
  readonly recovery: readonly string[]
}

export interface OneTimeLink {
  readonly secretHash: string
  readonly expiresAtMs: number
}

export interface User {
  readonly id: string
  readonly username: string
  readonly name: string
  /** `Pending`: no password has been set. */
  readonly state: 'Active' | 'Pending' | 'Disabled'
  readonly roles: readonly RoleAssignment[]
  /** The id of the identity provider that signs the person in; null: the person has a password. */
  readonly identityProvider: string | null
  readonly labels: Labels
  readonly createdAt: string
}

export const USER_KIND = documentKind<UserBody>('user', ['username', 'name', 'disabled', 'roles', 'identity', 'labels'])

const HELD = 'held'

export function userWrite(id: string, tenant: string, expected: number, body: UserBody): Write {
  const roles = (body.roles ?? []).map(({ role }) => [roleKey(role), HELD])
  const { identity } = body
  const keys = {
    username: usernameKey(tenant, body.username),
    ...(identity && { identity: identityKey(identity), provider: identity.provider }),
    ...Object.fromEntries(roles),
  }
  return { kind: USER_KIND, id, tenant, expected, body, keys, unique: ['username', 'identity'] }
}

export function identityKey({ provider, subject }: ProviderIdentity): string {
  return JSON.stringify([provider, subject])
}

/** Normalizes the user name, because the same letters can be composed in two ways. */
export function usernameKey(tenant: string, username: string): string {
  return JSON.stringify([tenant, username.normalize('NFC')])
}

/** Returns the filter of a list for the holders of a role. */
export function holdersOf(role: string): Readonly<Record<string, string>> {
  return { [roleKey(role)]: HELD }
}

function roleKey(role: string): string {
  return `role ${role}`
}

export function showUser({ id, body, createdAtMs }: Document<UserBody>): User {
  const { username, name, roles = [], identity, labels = {} } = body
  const identityProvider = identity?.provider ?? null
  return { id, username, name, state: stateOf(body), roles, identityProvider, labels, createdAt: toTime(createdAtMs) }
}

export function stateOf({ disabled, passwordHash, identity }: UserBody): User['state'] {
  if (disabled === true) return 'Disabled'
  return passwordHash === null && identity === undefined ? 'Pending' : 'Active'
}
