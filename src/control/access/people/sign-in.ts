/**
 * Signs people in with their passwords, and sets passwords by one-time links. Finds those whom an identity provider signs in.
 *
 * An unknown user name, a wrong password, a disabled user and a user without a password get the same answer after the same time.
 */

import { RevisionConflict, type Document, type Registry } from '../../../storage/store/registry.ts'
import type { PasswordHasher } from '../../../foundation/runtime/password-hash.ts'
import { IDENTITY_PROVIDER_KIND } from '../identity-provider-document.ts'
import type { PersonRevocations } from '../person-revocations.ts'
import { readLink, type OneTimeLinks } from './one-time-links.ts'
import { USER_KIND, usernameKey, userWrite, type UserBody } from './user-document.ts'

/** A person who may sign in. */
export interface Person {
  readonly id: string
  readonly username: string
  readonly name: string
  /** A sign-in or a code with an earlier epoch has ended. */
  readonly epoch: number
}

export interface SignIn {
  /** Returns null if the person cannot sign in with this password. */
  verify(tenant: string, username: string, password: string): Promise<Person | null>
  /** Returns null if there is no such person, it is disabled, or its identity provider no longer signs people in. */
  find(tenant: string, id: string): Promise<Person | null>
  /** Returns null if the link is not open. */
  openLink(text: string): Promise<(Person & { readonly tenant: string }) | null>
  /** Returns false if the link is not open. The check of the password is the caller's. */
  useLink(text: string, password: string): Promise<boolean>
}

export interface SignInOptions {
  readonly registry: Registry
  readonly passwords: PasswordHasher
  readonly links: OneTimeLinks
  readonly revocations: Pick<PersonRevocations, 'revoke' | 'createDue'>
}

export function createSignIn({ registry, passwords, links, revocations }: SignInOptions): SignIn {
  async function userOfLink(text: string): Promise<Document<UserBody> | null> {
    const link = readLink(text)
    const user = link === null ? null : await registry.get(USER_KIND, link.user)
    return link !== null && user !== null && links.opens(user.body, link.secret) ? user : null
  }

  return {
    async verify(tenant, username, password) {
      const found = await registry.find(USER_KIND, 'username', usernameKey(tenant, username))
      const isRight = await passwords.verify(password, found?.body.passwordHash ?? null)
      return found === null || !isRight ? null : toPerson(found)
    },
    async find(tenant, id) {
      const found = await registry.get(USER_KIND, id)
      return found?.tenant === tenant && (await isServed(registry, found)) ? toPerson(found) : null
    },
    async openLink(text) {
      const user = await userOfLink(text)
      const person = user === null ? null : toPerson(user)
      return user === null || person === null ? null : { ...person, tenant: user.tenant }
    },
    async useLink(text, password) {
      const user = await userOfLink(text)
      if (user === null) return false
      const { id, tenant, revision, body } = user
      const passwordHash = await passwords.hash(password)
      const next: UserBody = { ...body, passwordHash, link: null, epoch: (body.epoch ?? 0) + 1 }
      const author = { tenant, consumer: 'system', person: id }
      const due = revocations.createDue(tenant, [id])
      try {
        await registry.commit(author, 'user.password', [userWrite(id, tenant, revision, next), due.write])
      } catch (cause) {
        // The link was used, replaced or withdrawn meanwhile.
        if (cause instanceof RevisionConflict) return false
        throw cause
      }
      await revocations.revoke(tenant, [id], due)
      return true
    },
  }
}

/** Whether the person has a password, or a provider that signs people in. */
async function isServed(registry: Registry, { tenant, body }: Document<UserBody>): Promise<boolean> {
  const { identity } = body
  if (identity === undefined) return true
  const provider = await registry.get(IDENTITY_PROVIDER_KIND, identity.provider)
  return provider?.tenant === tenant && provider.body.signIn !== undefined
}

/** Returns null if the person is disabled. */
export function toPerson({ id, body }: Document<UserBody>): Person | null {
  const { username, name, epoch = 0, disabled } = body
  return disabled === true ? null : { id, username, name, epoch }
}
