/** Paths that need no credential: alive, ready, metrics, the OpenAPI document. */

import type { FastifyInstance } from 'fastify'
import { Problem } from '../domain/problem.ts'
import type { Metrics } from '../runtime/metrics.ts'
import type { RouteDeclaration } from './routes.ts'
import { object } from './schemas.ts'

export interface ServiceRouteOptions {
  readonly metrics: Metrics
  /** Why the service is not ready; null when it is. */
  readonly notReady: () => string | null
  readonly openApi: () => object
}

const status = object({ status: { type: 'string' } })

export const SERVICE_DECLARATIONS: readonly RouteDeclaration[] = [
  { operationId: 'getHealth', path: '/healthz', summary: 'Alive', answer: status },
  { operationId: 'getReadiness', path: '/readyz', summary: 'Serving: routes loaded, spool writable', answer: status },
  {
    operationId: 'getMetrics',
    path: '/metrics',
    summary: 'Metrics in Prometheus text format',
    mediaTypes: ['text/plain'],
  },
  { operationId: 'getOpenApi', path: '/openapi.json', summary: 'This document', answer: { type: 'object' } },
].map((route) => ({ ...route, method: 'GET', tag: 'Service', scope: null, status: 200 }))

export function serviceRoutes(app: FastifyInstance, { metrics, notReady, openApi }: ServiceRouteOptions): void {
  const handlers: Readonly<Record<string, () => Promise<unknown>>> = {
    getHealth: async () => ({ status: 'alive' }),
    getReadiness: async () => {
      const reason = notReady()
      if (reason !== null) throw new Problem('unavailable', reason)
      return { status: 'ready' }
    },
    getMetrics: () => metrics.registry.metrics(),
    getOpenApi: async () => openApi(),
  }
  for (const declaration of SERVICE_DECLARATIONS) {
    const handler = handlers[declaration.operationId]
    if (handler === undefined) throw new Error(`${declaration.operationId} has no handler`)
    app.get(declaration.path, { config: { declaration } }, async (_request, reply) => {
      if (declaration.operationId === 'getMetrics') void reply.type('text/plain; version=0.0.4; charset=utf-8')
      return handler()
    })
  }
}
