/** The kinds of resources, each after those that it refers to. */

import { createApiHandler } from './api-handler.ts'
import type { Context, Handler } from './handler.ts'
import { createPolicyHandler } from './policy-handler.ts'
import { identityProviderKind } from './identity-provider-kind.ts'
import { knownApis } from './known-apis.ts'
import { isNothing } from './resource.ts'
import { rolesFault, withRoleIds, withRoleNames } from './role-consumers.ts'
import { createSimpleHandler } from './simple-handler.ts'
import { createSubscriptionHandler } from './subscription-handler.ts'

const DISABLED = { running: 'Active', halted: 'Disabled', operations: { halt: 'disable', resume: 'enable' } } as const

export const HANDLERS: readonly Handler[] = [
  createSimpleHandler({
    kind: 'role',
    path: '/v1/roles',
    key: 'name',
    id: 'name',
    fields: ['description', 'scopes', 'labels'],
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
    fromService: (context, { api, ...fields }) => ({ ...fields, api: knownApis(context, [api])[0] }),
  }),
  createSimpleHandler({
    kind: 'product',
    path: '/v1/products',
    key: 'name',
    fields: ['apis', 'labels'],
    fromService: (context, { apis, labels }) => ({ apis: knownApis(context, apis), labels }),
  }),
  createSimpleHandler({
    kind: 'consumer',
    path: '/v1/consumers',
    key: 'name',
    fields: ['kind', 'contact', 'exposure', 'labels'],
    fixed: ['kind'],
    halting: DISABLED,
  }),
  createSimpleHandler(identityProviderKind),
  createSimpleHandler({
    kind: 'user',
    path: '/v1/users',
    key: 'username',
    fields: ['name', 'roles', 'labels'],
    isLeftOut: ({ identityProvider }) => !isNothing(identityProvider),
    fromService: withRoleNames,
    toService: withRoleIds,
    faultIn: rolesFault,
    halting: DISABLED,
  }),
  createSubscriptionHandler(),
  createSimpleHandler({
    kind: 'eventsubscription',
    path: '/v1/eventsubscriptions',
    key: 'url',
    fields: ['events', 'labels'],
    secret: ['secret'],
    halting: { running: 'active', halted: 'disabled' },
    // Applied elsewhere, one that a consumer has created would receive the events of all consumers.
    isLeftOut: ({ consumer }) => !isNothing(consumer),
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
