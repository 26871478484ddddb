/**
 * Compiles the schemas of one revision with ajv.
 *
 * Schemas come from strangers, so `pattern`s run on a linear engine (RE2): in a serving thread nothing
 * could interrupt a backtracking one. Unknown keywords and formats are passed over, as JSON Schema
 * says; of a body's faults all are told, up to a bound. OpenAPI 3.0's `nullable` is known to ajv, its
 * boolean bounds are rewritten.
 */

import { Ajv } from 'ajv'
import { Ajv2020, type ValidateFunction } from 'ajv/dist/2020.js'
import formats from 'ajv-formats'
import { RE2JS } from 're2js'
import type { RoutePlan } from '../catalogue/route-plan.ts'

export interface SchemaCompiler {
  compile(schema: unknown): ValidateFunction
}

const COMPONENTS_ID = 'urn:tollgate:document'

export function createSchemaCompiler({
  dialect,
  components,
}: Pick<RoutePlan, 'dialect' | 'components'>): SchemaCompiler {
  const options = {
    strict: false,
    allErrors: false,
    validateFormats: true,
    logger: false,
    addUsedSchema: false,
    code: { regExp: linearRegExp },
  } as const
  const ajv = dialect === '3.1' ? new Ajv2020(options) : new Ajv({ ...options, meta: false, validateSchema: false })
  formats.default(ajv as Parameters<typeof formats.default>[0])
  const adapt = dialect === '3.0' ? adaptBounds : (schema: unknown): unknown => schema
  ajv.addSchema({ $id: COMPONENTS_ID, components: adapt(components) }, COMPONENTS_ID)

  return {
    compile: (schema) => ajv.compile(rebase(adapt(schema)) as object),
  }
}

/** Points `#/components/…` at the document that was added above. */
function rebase(schema: unknown): unknown {
  if (Array.isArray(schema)) return schema.map(rebase)
  if (typeof schema !== 'object' || schema === null) return schema
  return Object.fromEntries(
    Object.entries(schema).map(([key, value]) =>
      key === '$ref' && typeof value === 'string' && value.startsWith('#/')
        ? [key, `${COMPONENTS_ID}${value}`]
        : [key, rebase(value)],
    ),
  )
}

/** `exclusiveMinimum: true` of OpenAPI 3.0 is `exclusiveMinimum: <minimum>` of JSON Schema. */
function adaptBounds(schema: unknown): unknown {
  if (Array.isArray(schema)) return schema.map(adaptBounds)
  if (typeof schema !== 'object' || schema === null) return schema
  const adapted: Record<string, unknown> = Object.fromEntries(
    Object.entries(schema).map(([key, value]) => [key, adaptBounds(value)]),
  )
  for (const [exclusive, bound] of [
    ['exclusiveMinimum', 'minimum'],
    ['exclusiveMaximum', 'maximum'],
  ] as const) {
    if (typeof adapted[exclusive] !== 'boolean') continue
    const isExclusive = adapted[exclusive]
    delete adapted[exclusive]
    if (isExclusive && typeof adapted[bound] === 'number') {
      adapted[exclusive] = adapted[bound]
      delete adapted[bound]
    }
  }
  return adapted
}

const linearRegExp = Object.assign(
  (pattern: string): { test: (text: string) => boolean } => {
    const compiled = RE2JS.compile(pattern)
    return { test: (text) => compiled.matcher(text).find() }
  },
  { code: 'linearRegExp' },
)
