/** The parameters of an operation, those of its path item included, and its body: what a request is held to. */

import type { ProblemPointer } from '../domain/problem.ts'
import { fieldsOf, type Fields } from '../json/fields.ts'
import type { DeclaredOperation } from '../governance/operations.ts'
import { escapePointer, resolvePointer } from '../json/references.ts'
import type { BodyPlan, ParameterPlan } from '../plan/route-plan.ts'
import type { SchemaStore } from '../schema/schema-store.ts'

export interface RequestCompilerOptions {
  readonly document: Fields
  readonly schemas: SchemaStore
  readonly faults: ProblemPointer[]
}

export interface RequestCompiler {
  parameters(operation: DeclaredOperation): readonly ParameterPlan[]
  body(operation: DeclaredOperation): BodyPlan | null
}

const BODY_BYTES_MAX = 1024 * 1024
/** Bodies that are validated are held in memory. */
const BODY_BYTES_LIMIT = 64 * 1024 * 1024
/** Headers that OpenAPI says are not parameters, whatever a document declares. */
const NOT_PARAMETERS: ReadonlySet<string> = new Set(['accept', 'content-type', 'authorization'])
const STYLES = { path: 'simple', header: 'simple', query: 'form', cookie: 'form' } as const
const REFERENCES_MAX = 16

export function createRequestCompiler({ document, schemas, faults }: RequestCompilerOptions): RequestCompiler {
  function follow(value: unknown, pointer: string): { readonly fields: Fields; readonly pointer: string } {
    let fields = fieldsOf(value)
    let at = pointer
    for (let count = 0; typeof fields['$ref'] === 'string'; count++) {
      if (count === REFERENCES_MAX) {
        faults.push({ pointer, detail: 'The chain of references is too long.' })
        return { fields: {}, pointer }
      }
      at = fields['$ref'].slice(1)
      fields = fieldsOf(resolvePointer(document, fields['$ref']))
    }
    return { fields, pointer: at }
  }

  /** A schema that many refer to is kept once: what lies behind a reference is referred to again. */
  function takeSchema(schema: unknown, pointer: string, isShared: boolean): unknown {
    return schemas.take(isShared ? { $ref: `#${pointer}` } : schema, pointer)
  }

  function toParameter(item: unknown, pointer: string): ParameterPlan | null {
    const { fields, pointer: at } = follow(item, pointer)
    const { name, in: place, style: declared, explode, schema, required } = fields
    if (typeof name !== 'string' || typeof place !== 'string' || !Object.hasOwn(STYLES, place)) return null
    if (place === 'header' && NOT_PARAMETERS.has(name.toLowerCase())) return null
    const where = place as ParameterPlan['in']
    const style = typeof declared === 'string' ? declared : STYLES[where]
    return {
      name,
      in: where,
      required: required === true || where === 'path',
      style,
      explode: typeof explode === 'boolean' ? explode : style === 'form',
      schema: schema === undefined ? null : takeSchema(schema, `${at}/schema`, at !== pointer),
      pointer: at,
    }
  }

  return {
    parameters({ fields, shared, pointer, itemPointer }) {
      const own = Array.isArray(fields['parameters']) ? (fields['parameters'] as readonly unknown[]) : []
      // Parameters of the operation replace those of the path item with the same name and place.
      const plans = new Map<string, ParameterPlan>()
      const add = (items: readonly unknown[], at: string): void => {
        items.forEach((item, index) => {
          const plan = toParameter(item, `${at}/parameters/${index}`)
          if (plan !== null) plans.set(`${plan.in} ${plan.in === 'header' ? plan.name.toLowerCase() : plan.name}`, plan)
        })
      }
      add(shared, itemPointer)
      add(own, pointer)
      return [...plans.values()]
    },

    body({ fields: operation, pointer }) {
      if (operation['requestBody'] === undefined) return null
      const start = `${pointer}/requestBody`
      const { fields, pointer: at } = follow(operation['requestBody'], start)
      const content = Object.entries(fieldsOf(fields['content'])).map(([mediaType, media]) => {
        const { schema } = fieldsOf(media)
        const place = `${at}/content/${escapePointer(mediaType)}/schema`
        const isUnbound = schema === undefined || isBinary(schema)
        const plan = isUnbound ? null : isOpen(schema) || takeSchema(schema, place, at !== start)
        return [(mediaType.split(';')[0] ?? '').trim().toLowerCase(), plan] as const
      })
      return {
        required: fields['required'] === true,
        bytesMax: readBytesMax(operation['x-tollgate-max-body-bytes'], pointer, faults),
        content: Object.fromEntries(content),
      }
    },
  }
}

/** A schema that takes any value: what is sent as JSON must still be JSON. */
function isOpen(schema: unknown): boolean {
  return schema === true || (schema !== false && Object.keys(fieldsOf(schema)).length === 0)
}

function isBinary(schema: unknown): boolean {
  const { type, format } = fieldsOf(schema)
  return type === 'string' && format === 'binary'
}

function readBytesMax(value: unknown, pointer: string, faults: ProblemPointer[]): number {
  if (value === undefined) return BODY_BYTES_MAX
  if (typeof value === 'number' && Number.isInteger(value) && value > 0 && value <= BODY_BYTES_LIMIT) return value
  const at = `${pointer}/x-tollgate-max-body-bytes`
  faults.push({ pointer: at, detail: `The value must be an integer from 1 to ${BODY_BYTES_LIMIT} (bytes).` })
  return BODY_BYTES_MAX
}
