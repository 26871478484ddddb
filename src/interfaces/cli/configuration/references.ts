/** The resources that a resource names in its fields. */

import { isFields, type Resource } from './resource.ts'

/** Fields with a name, or with a list of names, of another kind. */
const NAMING: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  policy: { ruleset: 'ruleset' },
  adr: { api: 'api' },
  product: { apis: 'api' },
  identityprovider: { apis: 'api' },
  subscription: { consumer: 'consumer', api: 'api', product: 'product' },
}

/** Returns their keys. */
export function referencesOf({ kind, fields }: Resource): readonly string[] {
  const named = Object.entries(NAMING[kind] ?? {}).flatMap(([field, of]) => keysOf(of, fields[field]))
  const { roles, signIn } = fields
  return [...named, ...rolesIn(roles), ...(isFields(signIn) ? rolesIn(signIn['roles']) : [])]
}

function rolesIn(roles: unknown): readonly string[] {
  if (!Array.isArray(roles)) return []
  return roles
    .filter(isFields)
    .flatMap(({ role, consumers }) => [...keysOf('role', role), ...keysOf('consumer', consumers)])
}

function keysOf(kind: string, value: unknown): readonly string[] {
  return [value].flat().flatMap((name) => (typeof name === 'string' ? [`${kind} ${name}`] : []))
}
