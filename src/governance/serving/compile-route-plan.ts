/**
 * Compiles an OpenAPI document to the plan of one revision, by which gateway threads route, authorise and
 * validate calls.
 *
 * Rejects documents that cannot be served as declared: those with patterns that need backtracking, or with
 * operations that no credential of this gateway can access.
 */

import { Problem, type ProblemPointer } from '../../domain/problem.ts'
import type { Specification } from '../specification.ts'
import { createRequestCompiler } from './compile-parameters.ts'
import { compileResponses } from './compile-responses.ts'
import { compileSecurity } from './compile-security.ts'
import { readMinRead, readPassHeaders } from './gateway-extensions.ts'
import type { BackendPlan, RoutePlan } from '../../plan/route-plan.ts'
import { createSchemaStore } from '../../schema/schema-store.ts'

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
}

const ERRORS_MAX = 50

/** Throws `Problem('specification_invalid')` with a pointer for each fault. */
export function compileRoutePlan(options: CompileRoutePlanOptions): RoutePlan {
  const { specification, isAccepted = false, ...rest } = options
  const { document, dialect, technicalName } = specification
  const faults: ProblemPointer[] = []
  const schemas = createSchemaStore({ document, dialect, direction: 'request', faults })
  const request = createRequestCompiler({ document, schemas, faults })
  const compiled = compileResponses({ document, dialect, operations: specification.operations })
  const operations = specification.operations.map((operation, index) => ({
    operationId: operation.operationId,
    method: operation.method,
    path: operation.path,
    security: compileSecurity(operation, specification, faults),
    parameters: request.parameters(operation),
    body: request.body(operation),
    passHeaders: readPassHeaders(document, operation, faults),
    responses: compiled.byOperation[index] ?? [],
  }))
  const readBytesPerSecondMin = readMinRead(document, faults)
  if (faults.length > 0 && !isAccepted) {
    const detail = 'The gateway cannot serve the OpenAPI document as declared.'
    throw new Problem('specification_invalid', detail, { errors: faults.slice(0, ERRORS_MAX) })
  }
  const components = schemas.components()
  return {
    api: technicalName,
    dialect,
    components,
    responses: compiled.responses,
    responseComponents: compiled.components,
    operations,
    ...(readBytesPerSecondMin !== undefined && { readBytesPerSecondMin }),
    ...rest,
  }
}
