/**
 * Validates requests against what their operation declares: parameters, media type, body.
 *
 * Compiled at activation, an operation at a time with a turn of the event loop between, so that a
 * serving thread is never held for long. What an operation does not declare costs nothing.
 */

import { setImmediate as nextTurn } from 'node:timers/promises'
import type { OperationPlan, RoutePlan } from '../catalogue/route-plan.ts'
import { Problem } from '../domain/problem.ts'
import { escapePointer } from '../governance/references.ts'
import { createSchemaCompiler, type SchemaCompiler } from './schema-compiler.ts'
import { compileBody, type BodyValidator } from './validate-body.ts'
import { compileParameters, type ParameterValidator } from './validate-parameters.ts'

export type { ValidationFailure } from './validation-failure.ts'

export interface OperationValidators {
  readonly parameters: ParameterValidator | null
  readonly body: BodyValidator | null
}

const NOTHING: OperationValidators = { parameters: null, body: null }

/** In the order of `plan.operations`. Throws `Problem('specification_invalid')` where a schema cannot be compiled. */
export async function compileValidators(plan: RoutePlan): Promise<readonly OperationValidators[]> {
  const compiler = createSchemaCompiler(plan)
  const compiled: OperationValidators[] = []
  for (const operation of plan.operations) {
    compiled.push(compileOperation(operation, plan, compiler))
    await nextTurn()
  }
  return compiled
}

function compileOperation(
  operation: OperationPlan,
  { components }: RoutePlan,
  compiler: SchemaCompiler,
): OperationValidators {
  const { operationId, path, method, body } = operation
  if (body === null && operation.parameters.length === 0) return NOTHING
  try {
    return {
      parameters: compileParameters(operation, components, compiler),
      body: body === null ? null : compileBody(body, components, compiler),
    }
  } catch (cause) {
    const message = cause instanceof Error ? cause.message : String(cause)
    const pointer = `/paths/${escapePointer(path)}/${method.toLowerCase()}`
    throw new Problem('specification_invalid', 'A schema of the document cannot be compiled.', {
      errors: [{ pointer, detail: `${operationId}: ${message.slice(0, 300)}` }],
      cause,
    })
  }
}
