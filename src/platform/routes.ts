/**
 * How a route of the platform API is declared: what it is for, whom it lets in, what goes in and out.
 *
 * One declaration makes the fastify route, its validation, its scope check and its place in
 * `/openapi.json`; nothing can be in one and not in the others.
 */

import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import type { Caller } from '../catalogue/caller.ts'
import type { ProblemCode } from '../domain/problem.ts'
import type { Author } from '../store/registry.ts'
import type { Schema } from './schemas.ts'

export interface RouteDeclaration {
  readonly operationId: string
  readonly method: 'GET' | 'POST' | 'PUT' | 'DELETE'
  /** fastify's form, `/v1/proxies/:id`. */
  readonly path: string
  readonly summary: string
  readonly tag: string
  /** `null`: public. */
  readonly scope: string | null
  readonly params?: Schema
  readonly query?: Schema
  readonly body?: Schema
  readonly bodyBytesMax?: number
  /** The answer of a success: its status and shape; no shape where it is not JSON. */
  readonly status: number
  readonly answer?: Schema
  readonly mediaTypes?: readonly string[]
  /** Codes beyond those every route can answer. */
  readonly problems?: readonly ProblemCode[]
}

declare module 'fastify' {
  interface FastifyContextConfig {
    declaration?: RouteDeclaration
  }
  interface FastifyRequest {
    /** Set by the authentication hook; null on public routes and before it. */
    caller: Caller | null
    startedMs: number
    /** Records the call before its answer begins; for answers that do not end. */
    recordNow: () => Promise<void>
  }
}

export interface RouteRequest {
  readonly params: Readonly<Record<string, string>>
  readonly query: Readonly<Record<string, unknown>>
  readonly body: unknown
  /** Whoever calls, as the registry writes it down. */
  readonly author: Author
  readonly caller: Caller
  readonly raw: FastifyRequest
}

export type Handler = (request: RouteRequest, reply: FastifyReply) => Promise<unknown>

/** Declares a route of an authenticated caller. */
export type DeclareRoute = (declaration: RouteDeclaration, handler: Handler) => void

export function createDeclareRoute(app: FastifyInstance): DeclareRoute {
  return (declaration, handler) => {
    const { method, path, params, query, body, bodyBytesMax, status } = declaration
    app.route({
      method,
      url: path,
      ...(bodyBytesMax !== undefined && { bodyLimit: bodyBytesMax }),
      schema: { ...(params && { params }), ...(query && { querystring: query }), ...(body && { body }) },
      config: { declaration },
      handler: async (request, reply) => {
        reply.code(status)
        return handler(toRouteRequest(request), reply)
      },
    })
  }
}

function toRouteRequest(request: FastifyRequest): RouteRequest {
  const { caller } = request
  if (caller === null) throw new Error('a route ran without a caller')
  const { grant, agent, person } = caller
  return {
    params: request.params as Record<string, string>,
    query: request.query as Record<string, unknown>,
    body: request.body,
    caller,
    author: {
      tenant: grant.tenant,
      consumer: grant.consumer,
      ...(agent !== '' && { agent }),
      ...(person !== '' && { person }),
    },
    raw: request,
  }
}
