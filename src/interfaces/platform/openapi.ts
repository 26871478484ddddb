/**
 * Builds the OpenAPI document of the platform from the declarations of its operations.
 *
 * Schemas with a title become components, so that generated clients have names for them.
 */

import { REVEAL_SCOPE } from '../../control/access/credentials.ts'
import { PROBLEMS } from '../../foundation/domain/problem.ts'
import { toOpenApiOperation } from './openapi-operation.ts'
import { TAGS, type Operation, type Operations } from './operation.ts'
import { ALL_OPERATIONS, toTemplate } from './operations.ts'
import { SERVICE_OPERATIONS } from './service-routes.ts'
import { alternativesOf } from './scope-widths.ts'
import type { Schema } from './schema-type.ts'
import { problemSchema } from './schemas.ts'
import { buildWebhooks } from './webhook-events.ts'

export interface OpenApiOptions {
  readonly operations: Operations
  readonly baseUrl: string
  readonly gatewayUrl: string
}

export function buildOpenApi({ operations, baseUrl, gatewayUrl }: OpenApiOptions): Schema {
  const components: Record<string, unknown> = toProblemSchemas()
  const paths: Record<string, Record<string, unknown>> = {}
  for (const [operationId, operation] of Object.entries(operations)) {
    const path = (paths[toTemplate(operation.path)] ??= {})
    path[operation.method.toLowerCase()] = hoist(toOpenApiOperation(operationId, operation), components)
  }
  const tags = [...new Set(Object.values(operations).map(({ tag }) => tag))]
  return {
    openapi: '3.1.0',
    info: {
      title: 'Platform',
      version: '1.0.0',
      description:
        'Publish APIs, subscribe consumers, read exact usage and watch risks. Lists return `{items, next}`; errors are ' +
        'problem documents (RFC 9457) with a stable `code`; every answer carries `X-Request-Id`.',
      contact: { name: 'The operator of this gateway', url: baseUrl },
      license: { name: 'Apache-2.0', identifier: 'Apache-2.0' },
    },
    externalDocs: {
      description: 'The OAuth paths of the gateway: tokens, sign-in, keys, discovery',
      url: `${baseUrl}${SERVICE_OPERATIONS.getOauthOpenApi.path}`,
    },
    servers: [{ url: baseUrl }],
    tags: tags.map((name) => ({ name, description: TAGS[name] })),
    paths,
    webhooks: buildWebhooks(),
    components: {
      schemas: components,
      securitySchemes: { oauth: toSecurityScheme(Object.values(operations), gatewayUrl) },
    },
  }
}

/** Returns the document without the addresses of this deployment, so that its score depends on the version alone. */
export function ownDocument(): Buffer {
  const addresses = { baseUrl: 'https://platform.example', gatewayUrl: 'https://gateway.example' }
  return Buffer.from(JSON.stringify(buildOpenApi({ operations: ALL_OPERATIONS, ...addresses })))
}

/** Two schemas, because linters and client generators expand the reference for each operation. */
function toProblemSchemas(): Record<string, Schema> {
  const properties = problemSchema['properties'] as Readonly<Record<string, Schema>>
  const { errors = {}, ...always } = { ...properties, code: { type: 'string', enum: Object.keys(PROBLEMS) } }
  return {
    Problem: { ...problemSchema, description: 'RFC 9457.', properties: always },
    InvalidProblem: {
      ...problemSchema,
      description: 'RFC 9457, with the locations that do not match the schema.',
      properties: { ...always, errors },
    },
  }
}

function toSecurityScheme(operations: readonly Operation[], gatewayUrl: string): Schema {
  const names = [...operations.flatMap(alternativesOf), REVEAL_SCOPE]
  const scopes = Object.fromEntries([...new Set(names)].sort().map((scope) => [scope, describeScope(scope)]))
  return {
    type: 'oauth2',
    description: 'A token of `platform-v1`, which also determines the tenant.',
    flows: { clientCredentials: { tokenUrl: `${gatewayUrl}/platform-v1/oauth2/v2/token`, scopes } },
  }
}

const VERBS: Readonly<Record<string, string>> = {
  read: 'Read',
  write: 'Change',
  admin: 'Administer',
  reveal: 'Read the secrets of',
}

function describeScope(scope: string): string {
  const [resource = '', right = '', width] = scope.split(':')
  const verb = VERBS[right] ?? 'Change'
  return width === undefined ? `${verb} ${resource}` : `${verb} ${resource} of the consumer of the caller`
}

/** Returns the value with each titled schema moved to `components`. */
function hoist(value: unknown, components: Record<string, unknown>): unknown {
  if (Array.isArray(value)) return value.map((item) => hoist(item, components))
  if (value === null || typeof value !== 'object') return value
  const copy = Object.fromEntries(Object.entries(value).map(([name, member]) => [name, hoist(member, components)]))
  const { title, ...schema } = copy
  if (typeof title !== 'string' || schema['type'] === undefined) return copy
  components[title] = schema
  return { $ref: `#/components/schemas/${title}` }
}
