/** The stored form of a user, and its form in the API. */

import type { Role } from './role-document.ts'
import type { Labelled, Labels } from '../../store/labels.ts'
import { documentKind, type Document, type Write } from '../../store/registry.ts'
import { toTime } from '../../command/commands.ts'

/** A role that a person holds; `consumers` bounds its scopes with the own width. */
export interface RoleAssignment {
  readonly role: Role['name']
  readonly consumers?: readonly string[]
}

export interface UserBody extends Labelled {
  readonly username: string
  readonly name: string
  /** As `runtime/password-hash.ts` encodes it; null until a one-time link has set a password. */
  readonly passwordHash: string | null
  readonly disabled?: boolean
  readonly roles?: readonly RoleAssignment[]
  /** Increases when logins that have begun, and codes that were issued, end. */
  readonly epoch?: number
  /** The only link that is open; a new one replaces it. */
  readonly link?: OneTimeLink | null
  /** The second factor in force. */
  readonly totp?: TotpBody | null
  /** An encrypted secret that no code has confirmed yet. */
  readonly pendingTotp?: string | null
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
  readonly labels: Labels
  readonly createdAt: string
}

export const USER_KIND = documentKind<UserBody>('user', ['username', 'name', 'disabled', 'roles', 'labels'])

const HELD = 'held'

export function userWrite(id: string, tenant: string, expected: number, body: UserBody): Write {
  const roles = (body.roles ?? []).map(({ role }) => [roleKey(role), HELD])
  const keys = { username: usernameKey(tenant, body.username), ...Object.fromEntries(roles) }
  return { kind: USER_KIND, id, tenant, expected, body, keys, unique: ['username'] }
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
  const { username, name, roles = [], labels = {} } = body
  return { id, username, name, state: stateOf(body), roles, labels, createdAt: toTime(createdAtMs) }
}

export function stateOf({ disabled, passwordHash }: UserBody): User['state'] {
  if (disabled === true) return 'Disabled'
  return passwordHash === null ? 'Pending' : 'Active'
}
