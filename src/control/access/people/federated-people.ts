/**
 * People whom an identity provider signs in.
 *
 * A person is found by provider and subject, never by user name or e-mail address, because a provider could put those of another
 * account into its claims. The roles are computed from the claims at each sign-in. If they differ from the earlier ones, the access
 * that was given before has ended when the sign-in is answered; with none left the sign-in is refused.
 */

import { commit } from '../../command/commands.ts'
import type { KeyedMutex } from '../../command/keyed-mutex.ts'
import { listAll } from '../../command/page.ts'
import type { CreateId } from '../../../foundation/runtime/ids.ts'
import type { Author, Document, Registry } from '../../../storage/store/registry.ts'
import { IDENTITY_PROVIDER_KIND, type ProviderSignIn } from '../identity-provider-document.ts'
import type { PersonRevocations } from '../person-revocations.ts'
import { peopleOf } from '../users.ts'
import { mappedRoles, type Claims } from './role-mapping.ts'
import { toPerson, type Person } from './sign-in.ts'
import {
  identityKey,
  USER_KIND,
  usernameKey,
  userWrite,
  type ProviderIdentity,
  type RoleAssignment,
  type UserBody,
} from './user-document.ts'

/** Why a person whom the provider has authenticated may not sign in. */
export type SignInRefusal = 'provider_closed' | 'person_unknown' | 'person_disabled' | 'no_role'

export type FederatedSignInResult = { readonly person: Person } | { readonly refused: SignInRefusal }

export interface FederatedPeople {
  /** Signs in the person of validated claims. */
  signIn(tenant: string, provider: string, claims: Claims): Promise<FederatedSignInResult>
  /** Refuses the earlier tokens, codes and sign-ins of all people of a provider. */
  endAccess(author: Author, provider: string): Promise<void>
}

export interface FederatedPeopleOptions {
  readonly registry: Registry
  readonly createId: CreateId
  readonly revocations: Pick<PersonRevocations, 'revoke' | 'createDue'>
  readonly mutex: KeyedMutex
}

const BATCH_MAX = 500
/** OpenID Connect Core, 2. */
const SUBJECT_LENGTH_MAX = 255
const NAME_LENGTH_MAX = 100
const SUFFIX_LENGTH = 6

export function createFederatedPeople(options: FederatedPeopleOptions): FederatedPeople {
  const { registry, mutex, revocations } = options

  return {
    signIn: (tenant, provider, claims) =>
      mutex.runExclusive([peopleOf(tenant)], async () => {
        const found = await registry.get(IDENTITY_PROVIDER_KIND, provider)
        const subject = subjectOf(claims)
        if (found?.tenant !== tenant || found.body.signIn === undefined) return { refused: 'provider_closed' }
        if (subject === null) return { refused: 'person_unknown' }
        const identity = { provider, subject }
        const user = await registry.find(USER_KIND, 'identity', identityKey(identity))
        const { signIn } = found.body
        return user === null
          ? createPerson(options, tenant, signIn, identity, claims)
          : updateRoles(options, user, mappedRoles(signIn.roles, claims))
      }),
    endAccess: (author, provider) =>
      mutex.runExclusive([peopleOf(author.tenant)], async () => {
        const { tenant } = author
        let people: Document<UserBody>[] = []
        const endBatch = async (): Promise<void> => {
          const ids = people.map(({ id }) => id)
          const due = revocations.createDue(tenant, ids)
          await commit(registry, author, 'user.endSessions', [...people.map(withNextEpoch), due.write])
          await revocations.revoke(tenant, ids, due)
          people = []
        }
        for await (const person of listAll(registry, USER_KIND, { tenant, where: { provider } })) {
          people.push(person)
          if (people.length === BATCH_MAX) await endBatch()
        }
        if (people.length > 0) await endBatch()
      }),
  }
}

async function createPerson(
  { registry, createId }: FederatedPeopleOptions,
  tenant: string,
  signIn: ProviderSignIn,
  identity: ProviderIdentity,
  claims: Claims,
): Promise<FederatedSignInResult> {
  const roles = mappedRoles(signIn.roles, claims)
  if (roles.length === 0) return { refused: 'no_role' }
  if (!signIn.createPeople) return { refused: 'person_unknown' }
  const id = createId('usr')
  const wanted = textOf(claims, 'preferred_username') ?? textOf(claims, 'email') ?? textOf(claims, 'sub') ?? id
  const isTaken = (await registry.find(USER_KIND, 'username', usernameKey(tenant, wanted))) !== null
  const username = isTaken ? `${wanted} (${id.slice(-SUFFIX_LENGTH)})` : wanted
  const body: UserBody = { username, name: textOf(claims, 'name') ?? username, passwordHash: null, roles, identity }
  await commit(registry, authorOf(tenant, id), 'user.create', [userWrite(id, tenant, 0, body)])
  return { person: { id, username, name: body.name, epoch: 0 } }
}

async function updateRoles(
  { registry, revocations }: FederatedPeopleOptions,
  user: Document<UserBody>,
  roles: readonly RoleAssignment[],
): Promise<FederatedSignInResult> {
  const { id, tenant, revision, body } = user
  if (body.disabled === true) return { refused: 'person_disabled' }
  const isSame = JSON.stringify(roles) === JSON.stringify(body.roles ?? [])
  const epoch = (body.epoch ?? 0) + (isSame ? 0 : 1)
  const next = { ...body, roles, epoch }
  if (!isSame) {
    const due = revocations.createDue(tenant, [id])
    await commit(registry, authorOf(tenant, id), 'user.update', [userWrite(id, tenant, revision, next), due.write])
    await revocations.revoke(tenant, [id], due)
  }
  const person = toPerson({ ...user, body: next })
  return person === null || roles.length === 0 ? { refused: 'no_role' } : { person }
}

function withNextEpoch({ id, tenant, revision, body }: Document<UserBody>) {
  return userWrite(id, tenant, revision, { ...body, epoch: (body.epoch ?? 0) + 1 })
}

function authorOf(tenant: string, person: string): Author {
  return { tenant, consumer: 'system', person }
}

function subjectOf({ sub }: Claims): string | null {
  return typeof sub === 'string' && sub.length > 0 && sub.length <= SUBJECT_LENGTH_MAX ? sub : null
}

/** Returns a text that a user may have as a name; null if nothing is left of the claim. */
function textOf(claims: Claims, name: string): string | null {
  const claim = Object.hasOwn(claims, name) ? claims[name] : undefined
  if (typeof claim !== 'string') return null
  const shown = claim.toWellFormed().replaceAll(/\p{Cc}/gu, '')
  return [...shown].slice(0, NAME_LENGTH_MAX).join('').trim() || null
}
