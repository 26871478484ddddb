/**
 * Users: people who sign in at the authorization endpoint, and on whose behalf clients call.
 *
 * A command that takes access away (disable, remove, reset, change of roles) answers when every gateway thread refuses the tokens
 * of the person, and sign-ins that have begun fail. The last owner of a tenant keeps the role.
 */

import type { CreateId } from '../../foundation/runtime/ids.ts'
import type { PasswordHasher } from '../../foundation/runtime/password-hash.ts'
import type { Labelled } from '../../storage/store/labels.ts'
import type { Author, Document, Registry, Write } from '../../storage/store/registry.ts'
import { commit, find, invalidAt } from '../command/commands.ts'
import type { KeyedMutex } from '../command/keyed-mutex.ts'
import { listAll, listPage, type Page, type PageQuery } from '../command/page.ts'
import { Problem } from '../../foundation/domain/problem.ts'
import type { HeldScopes } from './held-scopes.ts'
import { IDENTITY_PROVIDER_KIND } from './identity-provider-document.ts'
import { eraseRemoved, erasureWrites, USER_ERASURE, type ErasureOptions, type Removal } from './erasure.ts'
import { OWNER } from './people/built-in-roles.ts'
import { checkHasPassword } from './people/accounts.ts'
import type { Granting } from './people/granting.ts'
import { INVITATION_MS, RESET_MS, type Invitation, type NewLink, type OneTimeLinks } from './people/one-time-links.ts'
import {
  holdersOf,
  showUser,
  stateOf,
  USER_KIND,
  userWrite,
  type ProviderIdentity,
  type RoleAssignment,
  type User,
  type UserBody,
} from './people/user-document.ts'
import type { PersonRevocations } from './person-revocations.ts'

export interface UserInput extends Labelled {
  readonly username: string
  /** Without a password the answer has a one-time link that sets it. */
  readonly password?: string
  readonly name: string
  readonly roles?: readonly RoleAssignment[]
  /** A person whom an identity provider signs in, and whose roles come from its claims. */
  readonly identity?: ProviderIdentity
}

export type UserChange = Partial<Pick<UserInput, 'username' | 'name' | 'roles' | 'labels'>>

export interface InvitedUser extends User {
  readonly invitation?: Invitation
}

export interface PasswordReset {
  /** For a person who has lost the second factor and the recovery codes. */
  readonly removeSecondFactor?: boolean
}

export interface Users {
  create(author: Author, input: UserInput, held?: HeldScopes): Promise<InvitedUser>
  get(tenant: string, id: string): Promise<User>
  list(tenant: string, query: PageQuery): Promise<Page<User>>
  update(author: Author, id: string, change: UserChange, held?: HeldScopes): Promise<User>
  disable(author: Author, id: string, held?: HeldScopes): Promise<User>
  enable(author: Author, id: string, held?: HeldScopes): Promise<User>
  /** With `erase` the names of the user are erased, also if the user was removed earlier. */
  remove(author: Author, id: string, held?: HeldScopes, removal?: Removal): Promise<void>
  /** Refuses the earlier tokens, codes and sign-ins of the user. */
  endSessions(author: Author, id: string, held?: HeldScopes): Promise<void>
  /** Throws 403 if the user has a right that the caller does not hold. */
  checkRights(author: Author, id: string, held: HeldScopes): Promise<void>
  /** Makes a new link for a user without a password. */
  invite(author: Author, id: string, held?: HeldScopes): Promise<InvitedUser>
  /** Removes the password and makes a link for a new one. */
  resetPassword(author: Author, id: string, held?: HeldScopes, reset?: PasswordReset): Promise<InvitedUser>
}

export interface UsersOptions extends ErasureOptions {
  readonly createId: CreateId
  readonly passwords: PasswordHasher
  readonly links: OneTimeLinks
  readonly granting: Granting
  readonly revocations: Pick<PersonRevocations, 'revoke' | 'createDue'>
  readonly mutex: KeyedMutex
}

interface UserCommand {
  readonly author: Author
  readonly id: string
  readonly held: HeldScopes
  readonly action: string
}

