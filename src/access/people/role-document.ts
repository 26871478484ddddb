/** The stored form of a role that a tenant has defined. */

import { documentKind, type Write } from '../../store/registry.ts'

export interface Role {
  readonly name: string
  readonly description: string
  readonly scopes: readonly string[]
  /** The service defines it, and it cannot be changed. */
  readonly builtIn: boolean
}

export type RoleBody = Pick<Role, 'name' | 'description' | 'scopes'>

export const ROLE_KIND = documentKind<RoleBody>('role', ['name', 'description', 'scopes'])

export function roleWrite(id: string, tenant: string, expected: number, body: RoleBody): Write {
  const keys = { name: roleNameKey(tenant, body.name) }
  return { kind: ROLE_KIND, id, tenant, expected, body, keys, unique: ['name'] }
}

export function roleNameKey(tenant: string, name: string): string {
  return JSON.stringify([tenant, name])
}
