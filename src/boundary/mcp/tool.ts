/** A tool: an operation as a model sees it. */

import { isJson } from '../../foundation/domain/media-type.ts'
import type { OperationPlan, ParameterPlan, RoutePlan } from '../plan/route-plan.ts'
import { fieldsOf, type Fields } from '../../foundation/json/fields.ts'
import { inlineSchema, type InlineOptions } from './inline-schema.ts'
import { toToolArguments, type AcceptsHeader, type ToolArguments } from './tool-arguments.ts'

export interface Tool extends ToolArguments {
  readonly name: string
  /** The definition, as JSON. */
  readonly text: string
  /** Where a result contains the value of a JSON response; null if the tool has no output schema. */
  readonly output: 'root' | 'result' | null
}

const PARTS_MAX = 200
const OUTPUT_PARTS_MAX = 80
const SMALL_PARTS_MAX = 40
/** Above this length the schemas of a tool are cut at `SMALL_PARTS_MAX` parts, and it has no output schema. */
const TEXT_LENGTH_MAX = 16_384
const READING: ReadonlySet<string> = new Set(['GET', 'HEAD', 'OPTIONS', 'TRACE'])
const IDEMPOTENT: ReadonlySet<string> = new Set([...READING, 'PUT', 'DELETE'])

/** The parts of a plan that describe the schemas of its operations. */
type Plan = Pick<RoutePlan, 'components' | 'responses' | 'responseComponents'>

export function toTool(name: string, operation: OperationPlan, plan: Plan, acceptsHeader: AcceptsHeader): Tool {
  const args = toToolArguments(operation, acceptsHeader)
  const output = toOutputSchema(operation, plan)
  const text = JSON.stringify(toDefinition(name, operation, args, plan, PARTS_MAX, output))
  if (text.length <= TEXT_LENGTH_MAX) return { ...args, name, text, output: outputPlace(output) }
  const short = JSON.stringify(toDefinition(name, operation, args, plan, SMALL_PARTS_MAX, null))
  return { ...args, name, text: short, output: null }
}

function toDefinition(
  name: string,
  operation: OperationPlan,
  args: ToolArguments,
  plan: Plan,
  partsMax: number,
  output: Fields | null,
): object {
  const { summary, method } = operation
  const isReading = READING.has(method)
  return {
    name,
    ...(summary !== undefined && { title: summary }),
    description: describe(operation),
    inputSchema: toInputSchema(args, plan, partsMax),
    ...(output !== null && { outputSchema: outputPlace(output) === 'root' ? output : wrap(output) }),
    annotations: {
      ...(summary !== undefined && { title: summary }),
      readOnlyHint: isReading,
      // The effect of a POST is unknown, and the default of the specification is destructive.
      ...(method !== 'POST' && { destructiveHint: !isReading }),
      idempotentHint: IDEMPOTENT.has(method),
    },
  }
}

function describe({ summary, description, method, path }: OperationPlan): string {
  return [summary, description === summary ? undefined : description, `${method} ${path}`]
    .filter((part) => part !== undefined)
    .join('\n\n')
}

function toInputSchema({ parameters, body }: ToolArguments, { components }: Plan, partsMax: number): object {
  const options: InlineOptions = { schemas: fieldsOf(components['schemas']), isResult: false, partsMax }
  const properties: [string, unknown][] = []
  const required: string[] = []
  for (const [name, parameter] of parameters) {
    properties.push([name, toParameterSchema(parameter, options)])
    if (parameter.required) required.push(name)
  }
  if (body !== null) {
    const schema = body.kind === 'text' ? { type: 'string' } : inlineSchema(body.schema, options)
    const prose = 'description' in schema ? {} : { description: `The body of the request, as ${body.mediaType}.` }
    properties.push([body.name, { ...schema, ...prose }])
    if (body.isRequired) required.push(body.name)
  }
  return {
    type: 'object',
    properties: Object.fromEntries(properties),
    ...(required.length > 0 && { required }),
    additionalProperties: false,
  }
}

function toParameterSchema(parameter: ParameterPlan, options: InlineOptions): object {
  const { description } = parameter
  return { ...inlineSchema(parameter.schema, options), ...(description !== undefined && { description }) }
}

/** Returns the schema of a success; null unless every declared success is JSON with a schema. */
function toOutputSchema({ responses }: OperationPlan, plan: Plan): Fields | null {
  const successes = responses
    .map((position) => plan.responses[position]!)
    .filter(({ status }) => status.startsWith('2'))
  const schemas = successes.map(({ content }) => {
    const entries = Object.entries(content ?? {})
    return entries.length > 0 && entries.every(([type]) => isJson(type)) ? (entries[0]?.[1] ?? null) : null
  })
  if (schemas.length === 0 || schemas.includes(null)) return null
  const components = fieldsOf(plan.responseComponents['schemas'])
  const options = { schemas: components, isResult: true, partsMax: OUTPUT_PARTS_MAX }
  const inlined = schemas.map((schema) => inlineSchema(schema, options))
  return inlined.length === 1 ? inlined[0]! : { anyOf: inlined }
}

/** Revision 2025-11-25 requires an object at the root, so any other value is a member of one. */
function outputPlace(schema: Fields | null): Tool['output'] {
  if (schema === null) return null
  return schema['type'] === 'object' ? 'root' : 'result'
}

function wrap(schema: Fields): object {
  return { type: 'object', properties: { result: schema }, required: ['result'] }
}
