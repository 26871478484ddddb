/** Paths that need no credential: alive, ready, metrics, the OpenAPI document. */

import type { FastifyInstance, FastifyReply } from 'fastify'
import { Problem } from '../domain/problem.ts'
import type { Metrics } from '../runtime/metrics.ts'
import type { Operation, Operations } from './operation.ts'
import { object } from './schemas.ts'
import { toRouteOptions } from './serve.ts'

export interface ServiceRoutesOptions {
  readonly metrics: Metrics
  /** Why the service is not ready; null when it is. */
  readonly notReady: () => string | null
  /** The OpenAPI document as text. */
  readonly openApi: () => string
  /** That of the gateway's OAuth paths. */
  readonly oauthOpenApi: () => string
}

const answer = object({ status: { type: 'string' } })
const shared = { method: 'GET', tag: 'Service', scope: null, status: 200 } as const satisfies Partial<Operation>

export const SERVICE_OPERATIONS = {
  getHealth: { ...shared, path: '/healthz', summary: 'Alive', answer },
  getReadiness: { ...shared, path: '/readyz', summary: 'Serving: routes loaded, spool writable', answer },
  getMetrics: {
    ...shared,
    path: '/metrics',
    summary: 'Metrics in the text format of Prometheus',
    mediaTypes: ['text/plain'],
  },
  getOpenApi: { ...shared, path: '/openapi.json', summary: 'This document', answer: { type: 'object' } },
  getOauthOpenApi: {
    ...shared,
    path: '/oauth.openapi.json',
    summary: 'The document of the OAuth paths, which the gateway serves',
    answer: { type: 'object' },
  },
} as const satisfies Operations

type Answer = (reply: FastifyReply) => Promise<unknown>

export function serviceRoutes(app: FastifyInstance, options: ServiceRoutesOptions): void {
  const { metrics, notReady } = options
  const json = async (reply: FastifyReply, text: string): Promise<FastifyReply> =>
    reply.type('application/json; charset=utf-8').send(text)
  const answers: { readonly [Id in keyof typeof SERVICE_OPERATIONS]: Answer } = {
    getHealth: async () => ({ status: 'alive' }),
    async getReadiness() {
      const reason = notReady()
      if (reason !== null) throw new Problem('unavailable', reason)
      return { status: 'ready' }
    },
    getMetrics: async (reply) => reply.type(metrics.registry.contentType).send(await metrics.registry.metrics()),
    getOpenApi: (reply) => json(reply, options.openApi()),
    getOauthOpenApi: (reply) => json(reply, options.oauthOpenApi()),
  }
  for (const operationId of Object.keys(answers) as (keyof typeof answers)[]) {
    const operation = SERVICE_OPERATIONS[operationId]
    app.get(operation.path, toRouteOptions({ operationId, ...operation }), async (_request, reply) =>
      answers[operationId](reply),
    )
  }
}
