/**
 * Roles: named sets of platform scopes. Each tenant has the built-in roles and may define its own.
 *
 * To change a role that others hold is to grant, so that a caller can put only scopes that it holds into a role. A change refuses
 * the earlier tokens of all holders before it answers. A role that a user holds cannot be removed.
 */

import type { CreateId } from '../../foundation/runtime/ids.ts'
import type { Labelled } from '../../storage/store/labels.ts'
import type { Author, Document, Registry } from '../../storage/store/registry.ts'
import { commit, invalidAt } from '../command/commands.ts'
import type { KeyedMutex } from '../command/keyed-mutex.ts'
import { hasLabels, listAll, pageOf, type Page, type PageQuery } from '../command/page.ts'
import { Problem, type ConflictAction } from '../../foundation/domain/problem.ts'
import type { HeldScopes } from './held-scopes.ts'
import { isMapped } from './identity-provider-document.ts'
import type { Entitlements } from './people/entitlements.ts'
import type { Granting } from './people/granting.ts'
import { ROLE_KIND, roleNameKey, roleWrite, type Role, type RoleBody } from './people/role-document.ts'
import { holdersOf, USER_KIND } from './people/user-document.ts'
import type { PersonRevocations } from './person-revocations.ts'
import { peopleOf } from './users.ts'

export interface RoleInput extends Labelled {
  readonly description?: string
  readonly scopes: readonly string[]
}

export interface Roles {
  list(tenant: string, query: PageQuery): Promise<Page<Role>>
  get(tenant: string, name: string): Promise<Role>
  create(author: Author, input: RoleInput & { readonly name: string }, held?: HeldScopes): Promise<Role>
  replace(author: Author, name: string, input: RoleInput, held?: HeldScopes): Promise<Role>
  /** Members that are left out stay as they are. */
  update(author: Author, name: string, input: Partial<RoleInput>, held?: HeldScopes): Promise<Role>
  remove(author: Author, name: string): Promise<void>
}

export interface RolesOptions {
  readonly registry: Registry
  readonly createId: CreateId
  readonly entitlements: Entitlements
  readonly granting: Granting
  readonly revocations: Pick<PersonRevocations, 'revoke'>
  readonly mutex: KeyedMutex
  /** All scopes of the platform API. */
  readonly scopes: readonly string[]
}

const ROLES_MAX = 1_000

export function createRoles(options: RolesOptions): Roles {
  const { registry, createId, entitlements, mutex } = options
  const get = async (tenant: string, name: string): Promise<Role> =>
    (await entitlements.role(tenant, name)) ?? notFound(name)

  const change = async (author: Author, given: RoleChange): Promise<Role> => {
    await changeRole(options, author, given)
    return get(author.tenant, given.name)
  }

  return {
    get,
    list: async (tenant, query) => pageOf((await entitlements.roles(tenant)).filter(hasLabels(query)), query),
    create: (author, { name, ...input }, held = null) =>
      mutex.runExclusive([peopleOf(author.tenant)], async () => {
        const { tenant } = author
        checkScopes(options, held, input.scopes)
        const known = await entitlements.roles(tenant)
        if (known.some((role) => role.name === name)) throw new Problem('name_taken', 'The name is taken.')
        if (known.length >= ROLES_MAX) {
          throw conflict('full', ['remove'], `The tenant has ${known.length} roles, which is the maximum.`)
        }
        await commit(registry, author, 'role.create', [roleWrite(createId('rol'), tenant, 0, toBody(name, input))])
        return get(tenant, name)
      }),
    replace(author, name, input, held = null) {
      const toInput: RoleChange['toInput'] = ({ labels }) => ({ ...(labels && { labels }), ...input })
      return change(author, { name, held, toInput, endsTokens: true })
    },
    update(author, name, input, held = null) {
      const toInput: RoleChange['toInput'] = (before) => ({ ...before, ...input })
      return change(author, { name, held, toInput, endsTokens: input.scopes !== undefined })
    },
    remove: (author, name) =>
      mutex.runExclusive([peopleOf(author.tenant)], async () => {
        const { tenant } = author
        const { id, revision } = await findOwn(options, tenant, name)
        const holders = await registry.list(USER_KIND, { tenant, where: holdersOf(name), limit: 1 })
        if (holders.length > 0) throw conflict('held', [], 'People hold this role. Remove it from them first.')
        if (await isMapped(registry, tenant, name)) {
          const detail = 'An identity provider gives this role. Remove it from its `signIn` first.'
          throw conflict('mapped', [], detail)
        }
        await commit(registry, author, 'role.remove', [{ kind: ROLE_KIND, id, tenant, expected: revision, body: null }])
      }),
  }
}

interface RoleChange {
  readonly name: string
  readonly held: HeldScopes
  readonly toInput: (before: RoleBody) => RoleInput
  /** Also for equal scopes: the change may be repeated after a crash. */
  readonly endsTokens: boolean
}

async function changeRole(
  options: RolesOptions,
  author: Author,
  { name, held, toInput, endsTokens }: RoleChange,
): Promise<void> {
  const { registry, mutex, revocations } = options
  const { tenant } = author
  await mutex.runExclusive([peopleOf(tenant)], async () => {
    const { id, revision, body } = await findOwn(options, tenant, name)
    const input = toInput(body)
    const added = input.scopes.filter((scope) => !body.scopes.includes(scope))
    checkScopes(options, held, input.scopes, added)
    await commit(registry, author, 'role.replace', [roleWrite(id, tenant, revision, toBody(name, input))])
  })
  if (!endsTokens) return
  const holders: string[] = []
  for await (const { id } of listAll(registry, USER_KIND, { tenant, where: holdersOf(name) })) holders.push(id)
  await revocations.revoke(tenant, holders)
}

/** Throws 400 for a scope that the platform API does not have, and 403 for an added scope that the caller does not hold. */
function checkScopes(
  { scopes: known, granting }: RolesOptions,
  held: HeldScopes,
  scopes: readonly string[],
  added = scopes,
): void {
  const unknown = scopes.findIndex((scope) => !known.includes(scope) && added.includes(scope))
  if (unknown >= 0) throw invalidAt(`/scopes/${unknown}`, 'The platform API has no such scope.')
  granting.checkScopes(held, added)
}

async function findOwn(
  { registry, entitlements }: RolesOptions,
  tenant: string,
  name: string,
): Promise<Document<RoleBody>> {
  const found = await registry.find(ROLE_KIND, 'name', roleNameKey(tenant, name))
  if (found !== null) return found
  if ((await entitlements.role(tenant, name)) === null) return notFound(name)
  throw conflict('builtIn', [], 'A built-in role cannot be changed. Define a role with another name.')
}

/** A role has no states; the word is that of what prevents the change. */
function conflict(state: string, allowed: readonly ConflictAction[], detail: string): Problem {
  return new Problem('state_conflict', detail, { extensions: { state, allowed } })
}

function toBody(name: string, { description = '', scopes, labels }: RoleInput): RoleBody {
  return { name, description, scopes: [...new Set(scopes)].sort(), ...(labels && { labels }) }
}

function notFound(name: string): never {
  throw new Problem('not_found', `There is no role ${name.slice(0, 128)}.`)
}
