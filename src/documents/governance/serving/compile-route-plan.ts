/**
 * Compiles an OpenAPI document to the plan of one revision, by which gateway threads route, authorise and
 * validate calls.
 *
 * Rejects documents that cannot be served as declared: those with patterns that need backtracking, or with
 * operations that no credential of this gateway can access.
 */

import type { ProblemPointer } from '../../../foundation/domain/problem.ts'
import { findMisledReferences } from '../reference-kinds.ts'
import { refuse, type Specification } from '../specification.ts'
import { createRequestCompiler } from './compile-parameters.ts'
import { compileResponses } from './compile-responses.ts'
import { compileSecurity } from './compile-security.ts'
import { readCors } from './cors-extension.ts'
import { readClientCertificate, readMinRead, readPassHeaders } from './gateway-extensions.ts'
import { readMcp, readMcpFlag, readProse } from './mcp-exposure.ts'
import { readUnits } from './units-extension.ts'
import { readWebSocket } from './websocket-extension.ts'
import type { BackendPlan, RoutePlan } from '../../../boundary/plan/route-plan.ts'
import { createSchemaStore } from '../../../boundary/schema/schema-store.ts'
import { findSchemaFaults } from '../../../boundary/schema/schema-faults.ts'

export interface CompileRoutePlanOptions {
  readonly specification: Specification
  readonly tenant: string
  readonly revision: number
  readonly state: RoutePlan['state']
  readonly backend: BackendPlan | null
  readonly allowedScopes: readonly string[]
  readonly memberOfProductIds: readonly string[]
  /** Set for documents that an earlier version accepted, perhaps by weaker rules: they are served despite faults. */
  readonly isAccepted?: boolean
  /** Keeps descriptions also if the document does not ask for MCP, because the policy of the API does. */
  readonly hasProse?: boolean
}

export type ServingSource = Pick<Specification, 'document' | 'dialect' | 'technicalName' | 'operations'>
type ServingPlan = Omit<RoutePlan, Exclude<keyof CompileRoutePlanOptions, 'specification' | 'isAccepted' | 'hasProse'>>

/** Throws `Problem('specification_invalid')` with a pointer for each fault. */
export function compileRoutePlan(options: CompileRoutePlanOptions): RoutePlan {
  const { specification, isAccepted = false, hasProse = false, ...rest } = options
  const faults: ProblemPointer[] = []
  const plan = compileServing(specification, isAccepted ? null : faults, hasProse)
  if (faults.length > 0) throw refuse(faults, 'The gateway cannot serve the OpenAPI document as declared.')
  return { ...plan, ...rest }
}

/** Compiles what depends on the document only. Appends faults to `faults`; with null it does not look for them. */
export function compileServing(
  { document, dialect, technicalName, operations: declared }: ServingSource,
  faults: ProblemPointer[] | null,
  wantsProse = false,
): ServingPlan {
  const found = faults ?? []
  const places = new WeakMap<object, string>()
  let hasUnevaluated = false
  const locate = (schema: object, pointer: string): void => {
    places.set(schema, pointer)
    hasUnevaluated ||= 'unevaluatedProperties' in schema || 'unevaluatedItems' in schema
  }
  const known: ProblemPointer[] = []
  const mcp = readMcp(document, declared, found)
  const cors = readCors(document, found)
  const hasProse = wantsProse || mcp !== undefined
  const schemas = createSchemaStore({ document, dialect, direction: 'request', faults: known, locate, hasProse })
  const request = createRequestCompiler({ document, schemas, faults: found, hasProse })
  const compiled = compileResponses({ document, dialect, operations: declared })
  const securities = declared.map((operation) => compileSecurity(operation, { document, technicalName }, found))
  const operations = declared.map((operation, index) => ({
    operationId: operation.operationId,
    method: operation.method,
    path: operation.path,
    security: securities[index] ?? [],
    ...readClientCertificate(document, operation, securities[index]?.length === 0, found),
    parameters: request.parameters(operation),
    body: request.body(operation),
    passHeaders: readPassHeaders(document, operation, found),
    responses: compiled.byOperation[index] ?? [],
    ...readProse(operation, hasProse),
    ...readMcpFlag(operation),
    ...readUnits(document, operation, found),
    ...readWebSocket(operation, found),
  }))
  const readBytesPerSecondMin = readMinRead(document, found)
  const components = schemas.components()
  if (faults !== null) known.push(...findMisledReferences(document))
  found.push(...known)
  if (faults !== null)
    found.push(...findSchemaFaults({ components, schemas: schemasOf(operations), places, known, hasUnevaluated }))
  return {
    api: technicalName,
    dialect,
    components,
    responses: compiled.responses,
    responseComponents: compiled.components,
    operations,
    ...(readBytesPerSecondMin !== undefined && { readBytesPerSecondMin }),
    ...(mcp !== undefined && { mcp }),
    ...(cors !== undefined && { cors }),
  }
}

function schemasOf(operations: RoutePlan['operations']): unknown[] {
  return operations
    .flatMap(({ parameters, body }) => [
      ...parameters.map(({ schema }) => schema),
      ...(body === null ? [] : Object.values(body.content)),
    ])
    .filter((schema) => schema !== null)
}
