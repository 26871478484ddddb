/** Compiles the parameters of an operation, including those of its path item, and its body for the validation of requests. */

import type { ProblemPointer } from '../../../foundation/domain/problem.ts'
import { fieldsOf, type Fields } from '../../../foundation/json/fields.ts'
import type { DeclaredOperation } from '../operations.ts'
import { shorten } from './mcp-exposure.ts'
import { escapePointer, resolvePointer } from '../../../foundation/json/references.ts'
import type { BodyPlan, ParameterPlan } from '../../../boundary/plan/route-plan.ts'
import type { SchemaStore } from '../../../boundary/schema/schema-store.ts'

export interface RequestCompilerOptions {
  readonly document: Fields
  readonly schemas: SchemaStore
  readonly faults: ProblemPointer[]
  /** Retains the descriptions of parameters. */
  readonly hasProse: boolean
}

export interface RequestCompiler {
  parameters(operation: DeclaredOperation): readonly ParameterPlan[]
  body(operation: DeclaredOperation): BodyPlan | null
}

const BODY_BYTES_MAX = 1024 * 1024
/** Limited, because validated bodies are buffered in memory. */
const BODY_BYTES_LIMIT = 64 * 1024 * 1024
/** Header parameters that OpenAPI tells implementations to ignore. */
const NOT_PARAMETERS: ReadonlySet<string> = new Set(['accept', 'content-type', 'authorization'])
const STYLES = { path: 'simple', header: 'simple', query: 'form', cookie: 'form' } as const
/** Without parameters of the media type. */
const JSON_TYPE = /^(?:(?:application|text)\/json|[^;]+\+json)\s*(?:;|$)/i
const REFERENCES_MAX = 16
const DESCRIPTION_LENGTH_MAX = 300

export function createRequestCompiler(options: RequestCompilerOptions): RequestCompiler {
  return {
    parameters({ fields, shared, pointer, itemPointer }) {
      const own = Array.isArray(fields['parameters']) ? (fields['parameters'] as readonly unknown[]) : []
      // Parameters of the operation replace those of the path item with the same name and place.
      const plans = new Map<string, ParameterPlan>()
      const add = (items: readonly unknown[], at: string): void => {
        items.forEach((item, index) => {
          const plan = toParameter(options, item, `${at}/parameters/${index}`)
          if (plan !== null) plans.set(`${plan.in} ${plan.in === 'header' ? plan.name.toLowerCase() : plan.name}`, plan)
        })
      }
      add(shared, itemPointer)
      add(own, pointer)
      return [...plans.values()]
    },
    body: (operation) => toBody(options, operation),
  }
}

function toParameter(options: RequestCompilerOptions, item: unknown, pointer: string): ParameterPlan | null {
  const { fields, pointer: at } = follow(options, item, pointer)
  const { name, in: place, style: declared, explode, schema, content, required, description } = fields
  if (typeof name !== 'string' || typeof place !== 'string' || !Object.hasOwn(STYLES, place)) return null
  if (place === 'header' && NOT_PARAMETERS.has(name.toLowerCase())) return null
  const where = place as ParameterPlan['in']
  const style = typeof declared === 'string' ? declared : STYLES[where]
  const json = schema === undefined ? jsonContentOf(content, at) : null
  const isShared = at !== pointer
  return {
    name,
    in: where,
    required: required === true || where === 'path',
    style,
    explode: typeof explode === 'boolean' ? explode : style === 'form',
    ...(json === null
      ? { schema: schema === undefined ? null : convert(options, schema, `${at}/schema`, isShared) }
      : { schema: convert(options, json.schema, json.pointer, isShared), isJson: true }),
    ...(options.hasProse &&
      typeof description === 'string' && { description: shorten(description, DESCRIPTION_LENGTH_MAX) }),
    pointer: at,
  }
}

/** The schema of a parameter that is JSON text; null if it is not, or has no schema. */
function jsonContentOf(content: unknown, pointer: string) {
  const [entry] = Object.entries(fieldsOf(content))
  if (entry === undefined || !JSON_TYPE.test(entry[0])) return null
  const { schema } = fieldsOf(entry[1])
  return schema === undefined ? null : { schema, pointer: `${pointer}/content/${escapePointer(entry[0])}/schema` }
}

function toBody(options: RequestCompilerOptions, { fields: operation, pointer }: DeclaredOperation): BodyPlan | null {
  if (operation['requestBody'] === undefined) return null
  const start = `${pointer}/requestBody`
  const { fields, pointer: at } = follow(options, operation['requestBody'], start)
  const content = Object.entries(fieldsOf(fields['content'])).map(([mediaType, media]) => {
    const { schema } = fieldsOf(media)
    const place = `${at}/content/${escapePointer(mediaType)}/schema`
    const isUnvalidated = schema === undefined || isBinary(schema)
    const plan = isUnvalidated ? null : acceptsAll(schema) || convert(options, schema, place, at !== start)
    return [(mediaType.split(';')[0] ?? '').trim().toLowerCase(), plan] as const
  })
  return {
    required: fields['required'] === true,
    bytesMax: readBytesMax(operation['x-tollgate-max-body-bytes'], pointer, options.faults),
    content: Object.fromEntries(content),
  }
}

function follow(
  { document }: RequestCompilerOptions,
  value: unknown,
  pointer: string,
): { readonly fields: Fields; readonly pointer: string } {
  let fields = fieldsOf(value)
  let at = pointer
  // A longer chain is a fault.
  for (let count = 0; typeof fields['$ref'] === 'string' && count < REFERENCES_MAX; count++) {
    at = fields['$ref'].slice(1)
    fields = fieldsOf(resolvePointer(document, fields['$ref']))
  }
  return { fields, pointer: at }
}

/** Stores the schema of a shared parameter or body once, by converting a reference to it. */
function convert({ schemas }: RequestCompilerOptions, schema: unknown, pointer: string, isShared: boolean): unknown {
  return schemas.convert(isShared ? { $ref: `#${pointer}` } : schema, pointer)
}

/** A body with such a schema must still be valid JSON. */
function acceptsAll(schema: unknown): boolean {
  return schema === true || (schema !== false && Object.keys(fieldsOf(schema)).length === 0)
}

function isBinary(schema: unknown): boolean {
  const { type, format } = fieldsOf(schema)
  return type === 'string' && format === 'binary'
}

/** Returns the limit of a validated body, from `x-tollgate-max-body-bytes`. */
export function readBytesMax(value: unknown, pointer: string, faults: ProblemPointer[]): number {
  if (value === undefined) return BODY_BYTES_MAX
  if (typeof value === 'number' && Number.isInteger(value) && value > 0 && value <= BODY_BYTES_LIMIT) return value
  const at = `${pointer}/x-tollgate-max-body-bytes`
  faults.push({ pointer: at, detail: `The value must be an integer from 1 to ${BODY_BYTES_LIMIT} (bytes).` })
  return BODY_BYTES_MAX
}
