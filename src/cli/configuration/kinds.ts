/** The kinds of resources, each after those that it refers to. */

import { createApiHandler } from './api-handler.ts'
import type { Context, Handler } from './handler.ts'
import { createPolicyHandler } from './policy-handler.ts'
import type { Fields } from './resource.ts'
import { createSimpleHandler, isNothing } from './simple-handler.ts'
import { createSubscriptionHandler } from './subscription-handler.ts'

interface RoleOfPerson {
  readonly role: string
  readonly consumers?: readonly string[]
}

export const HANDLERS: readonly Handler[] = [
  createSimpleHandler({
    kind: 'role',
    path: '/v1/roles',
    key: 'name',
    id: 'name',
    fields: ['description', 'scopes', 'labels'],
    change: 'PUT',
    isLeftOut: ({ builtIn }) => builtIn === true,
  }),
  createSimpleHandler({
    kind: 'ruleset',
    path: '/v1/rulesets',
    key: 'description',
    fields: ['extends', 'formats', 'aliases', 'documentationUrl', 'rules', 'labels'],
    isLeftOut: ({ description }) => isNothing(description),
  }),
  createSimpleHandler({
    kind: 'principle',
    path: '/v1/principles',
    key: 'name',
    fields: ['statement', 'rationale', 'rules', 'labels'],
  }),
  createPolicyHandler(),
  createApiHandler(),
  createSimpleHandler({
    kind: 'adr',
    path: '/v1/adrs',
    key: 'title',
    fields: ['status', 'context', 'decision', 'consequences', 'api', 'labels'],
  }),
  createSimpleHandler({ kind: 'product', path: '/v1/products', key: 'name', fields: ['apis', 'labels'] }),
  createSimpleHandler({
    kind: 'consumer',
    path: '/v1/consumers',
    key: 'name',
    fields: ['kind', 'contact', 'exposure', 'labels'],
    fixed: ['kind'],
  }),
  createSimpleHandler({
    kind: 'user',
    path: '/v1/users',
    key: 'username',
    fields: ['name', 'roles', 'labels'],
    isLeftOut: ({ identityProvider }) => !isNothing(identityProvider),
    fromService: (context, fields) => withRoles(fields, (id) => context.names.nameOf('consumer', id)),
    toService: (context, fields) => withRoles(fields, (name) => context.names.idOf('consumer', name)),
  }),
  createSubscriptionHandler(),
  createSimpleHandler({
    kind: 'eventsubscription',
    path: '/v1/eventsubscriptions',
    key: 'url',
    fields: ['events', 'labels'],
    secret: ['secret'],
  }),
]

export function handlerOf(kind: string): Handler | undefined {
  return HANDLERS.find((handler) => handler.kind === kind)
}

/** Reads every resource of the service, in the order of the kinds. */
export async function readAll(context: Context) {
  const found = []
  for (const handler of HANDLERS) found.push(...(await handler.read(context)))
  return found
}

function withRoles(fields: Fields, toOther: (consumer: string) => string): Fields {
  const { roles } = fields
  if (!Array.isArray(roles)) return fields
  const mapped = (roles as readonly RoleOfPerson[]).map(({ role, consumers }) => ({
    role,
    ...(consumers !== undefined && { consumers: consumers.map(toOther) }),
  }))
  return { ...fields, roles: mapped }
}
