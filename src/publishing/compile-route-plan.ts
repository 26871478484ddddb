/**
 * Compiles an OpenAPI document to the plan of one revision: what a gateway thread needs to route, authorise
 * and validate.
 *
 * Refuses what could not be served as declared before anything is staged: patterns that need backtracking,
 * and operations that no credential of this gateway could access.
 */

import { Problem, type ProblemPointer } from '../domain/problem.ts'
import type { Specification } from '../governance/specification.ts'
import { createRequestCompiler } from './compile-parameters.ts'
import { compileResponses } from './compile-responses.ts'
import { compileSecurity } from './compile-security.ts'
import { readMinRead, readPassHeaders } from './gateway-extensions.ts'
import type { BackendPlan, RoutePlan } from '../plan/route-plan.ts'
import { createSchemaStore } from '../schema/schema-store.ts'

export interface CompileRoutePlanOptions {
  readonly specification: Specification
  readonly tenant: string
  readonly revision: number
  readonly state: RoutePlan['state']
  readonly backend: BackendPlan | null
  readonly allowedScopes: readonly string[]
  readonly memberOfProductIds: readonly string[]
  /** The document was accepted before, perhaps under rules that refused less: faults do not stop it from being served. */
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
  const answers = compileResponses({ document, dialect, operations: specification.operations })
  const operations = specification.operations.map((operation, index) => ({
    operationId: operation.operationId,
    method: operation.method,
    path: operation.path,
    security: compileSecurity(operation, specification, faults),
    parameters: request.parameters(operation),
    body: request.body(operation),
    passHeaders: readPassHeaders(document, operation, faults),
    responses: answers.byOperation[index] ?? [],
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
    responses: answers.responses,
    responseComponents: answers.components,
    operations,
    ...(readBytesPerSecondMin !== undefined && { readBytesPerSecondMin }),
    ...rest,
  }
}
