/** All operations of the platform API. */

import type { PlatformOperation } from '../domain/platform-api.ts'
import type { Operation, Operations } from './operation.ts'
import { RESOURCES } from './resources.ts'
import { RISK_STREAM_OPERATIONS } from './risk-stream.ts'
import { RISK_OPERATIONS } from './risks.ts'
import { SERVICE_OPERATIONS } from './service-routes.ts'

/** Operations that a separate port can serve as well. */
export const RISK_PATHS = { ...RISK_OPERATIONS, ...RISK_STREAM_OPERATIONS } as const satisfies Operations

const TABLES: readonly Operations[] = [...RESOURCES.map(({ operations }) => operations), RISK_PATHS, SERVICE_OPERATIONS]

export const ALL_OPERATIONS: Operations = Object.fromEntries(TABLES.flatMap((table) => Object.entries(table)))

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
