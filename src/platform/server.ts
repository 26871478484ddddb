/**
 * The platform API: one fastify instance, one file a resource.
 *
 * JSON in and out, unknown members refused with a pointer, every error a problem document. The risk
 * paths can be served on a port of their own as well.
 */

import fastify, { type FastifyInstance } from 'fastify'
import type { Apis } from '../catalogue/apis.ts'
import type { Consumers } from '../catalogue/consumers.ts'
import type { Proxies } from '../catalogue/proxies.ts'
import type { Specifications } from '../catalogue/specifications.ts'
import type { Subscriptions } from '../catalogue/subscriptions.ts'
import type { Clock } from '../runtime/clock.ts'
import type { Log } from '../runtime/log.ts'
import type { Metrics } from '../runtime/metrics.ts'
import type { RiskFeed } from '../store/risk-store.ts'
import type { UsageStore } from '../store/usage-store.ts'
import { apiRoutes } from './apis.ts'
import { consumerRoutes } from './consumers.ts'
import { installGuard, type GuardOptions } from './guard.ts'
import { buildOpenApi, scopesOf } from './openapi.ts'
import { installProblems } from './problems.ts'
import { proxyRoutes } from './proxies.ts'
import { riskRoutes } from './risks.ts'
import { riskStreamRoutes } from './risk-stream.ts'
import { createDeclareRoute, type DeclareRoute, type RouteDeclaration } from './routes.ts'
import { SERVICE_DECLARATIONS, serviceRoutes } from './service-routes.ts'
import { specificationRoutes } from './specifications.ts'
import { subscriptionRoutes } from './subscriptions.ts'
import { usageRoutes } from './usage.ts'
import { createValidatorCompiler } from './validator.ts'

export interface PlatformOptions extends GuardOptions {
  readonly consumers: Consumers
  readonly apis: Apis
  readonly proxies: Proxies
  readonly specifications: Specifications
  readonly subscriptions: Subscriptions
  readonly usage: UsageStore
  readonly risks: RiskFeed
  readonly clock: Clock
  readonly newRequestId: () => string
  readonly metrics: Metrics
  readonly log: Log
  readonly notReady: () => string | null
  readonly addresses: () => { readonly baseUrl: string; readonly gatewayUrl: string }
}

export interface Platform {
  readonly app: FastifyInstance
  /** The risk paths alone, for a port of their own. */
  createRiskApp(): FastifyInstance
  close(): Promise<void>
}

const BODY_BYTES_MAX = 1024 * 1024

export function createPlatform(options: PlatformOptions): Platform {
  const apps: FastifyInstance[] = []
  const streams: { close(): void }[] = []
  const count = options.metrics.counter('risk_stream_ends_total', 'Risk streams that ended, by reason', ['reason'])

  function createApp(): FastifyInstance {
    const app = fastify({
      logger: false,
      genReqId: options.newRequestId,
      requestIdHeader: false,
      bodyLimit: BODY_BYTES_MAX,
      maxParamLength: 256,
      exposeHeadRoutes: false,
      return503OnClosing: true,
      forceCloseConnections: 'idle',
      http: { maxHeaderSize: 16_384 },
    })
    app.removeContentTypeParser('text/plain')
    // Only queries carry numbers as text; a body says what it means.
    app.setValidatorCompiler(createValidatorCompiler())
    installProblems(app, options.log)
    installGuard(app, options)
    apps.push(app)
    return app
  }

  function risksOn(declare: DeclareRoute): void {
    riskRoutes(declare, options.risks)
    const { risks, clock } = options
    streams.push(riskStreamRoutes(declare, { risks, clock, count: (reason) => count.inc({ reason }) }))
  }

  const app = createApp()
  const declarations: RouteDeclaration[] = [...SERVICE_DECLARATIONS]
  const declare = noting(createDeclareRoute(app), declarations)
  serviceRoutes(app, {
    metrics: options.metrics,
    notReady: options.notReady,
    openApi: () => buildOpenApi({ declarations, ...options.addresses() }),
  })
  allRoutes(declare, options, risksOn)

  return {
    app,
    createRiskApp() {
      const riskApp = createApp()
      risksOn(createDeclareRoute(riskApp))
      return riskApp
    },
    async close() {
      for (const stream of streams) stream.close()
      await Promise.all(apps.map((each) => each.close()))
    },
  }
}

function allRoutes(declare: DeclareRoute, options: PlatformOptions, risksOn: (declare: DeclareRoute) => void): void {
  consumerRoutes(declare, options.consumers)
  apiRoutes(declare, options.apis)
  proxyRoutes(declare, options.proxies)
  subscriptionRoutes(declare, options.subscriptions)
  specificationRoutes(declare, options.specifications)
  usageRoutes(declare, options)
  risksOn(declare)
}

function noting(declare: DeclareRoute, declarations: RouteDeclaration[]): DeclareRoute {
  return (declaration, handler) => {
    declarations.push(declaration)
    declare(declaration, handler)
  }
}

/** Every scope of the platform API; known before anything is built, for the first credential. */
export function platformScopes(): readonly string[] {
  const declarations: RouteDeclaration[] = []
  const note: DeclareRoute = (declaration) => void declarations.push(declaration)
  const nothing = new Proxy({}, { get: () => nothing }) as PlatformOptions
  allRoutes(note, nothing, (declare) => {
    riskRoutes(declare, nothing.risks)
    riskStreamRoutes(declare, { risks: nothing.risks, clock: nothing.clock, count: () => {} })
  })
  return scopesOf(declarations)
}
