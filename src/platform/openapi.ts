/** The platform's own OpenAPI document, made from the declarations of its routes. */

import { PROBLEMS, type ProblemCode } from '../domain/problem.ts'
import type { RouteDeclaration } from './routes.ts'
import { problemSchema, type Schema } from './schemas.ts'

/** Every route can answer with these. */
const COMMON: readonly ProblemCode[] = ['payload_invalid', 'not_found', 'internal', 'unavailable']
const PROTECTED: readonly ProblemCode[] = [
  'credential_missing',
  'credential_invalid',
  'operation_forbidden',
  'subscription_required',
]
const WITH_BODY: readonly ProblemCode[] = ['payload_too_large', 'media_type_unsupported']

export interface OpenApiOptions {
  readonly declarations: readonly RouteDeclaration[]
  readonly baseUrl: string
  readonly gatewayUrl: string
}

export function buildOpenApi({ declarations, baseUrl, gatewayUrl }: OpenApiOptions): Schema {
  const paths: Record<string, Record<string, unknown>> = {}
  for (const declaration of declarations) {
    const path = declaration.path.replace(/:(\w+)/g, '{$1}')
    paths[path] = { ...paths[path], [declaration.method.toLowerCase()]: toOperation(declaration) }
  }
  const scopes = scopesOf(declarations)
  return {
    openapi: '3.1.0',
    info: {
      title: 'Platform',
      version: '1.0.0',
      description: 'Publish APIs, subscribe consumers, read exact usage and watch risks.',
      license: { name: 'Apache-2.0', identifier: 'Apache-2.0' },
    },
    servers: [{ url: baseUrl }],
    tags: [...new Set(declarations.map(({ tag }) => tag))].map((tag) => ({ name: tag })),
    paths,
    components: {
      schemas: {
        Problem: {
          ...problemSchema,
          properties: {
            ...(problemSchema['properties'] as object),
            code: { type: 'string', enum: Object.keys(PROBLEMS) },
          },
        },
      },
      securitySchemes: {
        oauth: {
          type: 'oauth2',
          flows: {
            clientCredentials: {
              tokenUrl: `${gatewayUrl}/platform-v1/oauth2/v2/token`,
              scopes: Object.fromEntries(
                scopes.map((scope) => [scope, `${scope.split(':')[1] ?? ''} ${scope.split(':')[0] ?? ''}`]),
              ),
            },
          },
        },
      },
    },
  }
}

/** Every scope a route asks for, sorted. */
export function scopesOf(declarations: readonly RouteDeclaration[]): readonly string[] {
  return [...new Set(declarations.flatMap(({ scope }) => (scope === null ? [] : [scope])))].sort()
}

function toOperation(declaration: RouteDeclaration): Record<string, unknown> {
  const { operationId, summary, tag, scope, body } = declaration
  return {
    operationId,
    summary,
    tags: [tag],
    security: scope === null ? [] : [{ oauth: [scope] }],
    ...parametersOf(declaration),
    ...(body !== undefined && { requestBody: { required: true, content: { 'application/json': { schema: body } } } }),
    responses: { [String(declaration.status)]: toAnswer(declaration), ...problemsOf(declaration) },
  }
}

function parametersOf({ params, query, path }: RouteDeclaration): Record<string, unknown> {
  const inPath = [...path.matchAll(/:(\w+)/g)].map(([, name]) => ({
    name,
    in: 'path',
    required: true,
    schema: (params?.['properties'] as Record<string, Schema> | undefined)?.[name ?? ''] ?? { type: 'string' },
  }))
  const inQuery = Object.entries((query?.['properties'] ?? {}) as Record<string, Schema>).map(([name, schema]) => ({
    name,
    in: 'query',
    schema,
  }))
  const parameters = [...inPath, ...inQuery]
  return parameters.length === 0 ? {} : { parameters }
}

function toAnswer({ status, answer, mediaTypes, summary }: RouteDeclaration): Record<string, unknown> {
  if (status === 204) return { description: 'Done.' }
  const content = answer === undefined ? {} : { 'application/json': { schema: answer } }
  const others = (mediaTypes ?? []).map((mediaType) => [mediaType, {}])
  return { description: summary, content: { ...content, ...Object.fromEntries(others) } }
}

function problemsOf({ scope, body, problems = [] }: RouteDeclaration): Record<string, unknown> {
  const codes = [...COMMON, ...(scope === null ? [] : PROTECTED), ...(body === undefined ? [] : WITH_BODY), ...problems]
  const byStatus = Map.groupBy(new Set(codes), (code) => String(PROBLEMS[code].status))
  const content = { 'application/problem+json': { schema: { $ref: '#/components/schemas/Problem' } } }
  return Object.fromEntries(
    [...byStatus].map(([status, group]) => [
      status,
      { description: group.map((code) => `\`${code}\`: ${PROBLEMS[code].title}`).join('. '), content },
    ]),
  )
}
