/** Users: people who log in at the authorization endpoint, and on whose behalf clients call. */

import type { CreateId } from '../runtime/ids.ts'
import type { PasswordHasher } from '../runtime/password-hash.ts'
import { documentKind, type Author, type Document, type Registry } from '../store/registry.ts'
import { commit, find, toTime } from '../command/commands.ts'
import { listPage, type Page, type PageQuery } from '../command/page.ts'

export interface UserInput {
  readonly username: string
  readonly password: string
  readonly name: string
}

export interface User {
  readonly id: string
  readonly username: string
  readonly name: string
  readonly createdAt: string
}

interface UserBody {
  readonly username: string
  readonly name: string
  /** As `runtime/password-hash.ts` encodes it. */
  readonly passwordHash: string
}

export interface Users {
  create(author: Author, input: UserInput): Promise<User>
  get(tenant: string, id: string): Promise<User>
  list(tenant: string, query: PageQuery): Promise<Page<User>>
  /** Returns null if the user name or the password is wrong, after the same time in both cases. */
  verify(tenant: string, username: string, password: string): Promise<Omit<User, 'createdAt'> | null>
  /** Returns null if there is no user with this id. */
  find(tenant: string, id: string): Promise<Omit<User, 'createdAt'> | null>
}

export interface UsersOptions {
  readonly registry: Registry
  readonly createId: CreateId
  readonly passwords: PasswordHasher
}

const USER_KIND = documentKind<UserBody>('user', ['username', 'name'])

export function createUsers({ registry, createId, passwords }: UsersOptions): Users {
  return {
    async create(author, { username, password, name }) {
      const { tenant } = author
      const id = createId('usr')
      const body: UserBody = { username, name, passwordHash: await passwords.hash(password) }
      const keys = { username: keyOf(tenant, username) }
      await commit(
        registry,
        author,
        'user.create',
        [{ kind: USER_KIND, id, tenant, expected: 0, body, keys, unique: ['username'] }],
        'The user name is taken.',
      )
      return show(await find(registry, tenant, USER_KIND, id))
    },
    get: async (tenant, id) => show(await find(registry, tenant, USER_KIND, id)),
    list: (tenant, query) => listPage({ registry, kind: USER_KIND, tenant, query, where: {}, show }),
    async verify(tenant, username, password) {
      const found = await registry.find(USER_KIND, 'username', keyOf(tenant, username))
      const isRight = await passwords.verify(password, found?.body.passwordHash ?? null)
      return found === null || !isRight ? null : { id: found.id, username: found.body.username, name: found.body.name }
    },
    async find(tenant, id) {
      const found = await registry.get(USER_KIND, id)
      if (found === null || found.tenant !== tenant) return null
      return { id, username: found.body.username, name: found.body.name }
    },
  }
}

/** Normalizes the user name, because the same letters can be composed in two ways. */
function keyOf(tenant: string, username: string): string {
  return JSON.stringify([tenant, username.normalize('NFC')])
}

function show({ id, body, createdAtMs }: Document<UserBody>): User {
  return { id, username: body.username, name: body.name, createdAt: toTime(createdAtMs) }
}
