/**
 * The server of the platform API: one fastify instance, one file per resource.
 *
 * Unknown members of a request are refused with a pointer, and every error is a problem document. A separate port can serve the
 * risk paths as well. Closing ends the streams and waits for calls in flight.
 */

import fastify, { type FastifyInstance } from 'fastify'
import type { Adrs } from '../programmes/adrs.ts'
import type { ApiPolicies } from '../publishing/api-policy.ts'
import type { Apis } from '../publishing/apis.ts'
import type { Approvals } from '../subscriptions/approvals.ts'
import type { Audit } from '../command/audit-log.ts'
import type { Consumers } from '../access/consumers.ts'
import type { Credentials } from '../access/credentials.ts'
import type { Deliveries } from '../webhooks/deliveries.ts'
import type { EventSubscriptions } from '../webhooks/event-subscriptions.ts'
import type { IdentityProviders } from '../access/identity-providers.ts'
import type { Principles } from '../programmes/principles.ts'
import type { Retirement } from '../publishing/retirement.ts'
import type { Products } from '../publishing/products.ts'
import type { Proxies } from '../publishing/proxies.ts'
import type { Programmes } from '../programmes/programmes.ts'
import type { Rulesets } from '../programmes/rulesets.ts'
import type { TenantPolicies } from '../programmes/tenant-policy.ts'
import type { ApiComplianceReader } from '../programmes/api-compliance.ts'
import type { Compliance } from '../programmes/compliance.ts'
import type { ServiceLevels } from '../service-level/service-levels.ts'
import type { Specifications } from '../publishing/specifications.ts'
import type { Subscriptions } from '../subscriptions/subscriptions.ts'
import type { Tenants } from '../access/tenants.ts'
import { createKeyedMutex } from '../command/keyed-mutex.ts'
import type { Users } from '../access/users.ts'
import type { Clock } from '../runtime/clock.ts'
import type { Log } from '../runtime/log.ts'
import type { Metrics } from '../runtime/metrics.ts'
import type { RiskFeed } from '../store/risk-store.ts'
import type { RequestStore } from '../store/request-store.ts'
import type { UsageStore } from '../store/usage-store.ts'
import { adrHandlers, ADR_OPERATIONS } from './adrs.ts'
import { createAllowedMethods } from './allowed-methods.ts'
import { apiHandlers, API_OPERATIONS } from './apis.ts'
import { approvalHandlers, APPROVAL_OPERATIONS, type ApprovalHandlersOptions } from './approvals.ts'
import { auditHandlers, AUDIT_OPERATIONS } from './audit.ts'
import { complianceHandlers, COMPLIANCE_OPERATIONS } from './compliance.ts'
import { installEtags } from './conditional.ts'
import { consumerHandlers, CONSUMER_OPERATIONS } from './consumers.ts'
import { eventSubscriptionHandlers, EVENT_SUBSCRIPTION_OPERATIONS } from './event-subscriptions.ts'
import { installGuard, type GuardOptions } from './guard.ts'
import { HTTP_BOUNDS, refuseMalformed } from './http-bounds.ts'
import { createOnce, type IdempotencyOptions } from './idempotency.ts'
import { identityProviderHandlers, IDENTITY_PROVIDER_OPERATIONS } from './identity-providers.ts'
import { installJsonBody } from './json-body.ts'
import { buildOauthOpenApi } from './oauth-openapi.ts'
import { buildOpenApi } from './openapi.ts'
import type { MetricsAccess } from './metrics-access.ts'
import type { Operations } from './operation.ts'
import { ALL_OPERATIONS, RISK_PATHS } from './operations.ts'
import { installProblems, sendProblem, toProblem } from './problems.ts'
import { POLICY_OPERATIONS, policyHandlers } from './policy.ts'
import { principleHandlers, PRINCIPLE_OPERATIONS } from './principles.ts'
import { productHandlers, PRODUCT_OPERATIONS } from './products.ts'
import { proxyHandlers, PROXY_OPERATIONS } from './proxies.ts'
import { createRiskStream } from './risk-stream.ts'
import { rootRoute, type RootPage } from './root-route.ts'
import { riskHandlers } from './risks.ts'
import { createServe, type Serve } from './serve.ts'
import { serviceRoutes } from './service-routes.ts'
import { signingKeyHandlers, SIGNING_KEY_OPERATIONS, type SigningKeys } from './signing-keys.ts'
import { createProgressStream, type ProgressStream } from './progress-stream.ts'
import { PROGRAMME_OPERATIONS, programmeHandlers } from './programmes.ts'
import { VALIDATION_OPERATIONS, validationHandlers } from './validation.ts'
import { REQUEST_OPERATIONS, requestHandlers } from './requests.ts'
import { SERVICE_LEVEL_OPERATIONS, serviceLevelHandlers } from './service-levels.ts'
import { specificationHandlers, SPECIFICATION_OPERATIONS } from './specifications.ts'
import { subscriptionHandlers, SUBSCRIPTION_OPERATIONS } from './subscriptions.ts'
import { tenantHandlers, TENANT_OPERATIONS } from './tenants.ts'
import { USAGE_OPERATIONS } from './usage-operations.ts'
import { usageHandlers } from './usage.ts'
import { userHandlers, USER_OPERATIONS } from './users.ts'
import { createValidatorCompiler } from './validator.ts'

