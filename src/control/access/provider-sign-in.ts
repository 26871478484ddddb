/**
 * Changes of how an identity provider signs people in.
 *
 * A mapping grants its role to people whom only the provider knows, and the client at the provider decides who they are. So a caller
 * needs every right of the mappings, before and after the change. The client secret is stored encrypted and never shown.
 */

import { invalidAt } from '../command/commands.ts'
import type { Problem } from '../../foundation/domain/problem.ts'
import type { Vault } from '../../foundation/runtime/vault.ts'
import type { Author } from '../../storage/store/registry.ts'
import type { HeldScopes } from './held-scopes.ts'
import {
  clientSecretContext,
  type IdentityProviderBody,
  type ProviderSignIn,
  type RoleMapping,
} from './identity-provider-document.ts'
import type { Granting } from './people/granting.ts'

export interface SignInInput extends Partial<ProviderSignIn> {
  readonly clientSecret?: string
}

export interface SignInChanges {
  /** Returns the provider after the change; null removes the sign-in. Throws 400, and 403 for rights that the caller does not hold. */
  apply(
    author: Author,
    held: HeldScopes,
    provider: StoredProvider,
    input: SignInInput | null,
  ): Promise<IdentityProviderBody>
}

interface StoredProvider {
  readonly id: string
  readonly body: IdentityProviderBody
}

export interface SignInChangesOptions {
  readonly granting: Pick<Granting, 'checkMappings' | 'checkUser'>
  readonly vault: Pick<Vault, 'encrypt'>
}

const DEFAULT_SCOPES = ['profile', 'email']
const ROLES_MAX = 20
const CONSUMERS_MAX = 100

export function createSignInChanges({ granting, vault }: SignInChangesOptions): SignInChanges {
  return {
    async apply(author, held, { id, body }, input) {
      const { signIn: before, clientSecret: secretBefore, ...rest } = body
      await granting.checkUser(author, held, { roles: before?.roles ?? [] })
      if (input === null) return rest
      const signIn = merge(before, input)
      checkSize(signIn.roles)
      await granting.checkMappings(author, held, signIn.roles)
      const { clientSecret } = input
      const secret = clientSecret === undefined ? secretBefore : vault.encrypt(clientSecret, clientSecretContext(id))
      if (secret === undefined) throw missing('clientSecret')
      return { ...rest, signIn, clientSecret: secret }
    },
  }
}

/** Whether the people of the provider have to sign in again. */
export function endsAccess(input: SignInInput | null | undefined): boolean {
  return input === null || input?.roles !== undefined || input?.clientId !== undefined
}

function merge(before: ProviderSignIn | undefined, input: SignInInput): ProviderSignIn {
  const { clientId = before?.clientId, roles = before?.roles } = input
  if (clientId === undefined) throw missing('clientId')
  if (roles === undefined) throw missing('roles')
  if (before !== undefined && clientId !== before.clientId && input.clientSecret === undefined)
    throw missing('clientSecret')
  return {
    clientId,
    roles,
    scopes: input.scopes ?? before?.scopes ?? DEFAULT_SCOPES,
    createPeople: input.createPeople ?? before?.createPeople ?? false,
    name: input.name === undefined ? (before?.name ?? null) : input.name,
  }
}

/** Bounds the roles of one person. */
function checkSize(mappings: readonly RoleMapping[]): void {
  const roles = Map.groupBy(mappings, ({ role }) => role)
  const isOver = (all: readonly RoleMapping[]): boolean =>
    new Set(all.flatMap(({ consumers = [] }) => consumers)).size > CONSUMERS_MAX
  if (roles.size <= ROLES_MAX && ![...roles.values()].some(isOver)) return
  const detail = `At most ${ROLES_MAX} roles, each for at most ${CONSUMERS_MAX} consumers, can be given.`
  throw invalidAt('/signIn/roles', detail)
}

function missing(member: string): Problem {
  return invalidAt(`/signIn/${member}`, 'The member is required.')
}