export function createUsers(options: UsersOptions): Users {
  const { registry, links } = options
  const get = async (tenant: string, id: string): Promise<User> => showUser(await find(registry, tenant, USER_KIND, id))

  return {
    get,
    create: (author, input, held = null) => create(options, author, input, held),
    list: (tenant, query) => listPage({ registry, kind: USER_KIND, tenant, query, where: {}, show: showUser }),
    async update(author, id, { username, name, roles, labels }, held = null) {
      const to = (body: UserBody): UserBody => {
        if (roles !== undefined && body.identity !== undefined) throw rolesOfProvider(body)
        return {
          ...body,
          ...(username !== undefined && { username }),
          ...(name !== undefined && { name }),
          ...(roles !== undefined && { roles }),
          ...(labels !== undefined && { labels }),
        }
      }
      const command = { author, id, held, action: 'user.update' }
      if (roles !== undefined) return cutOff(options, command, to)
      await change(options, command, to)
      return get(author.tenant, id)
    },
    disable: (author, id, held = null) =>
      cutOff(options, { author, id, held, action: 'user.disable' }, (body) => ({
        ...body,
        disabled: true,
        link: null,
      })),
    async enable(author, id, held = null) {
      await change(options, { author, id, held, action: 'user.enable' }, (body) => ({ ...body, disabled: false }))
      return get(author.tenant, id)
    },
    async remove(author, id, held = null, { erase = false } = {}) {
      if (erase && (await registry.get(USER_KIND, id)) === null) return eraseRemoved(options, USER_ERASURE, author, id)
      // Disabled first, so that a repetition after a crash still finds the user and revokes the tokens.
      const command = { author, id, held, action: 'user.remove' }
      await cutOff(options, command, (body) => ({ ...body, disabled: true, link: null }))
      await removeDocument(options, command, erase)
    },
    async endSessions(author, id, held = null) {
      await cutOff(options, { author, id, held, action: 'user.endSessions' }, (body) => body)
    },
    async checkRights(author, id, held) {
      const { body } = await find(registry, author.tenant, USER_KIND, id)
      await options.granting.checkUser(author, held, body)
    },
    async invite(author, id, held = null) {
      const link = links.create(id, INVITATION_MS)
      await change(options, { author, id, held, action: 'user.invite' }, (body) => {
        if (stateOf(body) !== 'Pending') throw wrongState(body, 'Only a user without a password can be invited.')
        return { ...body, link: link.stored }
      })
      return withLink(await get(author.tenant, id), link)
    },
    resetPassword: (author, id, held = null, reset = {}) =>
      resetPassword(options, { author, id, held, action: 'user.resetPassword' }, reset),
  }
}

/** Changes a user and ends the access that was given before. */
async function cutOff(options: UsersOptions, command: UserCommand, to: (body: UserBody) => UserBody): Promise<User> {
  const { author, id } = command
  const due = options.revocations.createDue(author.tenant, [id])
  await change(options, command, (body) => ({ ...to(body), epoch: (body.epoch ?? 0) + 1 }), [due.write])
  await options.revocations.revoke(author.tenant, [id], due)
  return showUser(await find(options.registry, author.tenant, USER_KIND, id))
}

async function resetPassword(
  options: UsersOptions,
  command: UserCommand,
  { removeSecondFactor = false }: PasswordReset,
): Promise<InvitedUser> {
  const link = options.links.create(command.id, RESET_MS)
  const user = await cutOff(options, command, (body) => {
    checkHasPassword(body)
    if (body.disabled === true) throw wrongState(body, 'The user is disabled. Enable the user first.')
    const rest = removeSecondFactor ? { ...body, totp: null, pendingTotp: null } : body
    return { ...rest, passwordHash: null, link: link.stored }
  })
  return withLink(user, link)
}

async function create(
  { registry, createId, passwords, links, granting, mutex }: UsersOptions,
  author: Author,
  input: UserInput,
  held: HeldScopes,
): Promise<InvitedUser> {
  const { username, password, name, roles = [], identity, labels } = input
  const { tenant } = author
  const id = createId('usr')
  const link = password === undefined && identity === undefined ? links.create(id, INVITATION_MS) : null
  const passwordHash = password === undefined ? null : await passwords.hash(password)
  const rest = { passwordHash, roles, link: link?.stored ?? null, ...(identity && { identity }) }
  const body: UserBody = { username, name, ...rest, ...(labels && { labels }) }
  await mutex.runExclusive([peopleOf(tenant)], async () => {
    await granting.checkAssignments(author, held, roles)
    // To admit a person to a provider is to grant what its mappings give.
    await granting.checkUser(author, held, { roles: await mappedRolesOf(registry, tenant, input) })
    await commit(registry, author, 'user.create', [userWrite(id, tenant, 0, body)], taken(identity))
  })
  return withLink(showUser(await find(registry, tenant, USER_KIND, id)), link)
}

