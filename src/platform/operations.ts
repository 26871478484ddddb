/** All operations of the platform API. */

import type { PlatformOperation } from '../domain/platform-api.ts'
import { ADR_OPERATIONS } from './adrs.ts'
import { API_OPERATIONS } from './apis.ts'
import { APPROVAL_OPERATIONS } from './approvals.ts'
import { AUDIT_OPERATIONS } from './audit.ts'
import { COMPLIANCE_OPERATIONS } from './compliance.ts'
import { CONSUMER_OPERATIONS } from './consumers.ts'
import { EVENT_SUBSCRIPTION_OPERATIONS } from './event-subscriptions.ts'
import { IDENTITY_PROVIDER_OPERATIONS } from './identity-providers.ts'
import type { Operation, Operations } from './operation.ts'
import { POLICY_OPERATIONS } from './policy.ts'
import { PRINCIPLE_OPERATIONS } from './principles.ts'
import { PRODUCT_OPERATIONS } from './products.ts'
import { PROXY_OPERATIONS } from './proxies.ts'
import { RISK_STREAM_OPERATIONS } from './risk-stream.ts'
import { RISK_OPERATIONS } from './risks.ts'
import { SERVICE_OPERATIONS } from './service-routes.ts'
import { SIGNING_KEY_OPERATIONS } from './signing-keys.ts'
import { PROGRAMME_OPERATIONS } from './programmes.ts'
import { VALIDATION_OPERATIONS } from './validation.ts'
import { REQUEST_OPERATIONS } from './requests.ts'
import { SERVICE_LEVEL_OPERATIONS } from './service-levels.ts'
import { SPECIFICATION_OPERATIONS } from './specifications.ts'
import { SUBSCRIPTION_OPERATIONS } from './subscriptions.ts'
import { TENANT_OPERATIONS } from './tenants.ts'
import { USAGE_OPERATIONS } from './usage-operations.ts'
import { USER_OPERATIONS } from './users.ts'

/** Operations that a separate port can serve as well. */
export const RISK_PATHS = { ...RISK_OPERATIONS, ...RISK_STREAM_OPERATIONS } as const satisfies Operations

export const ALL_OPERATIONS: Operations = {
  ...CONSUMER_OPERATIONS,
  ...API_OPERATIONS,
  ...COMPLIANCE_OPERATIONS,
  ...SERVICE_LEVEL_OPERATIONS,
  ...REQUEST_OPERATIONS,
  ...VALIDATION_OPERATIONS,
  ...PROGRAMME_OPERATIONS,
  ...POLICY_OPERATIONS,
  ...PROXY_OPERATIONS,
  ...SPECIFICATION_OPERATIONS,
  ...PRODUCT_OPERATIONS,
  ...SUBSCRIPTION_OPERATIONS,
  ...APPROVAL_OPERATIONS,
  ...USER_OPERATIONS,
  ...IDENTITY_PROVIDER_OPERATIONS,
  ...SIGNING_KEY_OPERATIONS,
  ...TENANT_OPERATIONS,
  ...EVENT_SUBSCRIPTION_OPERATIONS,
  ...ADR_OPERATIONS,
  ...PRINCIPLE_OPERATIONS,
  ...AUDIT_OPERATIONS,
  ...USAGE_OPERATIONS,
  ...RISK_PATHS,
  ...SERVICE_OPERATIONS,
}

/** The operations of the catalogue entry `platform-v1`. */
export function platformOperations(): readonly PlatformOperation[] {
  return Object.entries(ALL_OPERATIONS).map(([operationId, { method, path, scope }]) => ({
    operationId,
    method,
    path: toTemplate(path),
    scopes: scope === null ? [] : [scope],
  }))
}

/** Returns the scopes of all operations, sorted. */
export function platformScopes(): readonly string[] {
  const scopes = Object.values<Operation>(ALL_OPERATIONS).flatMap(({ scope }) => (scope === null ? [] : [scope]))
  return [...new Set(scopes)].sort()
}

/** Converts a path from fastify's form to OpenAPI's. */
export function toTemplate(path: string): string {
  return path.replace(/:(\w+)/g, '{$1}')
}
