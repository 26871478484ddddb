/**
 * The rule that no caller grants a right that it does not hold.
 *
 * A caller may assign a role if it holds every scope of the role, and may manage a person only if it holds every right of that
 * person, because a reset of the password gives access as that person.
 */

import { Problem } from '../../../foundation/domain/problem.ts'
import { isOwnScope, wideScope } from '../../../foundation/domain/scope-width.ts'
import { invalidAt } from '../../command/commands.ts'
import type { Author, Registry } from '../../../storage/store/registry.ts'
import { CONSUMER_KIND } from '../consumer-document.ts'
import type { HeldScopes } from '../held-scopes.ts'
import type { Entitlement, Entitlements } from './entitlements.ts'
import type { RoleAssignment, UserBody } from './user-document.ts'

export interface Granting {
  /** Throws 400 for an unknown role or consumer, and 403 for a right that the caller does not hold. */
  checkAssignments(author: Author, held: HeldScopes, roles: readonly RoleAssignment[]): Promise<void>
  /** As `checkAssignments`, for the mappings of an identity provider, several of which may give one role. */
  checkMappings(author: Author, held: HeldScopes, mappings: readonly RoleAssignment[]): Promise<void>
  /** Throws 403 if the user has a right that the caller does not hold. */
  checkUser(author: Author, held: HeldScopes, user: Pick<UserBody, 'roles'>): Promise<void>
  /** Throws 403 if a scope of a role is not held for the tenant, because holders of the role may have other consumers. */
  checkScopes(held: HeldScopes, scopes: readonly string[]): void
}

export interface GrantingOptions {
  readonly registry: Registry
  readonly entitlements: Entitlements
}

export function createGranting({ registry, entitlements }: GrantingOptions): Granting {
  async function checkUser(author: Author, held: HeldScopes, { roles = [] }: Pick<UserBody, 'roles'>): Promise<void> {
    if (held === null || roles.length === 0) return
    const wanted = await entitlements.ofRoles(author.tenant, roles)
    const own = await consumersOf(entitlements, author)
    const missing = [...wanted.scopes].filter((scope) => !covers(held, own(scope), scope, wanted))
    if (missing.length > 0) throw notHeld(missing)
  }

  /** Throws 400 with a pointer into the assignment. */
  async function checkExists({ tenant }: Author, assignment: RoleAssignment, pointer: string): Promise<void> {
    const { role: name, consumers = [] } = assignment
    const role = await entitlements.role(tenant, name)
    if (role === null) throw invalidAt(`${pointer}/role`, 'There is no such role.')
    if (role.scopes.every(isOwnScope) && consumers.length === 0) {
      throw invalidAt(`${pointer}/consumers`, 'The role needs the consumers that it covers.')
    }
    for (const [at, id] of consumers.entries()) {
      const consumer = await registry.get(CONSUMER_KIND, id)
      if (consumer?.tenant === tenant) continue
      throw invalidAt(`${pointer}/consumers/${at}`, 'The consumer does not exist.')
    }
  }

  return {
    checkUser,
    async checkAssignments(author, held, roles) {
      for (const [index, assignment] of roles.entries()) {
        if (roles.findIndex(({ role: name }) => name === assignment.role) < index) {
          throw invalidAt(`/roles/${index}/role`, 'The role is assigned more than once.')
        }
        await checkExists(author, assignment, `/roles/${index}`)
      }
      await checkUser(author, held, { roles })
    },
    async checkMappings(author, held, mappings) {
      for (const [index, mapping] of mappings.entries()) await checkExists(author, mapping, `/signIn/roles/${index}`)
      await checkUser(author, held, { roles: mappings })
    },
    checkScopes(held, scopes) {
      const missing = held === null ? [] : scopes.filter((scope) => !held.has(wideScope(scope)))
      if (missing.length > 0) throw notHeld(missing)
    },
  }
}

/** Returns the consumers for which the caller holds a scope with the own width. */
async function consumersOf(
  entitlements: Entitlements,
  { tenant, consumer, person }: Author,
): Promise<(scope: string) => ReadonlySet<string>> {
  if (person === undefined) return () => new Set([consumer])
  const entitlement = await entitlements.ofUser(tenant, person)
  return (scope) => entitlement?.consumers.get(scope) ?? new Set()
}

function covers(
  held: ReadonlySet<string>,
  own: ReadonlySet<string>,
  scope: string,
  { consumers }: Entitlement,
): boolean {
  if (held.has(wideScope(scope))) return true
  return isOwnScope(scope) && held.has(scope) && (consumers.get(scope) ?? new Set()).isSubsetOf(own)
}

function notHeld(scopes: readonly string[]): Problem {
  const detail = `This needs rights that the caller does not hold: ${scopes.slice(0, 10).join(', ')}.`
  return new Problem('operation_forbidden', detail)
}
