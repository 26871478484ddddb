/**
 * Validates the parameters of a request against its operation: path, query, header and cookie.
 *
 * Compiled once; parameters without a schema cost nothing. Undeclared parameters are forwarded.
 */

import type { OperationPlan, ParameterPlan, RoutePlan } from '../../boundary/plan/route-plan.ts'
import type { ProblemPointer } from '../../foundation/domain/problem.ts'
import { escapePointer } from '../../foundation/json/references.ts'
import { isReadable } from '../../boundary/plan/parameter-style.ts'
import { parseJsonBody } from '../../foundation/json/parse-json-body.ts'
import { parsePairs, readCookie, readHeader, readPath, readQuery, UNREADABLE, type RawValues } from './parameters.ts'
import type { OperationRequest } from '../routing/operation-request.ts'
import type { RouteMatch } from '../routing/route-table.ts'
import type { Check, SchemaCompiler } from '../../boundary/schema/schema-compiler.ts'
import { toShape, toTyped, type Shape } from './shape.ts'
import { invalid, toPointers, type ValidationFailure } from './validation-failure.ts'

export interface ParameterValidator {
  (match: RouteMatch, request: OperationRequest, queryAt: number): ValidationFailure | null
}

interface CompiledParameter {
  readonly plan: ParameterPlan
  readonly shape: Shape
  /** Position among the parameters of the path template. */
  readonly position: number
  readonly check: Check | null
  /** Pointer of the parameter in errors, such as `/query/limit`. */
  readonly pointer: string
}

/** Returns null if there is nothing to validate. */
export function compileParameters(
  { path, parameters: plans }: OperationPlan,
  components: RoutePlan['components'],
  compiler: SchemaCompiler,
): ParameterValidator | null {
  const names = [...path.matchAll(/\{([^{}]*)\}/g)].map(([, name]) => name)
  const parameters = plans
    .filter((plan) => isReadable(plan) && !isEmpty(plan))
    .map((plan) => ({
      plan,
      // The members of a JSON text have their types already.
      shape: toShape(plan.isJson === true ? true : plan.schema, components),
      position: names.indexOf(plan.name),
      check: acceptsAll(plan.schema) ? null : compile(plan, compiler),
      pointer: `/${plan.in}/${escapePointer(plan.name)}`,
    }))
  if (parameters.length === 0) return null
  const hasQuery = parameters.some(({ plan }) => plan.in === 'query')

  return (match, request, queryAt) => {
    const query = hasQuery ? parsePairs((request.url ?? '').slice(queryAt + 1)) : null
    if (hasQuery && query === null) return invalid('The query has too many parts.')
    let errors: ProblemPointer[] | null = null
    for (let index = 0; index < parameters.length; index++) {
      const found = validateOne(parameters[index]!, match, request, query)
      if (found !== null) errors = errors === null ? found : [...errors, ...found]
    }
    return errors === null ? null : invalid('The parameters do not match their schemas.', errors)
  }
}

/** Earlier versions accepted any schema of a JSON text: one that cannot be compiled is not checked. */
function compile({ schema, isJson }: ParameterPlan, compiler: SchemaCompiler): Check | null {
  try {
    return compiler.compile(schema)
  } catch (cause) {
    if (isJson === true) return null
    throw cause
  }
}

/** Whether every request is valid for the parameter; a path parameter is always present. */
function isEmpty({ schema, in: place, required }: ParameterPlan): boolean {
  if (place === 'path') return acceptsAll(schema) || JSON.stringify(schema) === '{"type":"string"}'
  return acceptsAll(schema) && !required
}

function acceptsAll(schema: unknown): boolean {
  return schema === null || schema === true || (typeof schema === 'object' && Object.keys(schema).length === 0)
}

function validateOne(
  { plan, shape, position, check, pointer }: CompiledParameter,
  match: RouteMatch,
  request: OperationRequest,
  query: RawValues | null,
): ProblemPointer[] | null {
  const value = read(plan, shape, position, match, request, query)
  if (value === undefined) return plan.required ? [{ pointer, detail: 'is required' }] : null
  if (value === UNREADABLE) return [{ pointer, detail: 'cannot be decoded' }]
  if (check === null) return null
  if (plan.isJson === true) return validateJson(value, check, pointer)
  const errors = check(value)
  if (errors === null) return null
  // The schema may accept the text as a number, such as `anyOf` an integer and an enum of texts.
  const typed = typeof value === 'string' ? toTyped(value, shape.types) : value
  if (typed !== value && check(typed) === null) return null
  return toPointers(errors, pointer)
}

/** A parameter that occurs twice is refused, because the backend might read the other value. */
function validateJson(value: unknown, check: Check, pointer: string): ProblemPointer[] | null {
  if (typeof value !== 'string') return [{ pointer, detail: 'must occur once' }]
  const result = parseJsonBody(Buffer.from(value))
  if ('fault' in result) return [{ pointer, detail: 'is not valid JSON' }]
  const errors = check(result.value)
  return errors === null ? null : toPointers(errors, pointer)
}

function read(
  plan: ParameterPlan,
  shape: Shape,
  position: number,
  match: RouteMatch,
  request: OperationRequest,
  query: RawValues | null,
): unknown {
  switch (plan.in) {
    case 'path':
      return readPath(plan, shape, match.parameters[position])
    case 'query':
      return query === null ? undefined : readQuery(plan, shape, query)
    case 'header':
      return readHeader(plan, shape, request)
    case 'cookie':
      return readCookie(plan, shape, request)
  }
}
