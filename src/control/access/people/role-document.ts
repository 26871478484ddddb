/** The stored form of a role that a tenant has defined. */

import type { Labelled, Labels } from '../../../storage/store/labels.ts'
import { documentKind, type Write } from '../../../storage/store/registry.ts'

export interface Role {
  readonly name: string
  readonly description: string
  readonly scopes: readonly string[]
  /** The service defines it, and it cannot be changed. */
  readonly builtIn: boolean
  readonly labels: Labels
}

export type RoleBody = Pick<Role, 'name' | 'description' | 'scopes'> & Labelled

export const ROLE_KIND = documentKind<RoleBody>('role', ['name', 'description', 'scopes', 'labels'])

export function roleWrite(id: string, tenant: string, expected: number, body: RoleBody): Write {
  const keys = { name: roleNameKey(tenant, body.name) }
  return { kind: ROLE_KIND, id, tenant, expected, body, keys, unique: ['name'] }
}

export function showRole(body: RoleBody): Role {
  return { ...body, builtIn: false, labels: body.labels ?? {} }
}

export function roleNameKey(tenant: string, name: string): string {
  return JSON.stringify([tenant, name])
}
