/**
 * The types of the platform API, inferred from the declarations that its OpenAPI document is made of: what the console sends and
 * reads cannot differ from what the service serves. Nothing of them is part of the bundle.
 */

import type { ADR_OPERATIONS } from '../../platform/adrs.ts'
import type { API_OPERATIONS } from '../../platform/apis.ts'
import type { APPROVAL_OPERATIONS } from '../../platform/approvals.ts'
import type { ATTENTION_OPERATIONS } from '../../platform/attention.ts'
import type { AUDIT_OPERATIONS } from '../../platform/audit.ts'
import type { COMPLIANCE_OPERATIONS } from '../../platform/compliance.ts'
import type { CONSUMER_OPERATIONS } from '../../platform/consumers.ts'
import type { EVENT_SUBSCRIPTION_OPERATIONS } from '../../platform/event-subscriptions.ts'
import type {} from '../../platform/guard.ts'
import type { IDENTITY_PROVIDER_OPERATIONS } from '../../platform/identity-providers.ts'
import type { ME_OPERATIONS } from '../../platform/me.ts'
import type { MUTE_OPERATIONS } from '../../platform/mutes.ts'
import type { NODE_OPERATIONS } from '../../platform/nodes.ts'
import type { POLICY_OPERATIONS } from '../../platform/policy.ts'
import type { PORTAL_OPERATIONS } from '../../platform/portal.ts'
import type { PRINCIPLE_OPERATIONS } from '../../platform/principles.ts'
import type { PRODUCT_OPERATIONS } from '../../platform/products.ts'
import type { PROGRAMME_OPERATIONS } from '../../platform/programmes.ts'
import type { PROXY_OPERATIONS } from '../../platform/proxies.ts'
import type { REGISTERED_CLIENT_OPERATIONS } from '../../platform/registered-clients.ts'
import type { REQUEST_OPERATIONS } from '../../platform/requests.ts'
import type { REVISION_LEVEL_OPERATIONS } from '../../platform/revision-levels.ts'
import type { RISK_OPERATIONS } from '../../platform/risks.ts'
import type { ROLE_OPERATIONS } from '../../platform/roles.ts'
import type { SEARCH_OPERATIONS } from '../../platform/search.ts'
import type { SERVICE_LEVEL_OPERATIONS } from '../../platform/service-levels.ts'
import type { SERVICE_OPERATIONS } from '../../platform/service-routes.ts'
import type { SERVICE_STATE_OPERATIONS } from '../../platform/service-state.ts'
import type { SESSION_OPERATIONS } from '../../platform/sessions.ts'
import type { SIGNING_KEY_OPERATIONS } from '../../platform/signing-keys.ts'
import type { SPECIFICATION_OPERATIONS } from '../../platform/specifications.ts'
import type { STATEMENT_OPERATIONS } from '../../platform/statements.ts'
import type { SUBSCRIPTION_OPERATIONS } from '../../platform/subscriptions.ts'
import type { TENANT_OPERATIONS } from '../../platform/tenants.ts'
import type { FromSchema } from '../../platform/schema-type.ts'
import type { USAGE_OPERATIONS } from '../../platform/usage-operations.ts'
import type { USER_OPERATIONS } from '../../platform/users.ts'
import type { VALIDATION_OPERATIONS } from '../../platform/validation.ts'

type Tables = typeof ADR_OPERATIONS &
  typeof API_OPERATIONS &
  typeof APPROVAL_OPERATIONS &
  typeof ATTENTION_OPERATIONS &
  typeof AUDIT_OPERATIONS &
  typeof COMPLIANCE_OPERATIONS &
  typeof CONSUMER_OPERATIONS &
  typeof EVENT_SUBSCRIPTION_OPERATIONS &
  typeof IDENTITY_PROVIDER_OPERATIONS &
  typeof ME_OPERATIONS &
  typeof MUTE_OPERATIONS &
  typeof NODE_OPERATIONS &
  typeof POLICY_OPERATIONS &
  typeof PORTAL_OPERATIONS &
  typeof PRINCIPLE_OPERATIONS &
  typeof PRODUCT_OPERATIONS &
  typeof PROGRAMME_OPERATIONS &
  typeof PROXY_OPERATIONS &
  typeof REGISTERED_CLIENT_OPERATIONS &
  typeof REQUEST_OPERATIONS &
  typeof RISK_OPERATIONS &
  typeof REVISION_LEVEL_OPERATIONS &
  typeof ROLE_OPERATIONS &
  typeof SEARCH_OPERATIONS &
  typeof SERVICE_LEVEL_OPERATIONS &
  typeof SERVICE_OPERATIONS &
  typeof SERVICE_STATE_OPERATIONS &
  typeof SESSION_OPERATIONS &
  typeof SIGNING_KEY_OPERATIONS &
  typeof SPECIFICATION_OPERATIONS &
  typeof STATEMENT_OPERATIONS &
  typeof SUBSCRIPTION_OPERATIONS &
  typeof TENANT_OPERATIONS &
  typeof USAGE_OPERATIONS &
  typeof USER_OPERATIONS &
  typeof VALIDATION_OPERATIONS
type Declared = Tables[keyof Tables]

type Reading = Extract<Declared, { readonly method: 'GET' }>
/** The paths that can be read, with the names of their parameters: `/v1/risks/:riskId`. */
export type ReadPath = Reading['path']
type Read<Path extends ReadPath> = Extract<Reading, { readonly path: Path }>
/** The paths of lists. */
export type ListPath = Extract<
  Reading,
  { readonly answer: { readonly properties: { readonly items: unknown } } }
>['path']

export type Answer<Path extends ReadPath> =
  Read<Path> extends { readonly answer: infer Schema } ? FromSchema<Schema> : never
/** An item of the list at a path. */
export type Item<Path extends ReadPath> = Answer<Path> extends { readonly items: readonly (infer Of)[] } ? Of : never

type ChangeMethod = 'POST' | 'PUT' | 'PATCH' | 'DELETE'
type Change = Extract<Declared, { readonly method: ChangeMethod }>
type NameOf<Of> = Of extends { readonly method: infer Method extends string; readonly path: infer Path extends string }
  ? `${Method} ${Path}`
  : never
/** A change by its method and path, such as `DELETE /v1/me/sessions`. */
export type ChangeName = NameOf<Change>
type Changed<Name extends ChangeName> = Name extends `${infer Method} ${infer Path}`
  ? Extract<Change, { readonly method: Method; readonly path: Path }>
  : never

export type ChangeBody<Name extends ChangeName> =
  Changed<Name> extends { readonly body: infer Schema } ? FromSchema<Schema> : undefined
/** The answer to a change; undefined if it has none. */
export type Changes<Name extends ChangeName> =
  Changed<Name> extends { readonly answer: infer Schema } ? FromSchema<Schema> : undefined
