/** The roles that every tenant has, computed from the scopes of the platform API. */

import { isOwnScope } from '../../../foundation/domain/scope-width.ts'
import { OPERATORS_SCOPE } from '../platform-access.ts'
import type { Role } from './role-document.ts'

/** The scope that makes an owner: its holders define what the others may do. */
const OWNERS_SCOPE = 'roles:write'
export const OWNER = 'owner'

const PUBLISHER = [
  ...['adrs:read', 'adrs:write', 'apis:read', 'apis:write', 'approvals:read', 'approvals:write', 'attention:read'],
  ...[
    'consumers:read',
    'openapispecs:read',
    'openslaspecs:read',
    'openslaspecs:write',
    'policy:read',
    'principles:read',
  ],
  ...['principles:write', 'products:read', 'products:write', 'programmes:read', 'programmes:write', 'proxies:read'],
  ...['proxies:write', 'subscriptions:read', 'usage:read'],
]
const SECURITY = [
  ...[
    'apis:read',
    'attention:read',
    'audit:read',
    'consumers:read',
    'credentials:read',
    'credentials:write',
    'eventsubscriptions:read',
  ],
  ...['eventsubscriptions:write', 'identityproviders:read', 'identityproviders:write', 'requests:read', 'risks:read'],
  ...['risks:write', 'roles:read', 'subscriptions:read', 'users:read'],
]
const BILLING = [
  'apis:read',
  'attention:read',
  'consumers:read',
  'openslaspecs:read',
  'products:read',
  'subscriptions:read',
  'usage:read',
]

/** The scopes of the roles that are listed one by one. */
export const LISTED_SCOPES = { publisher: PUBLISHER, security: SECURITY, billing: BILLING } as const

/** A role by a rule, which also covers scopes of later versions. */
interface Rule {
  readonly name: string
  readonly description: string
  readonly has: (scope: string) => boolean
}

const RULES: readonly Rule[] = [
  { name: OWNER, description: 'Has every scope.', has: () => true },
  {
    name: 'admin',
    description: `Has every scope except \`${OPERATORS_SCOPE}\` and \`${OWNERS_SCOPE}\`.`,
    has: (scope) => scope !== OPERATORS_SCOPE && scope !== OWNERS_SCOPE,
  },
  { name: 'publisher', description: 'Publishes APIs and products.', has: (scope) => PUBLISHER.includes(scope) },
  { name: 'security', description: 'Watches risks and credentials.', has: (scope) => SECURITY.includes(scope) },
  { name: 'billing', description: 'Reads usage and what it is billed by.', has: (scope) => BILLING.includes(scope) },
  { name: 'auditor', description: 'Has every scope that ends with `:read`.', has: (scope) => scope.endsWith(':read') },
  {
    name: 'consumer',
    description: 'Has every scope that ends with `:own`, for the consumers of the assignment.',
    has: isOwnScope,
  },
]

/** Only the tenant of the operator has a role with the scope of the operator. */
export function builtInRoles(scopes: readonly string[], isOperator: boolean): ReadonlyMap<string, Role> {
  const known = isOperator ? scopes : scopes.filter((scope) => scope !== OPERATORS_SCOPE)
  const toRole = ({ name, description, has }: Rule): [string, Role] => [
    name,
    { name, description, scopes: known.filter(has), builtIn: true, labels: {} },
  ]
  return new Map(RULES.map(toRole))
}
