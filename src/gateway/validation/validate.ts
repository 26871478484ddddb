/**
 * Validates requests against their operation: parameters, media type, body.
 *
 * Compiled at activation, in slices, so that a serving thread is not blocked for long (GitHub's document of 1,200
 * operations: 0.5 s in total).
 * Undeclared parts of a request cost nothing.
 */

import type { OperationPlan, RoutePlan } from '../../boundary/plan/route-plan.ts'
import { Problem } from '../../foundation/domain/problem.ts'
import { escapePointer } from '../../foundation/json/references.ts'
import { createPace, type Pace } from '../../foundation/runtime/pace.ts'
import { referencedFirst } from '../../boundary/schema/reference-order.ts'
import { patternsIn, preparePatterns } from '../../boundary/schema/patterns.ts'
import { createSchemaCompiler, type SchemaCompiler } from '../../boundary/schema/schema-compiler.ts'
import { compileBody, type BodyValidator } from './validate-body.ts'
import { compileParameters, type ParameterValidator } from './validate-parameters.ts'

export type { ValidationFailure } from './validation-failure.ts'

export interface OperationValidators {
  readonly parameters: ParameterValidator | null
  readonly body: BodyValidator | null
}

const NOTHING: OperationValidators = { parameters: null, body: null }

/** Returns the validators in the order of `plan.operations`. Throws `Problem('specification_invalid')` if a schema cannot be compiled. */
export async function compileValidators(
  plan: RoutePlan,
  pace: Pace = createPace(),
): Promise<readonly OperationValidators[]> {
  await pace()
  const compiler = createSchemaCompiler(plan)
  await pace()
  const schemas = (plan.components['schemas'] ?? {}) as Readonly<Record<string, unknown>>
  for (const name of referencedFirst(schemas)) {
    await preparePatterns(patternsIn(schemas[name]), compiler, pace)
    const pointer = `/components/schemas/${name}`
    attempt(pointer, name, () => compiler.compile({ $ref: `#${pointer}` }))
    await pace()
  }
  const compiled: OperationValidators[] = []
  for (const operation of plan.operations) {
    await preparePatterns(patternsIn([operation.parameters, operation.body]), compiler, pace)
    compiled.push(compileOperation(operation, plan, compiler))
    await pace()
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
  const pointer = `/paths/${escapePointer(path)}/${method.toLowerCase()}`
  return attempt(pointer, operationId, () => ({
    parameters: compileParameters(operation, components, compiler),
    body: body === null ? null : compileBody(body, components, compiler),
  }))
}

function attempt<Result>(pointer: string, name: string, compile: () => Result): Result {
  try {
    return compile()
  } catch (cause) {
    const message = cause instanceof Error ? cause.message : String(cause)
    const why = cause instanceof RangeError ? 'it is too large' : message.slice(0, 300)
    throw new Problem('specification_invalid', 'A schema of the document cannot be compiled.', {
      errors: [{ pointer, detail: `${name}: ${why}` }],
      cause,
    })
  }
}
