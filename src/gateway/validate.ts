/**
 * Validates requests against what their operation declares: parameters, media type, body.
 *
 * Compiled at activation, an operation at a time with a turn of the event loop between, so that a
 * serving thread is never held for long. What an operation does not declare costs nothing. A failure
 * names places by JSON pointer and never repeats what the caller sent.
 */

import type { IncomingMessage } from 'node:http'
import { setImmediate as nextTurn } from 'node:timers/promises'
import type { ErrorObject, ValidateFunction } from 'ajv'
import type { BodyPlan, OperationPlan, ParameterPlan, RoutePlan } from '../catalogue/route-plan.ts'
import { Problem, type ProblemPointer } from '../domain/problem.ts'
import { isJson, parseMediaType } from './media-type.ts'
import { parseJsonBody } from './json-body.ts'
import { shapeOf } from './parameter-shape.ts'
import { parseQuery, readQueryParameter, readSimple } from './parameters.ts'
import type { RouteMatch } from './route-table.ts'
import { createSchemaCompiler, type SchemaCompiler } from './schema-compiler.ts'

export interface ValidationFailure {
  readonly code: 'payload_invalid' | 'payload_too_large' | 'media_type_unsupported'
  readonly detail: string
  readonly errors: readonly ProblemPointer[]
}

export type BodyWay =
  | { readonly mode: 'none' }
  | { readonly mode: 'stream' }
  | { readonly mode: 'check'; readonly bytesMax: number; readonly check: (body: Buffer) => ValidationFailure | null }

export interface OperationValidators {
  readonly parameters:
    ((match: RouteMatch, request: IncomingMessage, queryAt: number) => ValidationFailure | null) | null
  readonly body: { accepts(contentType: string | undefined, hasBody: boolean): BodyWay | ValidationFailure } | null
}

const ERRORS_MAX = 20
const STREAM: BodyWay = { mode: 'stream' }
const NONE: BodyWay = { mode: 'none' }

/** In the order of `plan.operations`. Throws `Problem('specification_invalid')` where a schema cannot be compiled. */
export async function compileValidators(plan: RoutePlan): Promise<readonly OperationValidators[]> {
  const compiler = createSchemaCompiler(plan)
  const compiled: OperationValidators[] = []
  for (const operation of plan.operations) {
    try {
      compiled.push({
        parameters: compileParameters(operation, compiler, plan.components),
        body: operation.body === null ? null : compileBody(operation.body, compiler),
      })
    } catch (cause) {
      const detail = `${operation.operationId}: ${cause instanceof Error ? cause.message : String(cause)}`
      const pointer = `/paths/${operation.path.replaceAll('~', '~0').replaceAll('/', '~1')}/${operation.method.toLowerCase()}`
      throw new Problem('specification_invalid', 'A schema of the document cannot be compiled.', {
        errors: [{ pointer, detail }],
        cause,
      })
    }
    await nextTurn()
  }
  return compiled
}

interface CompiledParameter {
  readonly plan: ParameterPlan
  /** Position among the parameters of the path template. */
  readonly position: number
  readonly validate: ValidateFunction | null
}

function compileParameters(
  operation: OperationPlan,
  compiler: SchemaCompiler,
  components: RoutePlan['components'],
): OperationValidators['parameters'] {
  const names = [...operation.path.matchAll(/\{([^}]*)\}/g)].map(([, name]) => name)
  const parameters = operation.parameters
    .filter(({ schema, required, in: place }) => schema !== null || (required && place !== 'path'))
    .map((plan) => ({
      plan: { ...plan, schema: shapeOf(plan.schema, components) },
      position: names.indexOf(plan.name),
      validate: plan.schema === null ? null : compiler.compile(plan.schema),
    }))
  if (parameters.length === 0) return null
  const hasQuery = parameters.some(({ plan }) => plan.in === 'query')

  return (match, request, queryAt) => {
    const query = hasQuery ? parseQuery((request.url ?? '').slice(queryAt + 1)) : null
    if (hasQuery && query === null) return failure('The query cannot be read.', [])
    for (const parameter of parameters) {
      const value = readParameter(parameter, match, request, query)
      if (value === undefined) {
        if (parameter.plan.required) return parameterFailure(parameter.plan, 'The parameter is required.')
      } else if (parameter.validate !== null && !parameter.validate(value)) {
        return parameterFailure(parameter.plan, parameter.validate.errors?.[0]?.message ?? 'is not as declared')
      }
    }
    return null
  }
}

