/**
 * The resources of the platform API: the operations of each, and the factory of their handlers.
 *
 * The routes, `/openapi.json` and the services that `createPlatform` requires derive from this list.
 */

import { adrHandlers, ADR_OPERATIONS } from './adrs.ts'
import { apiHandlers, API_OPERATIONS } from './apis.ts'
import { approvalHandlers, APPROVAL_OPERATIONS } from './approvals.ts'
import { attentionHandlers, ATTENTION_OPERATIONS } from './attention.ts'
import { auditHandlers, AUDIT_OPERATIONS } from './audit.ts'
import { complianceHandlers, COMPLIANCE_OPERATIONS } from './compliance.ts'
import { consumerHandlers, CONSUMER_OPERATIONS } from './consumers.ts'
import { eventSubscriptionHandlers, EVENT_SUBSCRIPTION_OPERATIONS } from './event-subscriptions.ts'
import { identityProviderHandlers, IDENTITY_PROVIDER_OPERATIONS } from './identity-providers.ts'
import { meHandlers, ME_OPERATIONS } from './me.ts'
import { muteHandlers, MUTE_OPERATIONS } from './mutes.ts'
import { nodeHandlers, NODE_OPERATIONS } from './nodes.ts'
import type { Handlers, Operations } from './operation.ts'
import { portalHandlers, PORTAL_OPERATIONS } from './portal.ts'
import { policyHandlers, POLICY_OPERATIONS } from './policy.ts'
import { principleHandlers, PRINCIPLE_OPERATIONS } from './principles.ts'
import { productHandlers, PRODUCT_OPERATIONS } from './products.ts'
import { programmeHandlers, PROGRAMME_OPERATIONS } from './programmes.ts'
import { proxyHandlers, PROXY_OPERATIONS } from './proxies.ts'
import { registeredClientHandlers, REGISTERED_CLIENT_OPERATIONS } from './registered-clients.ts'
import { requestHandlers, REQUEST_OPERATIONS } from './requests.ts'
import { revisionLevelHandlers, REVISION_LEVEL_OPERATIONS } from './revision-levels.ts'
import { roleHandlers, ROLE_OPERATIONS } from './roles.ts'
import { searchHandlers, SEARCH_OPERATIONS } from './search.ts'
import type { Serve } from './serve.ts'
import { serviceLevelHandlers, SERVICE_LEVEL_OPERATIONS } from './service-levels.ts'
import { serviceStateHandlers, SERVICE_STATE_OPERATIONS } from './service-state.ts'
import { sessionHandlers, SESSION_OPERATIONS } from './sessions.ts'
import { signingKeyHandlers, SIGNING_KEY_OPERATIONS } from './signing-keys.ts'
import { specificationHandlers, SPECIFICATION_OPERATIONS } from './specifications.ts'
import { statementHandlers, STATEMENT_OPERATIONS } from './statements.ts'
import { subscriptionHandlers, SUBSCRIPTION_OPERATIONS } from './subscriptions.ts'
import { tenantHandlers, TENANT_OPERATIONS } from './tenants.ts'
import { USAGE_OPERATIONS } from './usage-operations.ts'
import { usageHandlers } from './usage.ts'
import { userHandlers, USER_OPERATIONS } from './users.ts'
import { validationHandlers, VALIDATION_OPERATIONS } from './validation.ts'

interface Resource<Services> {
  readonly operations: Operations
  /** Creates the handlers from the services, and registers the routes. */
  readonly serveWith: (serve: Serve, services: Services) => void
}

/** In the order of `/openapi.json`. */
export const RESOURCES = [
  resource(CONSUMER_OPERATIONS, consumerHandlers),
  resource(API_OPERATIONS, apiHandlers),
  resource(COMPLIANCE_OPERATIONS, complianceHandlers),
  resource(SERVICE_LEVEL_OPERATIONS, serviceLevelHandlers),
  resource(REQUEST_OPERATIONS, requestHandlers),
  resource(MUTE_OPERATIONS, muteHandlers),
  resource(VALIDATION_OPERATIONS, validationHandlers),
  resource(PROGRAMME_OPERATIONS, programmeHandlers),
  resource(POLICY_OPERATIONS, policyHandlers),
  resource(PROXY_OPERATIONS, proxyHandlers),
  resource(REVISION_LEVEL_OPERATIONS, revisionLevelHandlers),
  resource(SPECIFICATION_OPERATIONS, specificationHandlers),
  resource(PRODUCT_OPERATIONS, productHandlers),
  resource(SUBSCRIPTION_OPERATIONS, subscriptionHandlers),
  resource(APPROVAL_OPERATIONS, approvalHandlers),
  resource(USER_OPERATIONS, userHandlers),
  resource(ME_OPERATIONS, meHandlers),
  resource(SESSION_OPERATIONS, sessionHandlers),
  resource(REGISTERED_CLIENT_OPERATIONS, registeredClientHandlers),
  resource(ROLE_OPERATIONS, roleHandlers),
  resource(IDENTITY_PROVIDER_OPERATIONS, identityProviderHandlers),
  resource(SIGNING_KEY_OPERATIONS, signingKeyHandlers),
  resource(TENANT_OPERATIONS, tenantHandlers),
  resource(PORTAL_OPERATIONS, portalHandlers),
  resource(SEARCH_OPERATIONS, searchHandlers),
  resource(EVENT_SUBSCRIPTION_OPERATIONS, eventSubscriptionHandlers),
  resource(ADR_OPERATIONS, adrHandlers),
  resource(PRINCIPLE_OPERATIONS, principleHandlers),
  resource(AUDIT_OPERATIONS, auditHandlers),
  resource(USAGE_OPERATIONS, usageHandlers),
  resource(STATEMENT_OPERATIONS, statementHandlers),
  resource(ATTENTION_OPERATIONS, attentionHandlers),
  resource(SERVICE_STATE_OPERATIONS, serviceStateHandlers),
  resource(NODE_OPERATIONS, nodeHandlers),
] as const

/** The services of all handlers, by name. */
export type ResourceServices = (typeof RESOURCES)[number] extends Resource<infer Services> ? Services : never

function resource<Table extends Operations, Services>(
  operations: Table,
  handlersOf: (services: Services) => Handlers<Table>,
): Resource<Services> {
  return { operations, serveWith: (serve, services) => serve(operations, handlersOf(services)) }
}
