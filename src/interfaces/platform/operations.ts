/** All operations of the platform API. */

import { REVEAL_SCOPE } from '../../control/access/credentials.ts'
import type { PlatformOperation } from '../../foundation/domain/platform-api.ts'
import type { Operation, Operations } from './operation.ts'
import { RESOURCES } from './resources.ts'
import { RISK_STREAM_OPERATIONS } from './risk-stream.ts'
import { RISK_OPERATIONS } from './risks.ts'
import { alternativesOf } from './scope-widths.ts'
import { SERVICE_OPERATIONS } from './service-routes.ts'

/** Operations that a separate port can serve as well. */
export const RISK_PATHS = { ...RISK_OPERATIONS, ...RISK_STREAM_OPERATIONS } as const satisfies Operations

const TABLES: readonly Operations[] = [...RESOURCES.map(({ operations }) => operations), RISK_PATHS, SERVICE_OPERATIONS]

export const ALL_OPERATIONS: Operations = Object.fromEntries(TABLES.flatMap((table) => Object.entries(table)))

/** The operations of the catalogue entry `platform-v1`. */
export function platformOperations(): readonly PlatformOperation[] {
  return Object.entries(ALL_OPERATIONS).map(([operationId, operation]) => ({
    operationId,
    method: operation.method,
    path: toTemplate(operation.path),
    alternatives: alternativesOf(operation),
  }))
}

/** Returns the scopes of all operations, and those that add to their answers, sorted. */
export function platformScopes(): readonly string[] {
  const scopes = Object.values<Operation>(ALL_OPERATIONS).flatMap(alternativesOf)
  return [...new Set([...scopes, REVEAL_SCOPE])].sort()
}

/** Converts a path from fastify's form to OpenAPI's. */
export function toTemplate(path: string): string {
  return path.replace(/:(\w+)/g, '{$1}')
}