function readParameter(
  { plan, position }: CompiledParameter,
  match: RouteMatch,
  request: IncomingMessage,
  query: ReadonlyMap<string, readonly string[]> | null,
): unknown {
  switch (plan.in) {
    case 'path': {
      const text = match.parameters[position]
      return text === undefined ? undefined : readSimple(plan, text)
    }
    case 'query':
      return query === null ? undefined : readQueryParameter(plan, query)
    case 'header': {
      const value = request.headers[plan.name.toLowerCase()]
      return typeof value === 'string' ? readSimple(plan, value) : undefined
    }
    case 'cookie':
      return undefined
  }
}

function compileBody(plan: BodyPlan, compiler: SchemaCompiler): NonNullable<OperationValidators['body']> {
  const ways = new Map<string, BodyWay>()
  for (const [mediaType, schema] of Object.entries(plan.content)) {
    ways.set(
      mediaType,
      schema === null
        ? STREAM
        : { mode: 'check', bytesMax: plan.bytesMax, check: checker(mediaType, schema, compiler) },
    )
  }
  const known = [...ways.keys()].join(', ')

  return {
    accepts(contentType, hasBody) {
      if (!hasBody) return plan.required ? failure('The operation needs a body.', []) : NONE
      const mediaType = contentType === undefined ? null : parseMediaType(contentType)
      const way = mediaType === null ? undefined : wayFor(ways, mediaType)
      if (way !== undefined) return way
      return { code: 'media_type_unsupported', detail: `The operation takes ${known}.`, errors: [] }
    },
  }
}

function wayFor(ways: ReadonlyMap<string, BodyWay>, mediaType: string): BodyWay | undefined {
  return ways.get(mediaType) ?? ways.get(`${mediaType.slice(0, mediaType.indexOf('/'))}/*`) ?? ways.get('*/*')
}

function checker(
  mediaType: string,
  schema: unknown,
  compiler: SchemaCompiler,
): (body: Buffer) => ValidationFailure | null {
  const validate = compiler.compile(schema)
  const read = isJson(mediaType) ? parseJsonBody : mediaType === 'application/x-www-form-urlencoded' ? readForm : null
  if (read === null) return () => null
  return (body) => {
    const result = read(body)
    if ('fault' in result) return failure(result.fault, [])
    return validate(result.value) ? null : failure('The body is not as declared.', toPointers(validate.errors ?? []))
  }
}

function readForm(body: Buffer): { value: unknown } | { fault: string } {
  const fields = parseQuery(body.toString('latin1'))
  if (fields === null) return { fault: 'The form cannot be read.' }
  return {
    value: Object.fromEntries([...fields].map(([name, values]) => [name, values.length === 1 ? values[0] : values])),
  }
}

function toPointers(errors: readonly ErrorObject[]): ProblemPointer[] {
  return errors.slice(0, ERRORS_MAX).map(({ instancePath, message, keyword, params }) => ({
    pointer: instancePath,
    detail:
      keyword === 'additionalProperties'
        ? 'has a member that is not declared'
        : (message ?? `breaks ${keyword}`) + allowed(params),
  }))
}

function allowed(params: Record<string, unknown>): string {
  const values = params['allowedValues']
  return Array.isArray(values) ? `: ${values.slice(0, 20).join(', ')}` : ''
}

function parameterFailure({ name, in: place }: ParameterPlan, detail: string): ValidationFailure {
  return failure(`The ${place} parameter "${name}" is not as declared.`, [{ pointer: `/${place}/${name}`, detail }])
}

function failure(detail: string, errors: readonly ProblemPointer[]): ValidationFailure {
  return { code: 'payload_invalid', detail, errors }
}