/** Returns the roles that the provider of a new user may give. Throws 400 if the user has other roles or a password. */
async function mappedRolesOf(
  registry: Registry,
  tenant: string,
  { identity, password, roles }: UserInput,
): Promise<readonly RoleAssignment[]> {
  if (identity === undefined) return []
  if (password !== undefined) throw invalidAt('/password', 'An identity provider signs this person in.')
  if (roles !== undefined) throw invalidAt('/roles', 'The roles come from the claims of the identity provider.')
  const provider = await registry.get(IDENTITY_PROVIDER_KIND, identity.provider)
  if (provider?.tenant !== tenant || provider.body.signIn === undefined) {
    throw invalidAt('/identity/provider', 'There is no identity provider that signs people in.')
  }
  return provider.body.signIn.roles
}

/** Commits a change of one user, alone among the changes of people and roles of the tenant. */
async function change(
  { registry, granting, mutex }: UsersOptions,
  { author, id, held, action }: UserCommand,
  to: (body: UserBody) => UserBody,
  more: readonly Write[] = [],
): Promise<void> {
  const { tenant } = author
  await mutex.runExclusive([peopleOf(tenant)], async () => {
    const user = await find(registry, tenant, USER_KIND, id)
    await granting.checkUser(author, held, user.body)
    const body = to(user.body)
    if (body.roles !== user.body.roles) await granting.checkAssignments(author, held, body.roles ?? [])
    if (isOwner(user.body) && user.body.identity === undefined && (!isOwner(body) || body.disabled === true))
      await checkOwnerRemains(registry, user)
    await commit(registry, author, action, [userWrite(id, tenant, user.revision, body), ...more], USER_NAME_TAKEN)
  })
}

async function removeDocument(
  options: UsersOptions,
  { author, id, action }: UserCommand,
  erase: boolean,
): Promise<void> {
  const { registry, mutex } = options
  const { tenant } = author
  await mutex.runExclusive([peopleOf(tenant)], async () => {
    const { revision } = await find(registry, tenant, USER_KIND, id)
    const erasure = erase ? await erasureWrites(options, USER_ERASURE, tenant, id) : []
    const removal = { kind: USER_KIND, id, tenant, expected: revision, body: null }
    await commit(registry, author, action, [removal, ...erasure])
  })
}

/** Throws 409 if no other user of the tenant can sign in as an owner, whatever an identity provider says. */
async function checkOwnerRemains(registry: Registry, { id, tenant }: Document<UserBody>): Promise<void> {
  for await (const other of listAll(registry, USER_KIND, { tenant, where: holdersOf(OWNER) })) {
    if (other.id !== id && other.body.identity === undefined && stateOf(other.body) === 'Active') return
  }
  const detail = 'This is the last owner who can sign in. Give another active user the role `owner` first.'
  throw new Problem('state_conflict', detail, { extensions: { state: 'Active', allowed: [] } })
}

/** The key of the lock for people and roles of a tenant. */
export function peopleOf(tenant: string): string {
  return `people ${tenant}`
}

function isOwner({ roles = [] }: UserBody): boolean {
  return roles.some(({ role }) => role === OWNER)
}

function withLink(user: User, link: NewLink | null): InvitedUser {
  return link === null ? user : { ...user, invitation: link.shown }
}

function wrongState(body: UserBody, detail: string): Problem {
  return new Problem('state_conflict', detail, {
    extensions: { state: stateOf(body), allowed: ALLOWED[stateOf(body)] },
  })
}

/** Commands that each state allows, for a user whose state refuses an invitation or a new password. */
const ALLOWED = {
  Active: ['disable', 'reset-password'],
  Pending: ['disable', 'invite'],
  Disabled: ['enable'],
} as const

function rolesOfProvider(body: UserBody): Problem {
  const detail = 'The roles of this person come from the claims of an identity provider. Change its `signIn.roles`.'
  return new Problem('state_conflict', detail, { extensions: { state: stateOf(body), allowed: [] } })
}

function taken(identity: ProviderIdentity | undefined): string {
  return identity === undefined ? USER_NAME_TAKEN : 'The user name or the person of the provider is taken.'
}

const USER_NAME_TAKEN = 'The user name is taken.'
