/** Roles of people, and of the claims of an identity provider: files name the consumers that they cover. */

import type { Context } from './handler.ts'
import { isFields, type Fields } from './resource.ts'

export interface CoveringRole {
  readonly consumers?: readonly string[]
}

/** Leaves out consumers that were removed, which have no names, and roles that cover none but these. */
export function withRoleNames({ names }: Context, fields: Fields): Fields {
  const named = withConsumers(fields, (ids) => ids.flatMap((id) => names.findName('consumer', id) ?? []))
  const { roles } = named
  if (!Array.isArray(roles)) return named
  return { ...named, roles: (roles as readonly CoveringRole[]).filter(({ consumers }) => consumers?.length !== 0) }
}

export function withRoleIds({ names }: Context, fields: Fields): Fields {
  return withConsumers(fields, (given) => given.map((name) => names.idOf('consumer', name)))
}

export function rolesFault({ roles }: Fields): string | null {
  if (roles === undefined || roles === null) return null
  const isRole = (each: unknown): boolean => isFields(each) && isTexts(each['consumers'] ?? [])
  return Array.isArray(roles) && roles.every(isRole) ? null : 'roles must be a list of objects with a role.'
}

function isTexts(value: unknown): boolean {
  return Array.isArray(value) && value.every((each) => typeof each === 'string')
}

function withConsumers(fields: Fields, map: (consumers: readonly string[]) => readonly string[]): Fields {
  const { roles } = fields
  if (!Array.isArray(roles)) return fields
  const mapped = (roles as readonly CoveringRole[]).map(({ consumers, ...role }) => {
    return { ...role, ...(consumers !== undefined && { consumers: map(consumers) }) }
  })
  return { ...fields, roles: mapped }
}
