/** Public routes: the index, liveness, readiness, metrics and the OpenAPI documents. */

import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { Problem } from '../../foundation/domain/problem.ts'
import type { Metrics } from '../../foundation/runtime/metrics.ts'
import { MCP_PATH } from '../../boundary/plan/mcp-exposure.ts'
import { refuseMetrics, type MetricsAccess } from './metrics-access.ts'
import type { Operation, Operations } from './operation.ts'
import { sendProblem } from './problems.ts'
import { object } from './schemas.ts'
import { protectedResourceShape, RESOURCE_METADATA_PATH } from './protected-resource.ts'
import { toRouteOptions } from './serve.ts'

export interface ServiceRoutesOptions {
  readonly metrics: Metrics
  readonly metricsAccess: MetricsAccess
  /** Returns why the service is not ready, or null. */
  readonly notReady: () => string | null
  /** Returns what a service that serves calls cannot do at the moment, or null. */
  readonly limitation: () => string | null
  /** Returns the OpenAPI document of the platform. */
  readonly openApi: () => string
  /** Returns the metadata of the platform as a protected resource. */
  readonly protectedResource: () => string
  /** Returns the metadata of its MCP endpoint. */
  readonly mcpResource: () => string
  /** Returns the OpenAPI document of the gateway's OAuth paths. */
  readonly oauthOpenApi: () => string
  readonly addresses: () => ServiceAddresses
  /** The page that browsers get at `/`. Default: the index, as other clients. */
  readonly rootPage?: RootPage
}

export interface RootPage {
  readonly isAskedFor: (request: IncomingMessage) => boolean
  readonly send: (response: ServerResponse) => void
}

/** Where clients find the parts of the service, and its version. */
export interface ServiceAddresses {
  readonly gatewayUrl: string
  readonly baseUrl: string
  readonly riskUrl: string
  readonly version: string
}

const CONSOLE_PATH = '/console/'
const address = { type: 'string', format: 'uri' } as const
const answer = object({ status: { type: 'string' } })
const shared = { method: 'GET', tag: 'Service', scope: null, status: 200 } as const satisfies Partial<Operation>

export const SERVICE_OPERATIONS = {
  getIndex: {
    ...shared,
    path: '/',
    summary: 'Returns what this service is and where its parts are; browsers get a page',
    answer: object({
      ...{ name: { type: 'string' }, version: { type: 'string' }, openapi: address, console: address },
      ...{ gatewayUrl: address, riskUrl: address, health: address, metrics: address },
    }),
  },
  getHealth: { ...shared, path: '/healthz', summary: 'Reports that the process is alive', answer },
  getReadiness: {
    ...shared,
    path: '/readyz',
    summary: 'Reports whether the service is ready: routes loaded, spool writable',
    description: '`reason` says what a node that serves calls cannot do at the moment.',
    answer: object({ status: { type: 'string' }, reason: { type: 'string' } }, ['status']),
  },
  getMetrics: {
    ...shared,
    path: '/metrics',
    summary: 'Returns metrics in the Prometheus text format',
    description:
      'Available from loopback only, unless `METRICS_TOKEN` (sent as a bearer token) or `METRICS_PORT` (served there instead) is set.',
    problems: ['credential_missing', 'credential_invalid', 'operation_forbidden', 'not_found'],
    mediaTypes: ['text/plain'],
  },
  getOpenApi: { ...shared, path: '/openapi.json', summary: 'Returns this document', answer: { type: 'object' } },
  getProtectedResource: {
    ...shared,
    path: RESOURCE_METADATA_PATH,
    summary: 'Returns the metadata of this API as a protected resource (RFC 9728)',
    answer: protectedResourceShape,
  },
  getMcpProtectedResource: {
    ...shared,
    path: `${RESOURCE_METADATA_PATH}${MCP_PATH}`,
    summary: 'Returns the metadata of the MCP endpoint of this API as a protected resource (RFC 9728)',
    answer: protectedResourceShape,
  },
  getAddresses: {
    ...shared,
    path: '/.well-known/tollgate',
    summary:
      'Returns the addresses of the gateway, the platform API and the risk stream, and the version of the service',
    answer: object({ gatewayUrl: address, baseUrl: address, riskUrl: address, version: { type: 'string' } }),
  },
  getOauthOpenApi: {
    ...shared,
    path: '/oauth.openapi.json',
    summary: 'Returns the OpenAPI document of the OAuth paths, which the gateway serves',
    answer: { type: 'object' },
  },
} as const satisfies Operations

type Answer = (reply: FastifyReply, request: FastifyRequest) => Promise<unknown>

export function serviceRoutes(app: FastifyInstance, options: ServiceRoutesOptions): void {
  const { metrics, metricsAccess, notReady } = options
  const json = async (reply: FastifyReply, text: string): Promise<FastifyReply> =>
    reply.type('application/json; charset=utf-8').send(text)
  const { rootPage } = options
  const answers: { readonly [Id in keyof typeof SERVICE_OPERATIONS]: Answer } = {
    async getIndex(reply, { raw }) {
      if (rootPage?.isAskedFor(raw) !== true) return indexOf(options.addresses())
      reply.hijack()
      rootPage.send(reply.raw)
      return reply
    },
    getHealth: async () => ({ status: 'alive' }),
    async getReadiness(reply, request) {
      const reason = notReady()
      // Not thrown: each check of a balancer would be logged as a failure.
      if (reason !== null) return sendProblem(request, reply, new Problem('unavailable', reason))
      const limitation = options.limitation()
      return { status: 'ready', ...(limitation !== null && { reason: limitation }) }
    },
    async getMetrics(reply, request) {
      const refused = refuseMetrics(metricsAccess, request.raw)
      if (refused?.status === 401) void reply.header('WWW-Authenticate', 'Bearer')
      if (refused !== null) throw refused
      return reply.type(metrics.registry.contentType).send(await metrics.registry.metrics())
    },
    getOpenApi: (reply) => json(reply, options.openApi()),
    getProtectedResource: (reply) => json(reply, options.protectedResource()),
    getMcpProtectedResource: (reply) => json(reply, options.mcpResource()),
    getAddresses: async () => options.addresses(),
    getOauthOpenApi: (reply) => json(reply, options.oauthOpenApi()),
  }
  for (const operationId of Object.keys(answers) as (keyof typeof answers)[]) {
    const operation = SERVICE_OPERATIONS[operationId]
    app.get(operation.path, toRouteOptions({ operationId, ...operation }), async (request, reply) =>
      answers[operationId](reply, request),
    )
  }
}

function indexOf({ baseUrl, gatewayUrl, riskUrl, version }: ServiceAddresses) {
  const { getOpenApi, getReadiness, getMetrics } = SERVICE_OPERATIONS
  return {
    name: 'tollgate',
    version,
    openapi: `${baseUrl}${getOpenApi.path}`,
    console: `${baseUrl}${CONSOLE_PATH}`,
    gatewayUrl,
    riskUrl,
    health: `${baseUrl}${getReadiness.path}`,
    metrics: `${baseUrl}${getMetrics.path}`,
  }
}