export interface PlatformOptions extends GuardOptions {
  readonly consumers: Consumers
  readonly apis: Apis
  readonly apiPolicies: ApiPolicies
  readonly retirement: Retirement
  readonly serviceLevels: ServiceLevels
  readonly products: Products
  readonly users: Users
  readonly tenants: Tenants
  readonly identityProviders: IdentityProviders
  readonly signingKeys: SigningKeys
  readonly eventSubscriptions: EventSubscriptions
  readonly deliveries: Deliveries
  readonly adrs: Adrs
  readonly principles: Principles
  readonly audit: Audit
  readonly proxies: Proxies
  readonly specifications: Specifications
  readonly subscriptions: Subscriptions
  readonly credentials: Credentials
  readonly approvals: Approvals
  readonly onSelfApproval: ApprovalHandlersOptions['onSelfApproval']
  readonly usage: UsageStore
  readonly requests: RequestStore
  /** Maximum number of connections per port; further ones are closed immediately. Default: unlimited. */
  readonly connectionsMax?: number
  /** `REQUEST_LOG`. */
  readonly requestLog: 'off' | 'refused' | 'all'
  readonly compliance: Pick<Compliance, 'lint'>
  readonly apiCompliance: ApiComplianceReader
  readonly programmes: Programmes
  readonly policies: TenantPolicies
  readonly rulesets: Rulesets
  readonly idempotency: IdempotencyOptions
  readonly risks: RiskFeed
  readonly clock: Clock
  readonly newRequestId: () => string
  readonly metrics: Metrics
  /** Default: loopback. */
  readonly metricsAccess?: MetricsAccess
  readonly log: Log
  /** Returns why the service is not ready, or null. */
  readonly notReady: () => string | null
  /** Returns the public addresses; called once they are known. */
  readonly addresses: () => { readonly baseUrl: string; readonly gatewayUrl: string }
  /** The start page at `/`. Default: 404. */
  readonly rootPage?: RootPage
  /** Maximum number of concurrent readers of the risk stream, in total and per tenant. */
  readonly readersMax?: number
  readonly readersOfTenantMax?: number
}

export interface Platform {
  readonly app: FastifyInstance
  /** Creates a server of the risk paths alone, for a separate port. */
  createRiskApp(): FastifyInstance
  close(): Promise<void>
}

