/**
 * The platform scopes that a person is entitled to: those of their roles, and the scopes of their own account.
 *
 * A scope with the own width counts only for the consumers of the assignment that it comes from.
 */

import { listAll } from '../../command/page.ts'
import { isOwnScope } from '../../../foundation/domain/scope-width.ts'
import type { Registry } from '../../../storage/store/registry.ts'
import { ACCOUNT_SCOPES } from '../grants.ts'
import { builtInRoles } from './built-in-roles.ts'
import { ROLE_KIND, roleNameKey, showRole, type Role } from './role-document.ts'
import { USER_KIND, type RoleAssignment } from './user-document.ts'

export interface Entitlement {
  readonly scopes: ReadonlySet<string>
  /** The consumers that each scope with the own width covers. */
  readonly consumers: ReadonlyMap<string, ReadonlySet<string>>
}

export interface Entitlements {
  /** Returns null if the tenant has no such role. */
  role(tenant: string, name: string): Promise<Role | null>
  roles(tenant: string): Promise<readonly Role[]>
  ofRoles(tenant: string, roles: readonly RoleAssignment[]): Promise<Entitlement>
  /** Returns null if the tenant has no such user. */
  ofUser(tenant: string, id: string): Promise<Entitlement | null>
}

export interface EntitlementsOptions {
  readonly registry: Registry
  /** All scopes of the platform API. */
  readonly scopes: readonly string[]
  /** The tenant of the operator. */
  readonly operator: string
}

export function createEntitlements({ registry, scopes, operator }: EntitlementsOptions): Entitlements {
  const ofOperator = builtInRoles(scopes, true)
  const ofOthers = builtInRoles(scopes, false)
  const builtIn = (tenant: string): ReadonlyMap<string, Role> => (tenant === operator ? ofOperator : ofOthers)

  async function role(tenant: string, name: string): Promise<Role | null> {
    const known = builtIn(tenant).get(name)
    if (known !== undefined) return known
    const found = await registry.find(ROLE_KIND, 'name', roleNameKey(tenant, name))
    return found === null ? null : showRole(found.body)
  }

  async function ofRoles(tenant: string, roles: readonly RoleAssignment[]): Promise<Entitlement> {
    const held = new Set<string>()
    const consumersOf = new Map<string, Set<string>>()
    for (const { role: name, consumers = [] } of roles) {
      for (const scope of (await role(tenant, name))?.scopes ?? []) {
        if (isOwnScope(scope) && consumers.length === 0) continue
        held.add(scope)
        if (isOwnScope(scope)) consumersOf.set(scope, new Set([...(consumersOf.get(scope) ?? []), ...consumers]))
      }
    }
    return { scopes: held, consumers: consumersOf }
  }

  return {
    role,
    ofRoles,
    async roles(tenant) {
      const own: Role[] = []
      for await (const { body } of listAll(registry, ROLE_KIND, { tenant })) own.push(showRole(body))
      return [...builtIn(tenant).values(), ...own]
    },
    async ofUser(tenant, id) {
      const user = await registry.get(USER_KIND, id)
      if (user?.tenant !== tenant) return null
      const { scopes: held, consumers } = await ofRoles(tenant, user.body.roles ?? [])
      return { scopes: new Set([...held, ...ACCOUNT_SCOPES]), consumers }
    },
  }
}