export function createPlatform(options: PlatformOptions): Platform {
  const { metrics, metricsAccess = { kind: 'loopback' }, notReady, addresses } = options
  const baseUrl = (): string => addresses().baseUrl
  const stream = createRiskStream({ ...options, onEnd: countEnds(metrics) })
  metrics.measured('risk_stream_readers', 'Risk streams that are open', () => stream.readers)
  const riskPaths = { ...riskHandlers(options.risks), ...stream.handlers }
  let openApi: string | null = null
  let oauthOpenApi: string | null = null

  const app = createApp(options, ALL_OPERATIONS)
  const shared = { baseUrl, once: createOnce(options.idempotency), mutex: createKeyedMutex() }
  const serve = createServe({ app, ...shared })
  const apps = [app]
  serviceRoutes(app, {
    metrics,
    metricsAccess,
    notReady,
    openApi: () => (openApi ??= JSON.stringify(buildOpenApi({ operations: ALL_OPERATIONS, ...addresses() }))),
    oauthOpenApi: () => (oauthOpenApi ??= JSON.stringify(buildOauthOpenApi(addresses()))),
  })
  if (options.rootPage !== undefined) rootRoute(app, options.rootPage)
  const progress = createProgressStream(options)
  serveResources(serve, { ...options, progress })
  serve(RISK_PATHS, riskPaths)

  return {
    app,
    createRiskApp() {
      const riskApp = createApp(options, RISK_PATHS)
      createServe({ app: riskApp, ...shared })(RISK_PATHS, riskPaths)
      apps.push(riskApp)
      return riskApp
    },
    async close() {
      stream.close()
      progress.close()
      await Promise.all(apps.map((each) => each.close()))
    },
  }
}

function createApp(options: PlatformOptions, operations: Operations): FastifyInstance {
  const app = fastify({
    ...HTTP_BOUNDS,
    logger: false,
    genReqId: options.newRequestId,
    requestIdHeader: false,
    exposeHeadRoutes: false,
    // While closing, a call on an open connection is served, and the connection is closed after its answer.
    return503OnClosing: false,
    forceCloseConnections: 'idle',
    frameworkErrors: (error, request, reply) => {
      void reply.header('X-Request-Id', request.id)
      void sendProblem(request, reply, toProblem(error))
    },
    clientErrorHandler: (error, socket) => refuseMalformed(error, socket, options.newRequestId()),
  })
  if (options.connectionsMax !== undefined) app.server.maxConnections = options.connectionsMax
  app.setValidatorCompiler(createValidatorCompiler())
  installJsonBody(app)
  installProblems(app, { log: options.log, allowedMethods: createAllowedMethods(Object.values(operations)) })
  // ETags come first: the guard records the status that is sent, which may be 304.
  installEtags(app)
  installGuard(app, options)
  return app
}

function serveResources(serve: Serve, options: PlatformOptions & { readonly progress: ProgressStream }): void {
  serve(CONSUMER_OPERATIONS, consumerHandlers(options.consumers))
  serve(API_OPERATIONS, apiHandlers(options))
  serve(COMPLIANCE_OPERATIONS, complianceHandlers(options))
  serve(SERVICE_LEVEL_OPERATIONS, serviceLevelHandlers(options.serviceLevels, options.clock))
  serve(PROXY_OPERATIONS, proxyHandlers(options.proxies))
  serve(SPECIFICATION_OPERATIONS, specificationHandlers(options.specifications))
  serve(PRODUCT_OPERATIONS, productHandlers(options.products))
  serve(SUBSCRIPTION_OPERATIONS, subscriptionHandlers(options.subscriptions, options.credentials))
  serve(APPROVAL_OPERATIONS, approvalHandlers(options))
  serve(USER_OPERATIONS, userHandlers(options.users))
  serve(IDENTITY_PROVIDER_OPERATIONS, identityProviderHandlers(options.identityProviders))
  serve(SIGNING_KEY_OPERATIONS, signingKeyHandlers(options.signingKeys))
  serve(TENANT_OPERATIONS, tenantHandlers(options.tenants))
  serve(EVENT_SUBSCRIPTION_OPERATIONS, eventSubscriptionHandlers(options))
  serve(ADR_OPERATIONS, adrHandlers(options.adrs))
  serve(PRINCIPLE_OPERATIONS, principleHandlers(options.principles))
  serve(AUDIT_OPERATIONS, auditHandlers(options.audit))
  serve(USAGE_OPERATIONS, usageHandlers(options))
  serve(PROGRAMME_OPERATIONS, programmeHandlers(options))
  serve(POLICY_OPERATIONS, policyHandlers(options))
  serve(VALIDATION_OPERATIONS, validationHandlers(options.compliance))
  serve(REQUEST_OPERATIONS, requestHandlers(options))
}

function countEnds(metrics: Metrics): (reason: string) => void {
  const ends = metrics.counter('risk_stream_ends_total', 'Risk streams that ended, by reason', ['reason'])
  return (reason) => ends.inc({ reason })
}
