/** Finds the schemas of a plan that cannot be compiled, with their places in the document. */

import { Ajv2020, type ValidateFunction } from 'ajv/dist/2020.js'
import formats from 'ajv-formats'
import type { ProblemPointer } from '../../foundation/domain/problem.ts'
import { escapePointer } from '../../foundation/json/references.ts'
import { toPreciseFaults } from '../../foundation/json/precise-errors.ts'
import type { RoutePlan } from '../plan/route-plan.ts'
import { findEndlessSchemas } from './endless-schemas.ts'
import { referenceDepth } from './reference-depth.ts'
import { referencedFirst } from './reference-order.ts'
import { createSchemaCompiler } from './schema-compiler.ts'

export interface SchemaFaultsOptions extends Pick<RoutePlan, 'components'> {
  /** Schemas of parameters and bodies. */
  readonly schemas: readonly unknown[]
  /** Places of converted schemas in the document. */
  readonly places: WeakMap<object, string>
  /** Faults that the conversion of the schemas found. */
  readonly known: readonly ProblemPointer[]
  /** Whether a schema has `unevaluatedProperties` or `unevaluatedItems`. */
  readonly hasUnevaluated: boolean
}

const METASCHEMA = 'https://json-schema.org/draft/2020-12/schema'
const MESSAGE_LENGTH_MAX = 300
/** Failed attempts, since each one compiles all of its references again. */
const FAILURES_MAX = 10
/** The smallest stack, that of a main thread, is enough for more than twice as many. */
const LEVELS_MAX = 300

/**
 * The metaschema finds invalid schemas and gives the place of an error. A valid schema compiles, unless its references are nested
 * too deeply or its unevaluated keywords depend on too much; because of these all schemas are compiled, which takes longer.
 */
export function findSchemaFaults(options: SchemaFaultsOptions): ProblemPointer[] {
  const { components, schemas, known } = options
  const named = namedIn(components)
  const places = new Set(known.map(({ pointer }) => pointer))
  const invalid = [...Object.values(named), ...schemas].flatMap((schema) => findInvalid(schema, options))
  const faults = invalid.filter(({ pointer }) => !places.has(pointer))
  for (const name of findEndlessSchemas(named)) {
    const pointer = placeIn(named[name], '', options.places)
    const detail = 'The schema applies itself to the same value, so that validation has no end.'
    faults.push({ pointer, detail })
  }
  const { levels, name } = referenceDepth(named, referencedFirst(named))
  if (levels > LEVELS_MAX) {
    const detail = `The schema and those that it refers to are nested more than ${LEVELS_MAX} levels deep.`
    faults.push({ pointer: placeIn(named[name], '', options.places), detail })
  }
  return faults.length > 0 || known.length > 0 || !options.hasUnevaluated ? faults : findUncompiled(options)
}

function namedIn(components: RoutePlan['components']): Readonly<Record<string, unknown>> {
  return (components['schemas'] ?? {}) as Readonly<Record<string, unknown>>
}

let metaschema: ValidateFunction | null = null

function findInvalid(schema: unknown, { places }: SchemaFaultsOptions): ProblemPointer[] {
  const validate = (metaschema ??= compileMetaschema())
  if (validate(schema)) return []
  return toPreciseFaults(validate.errors ?? []).map(({ pointer, detail }) => ({
    pointer: placeIn(schema, pointer, places),
    detail,
  }))
}

function compileMetaschema(): ValidateFunction {
  const ajv = new Ajv2020({ strict: false, logger: false, allErrors: true })
  formats.default(ajv as unknown as Parameters<typeof formats.default>[0])
  // The linear engine decides on patterns.
  ajv.addFormat('regex', true)
  const validate = ajv.getSchema(METASCHEMA)
  if (validate === undefined) throw new Error('ajv has no metaschema of JSON Schema 2020-12')
  return validate
}

/** Compiles in the order of the gateway: each component after those that it refers to. */
function findUncompiled({ components, schemas, places }: SchemaFaultsOptions): ProblemPointer[] {
  const named = namedIn(components)
  const compiler = createSchemaCompiler({ components })
  /** By message, because a schema also fails if one that it refers to does. */
  const faults = new Map<string, ProblemPointer>()
  let failures = 0
  const attempt = (schema: unknown, place: string): void => {
    if (failures >= FAILURES_MAX) return
    try {
      compiler.compile(schema)
    } catch (cause) {
      // Every schema that refers to one that is too large fails at its depth.
      failures += cause instanceof RangeError ? FAILURES_MAX : 1
      const message = cause instanceof RangeError ? 'it is too large' : messageOf(cause)
      if (!faults.has(message))
        faults.set(message, { pointer: place, detail: `The schema cannot be compiled: ${message}.` })
    }
  }
  for (const name of referencedFirst(named)) {
    attempt({ $ref: `#/components/schemas/${escapePointer(name)}` }, placeIn(named[name], '', places))
  }
  for (const schema of schemas) attempt(schema, placeIn(schema, '', places))
  return [...faults.values()]
}

/** Returns the place in the document of a part of a converted schema. */
function placeIn(schema: unknown, pointer: string, places: WeakMap<object, string>): string {
  let [value, place, rest] = [schema, placeOf(schema, places) ?? '', '']
  for (const part of pointer.split('/').slice(1)) {
    value = (value as Record<string, unknown> | null)?.[part.replaceAll('~1', '/').replaceAll('~0', '~')]
    const known = placeOf(value, places)
    if (known === undefined) rest += `/${part}`
    else [place, rest] = [known, '']
  }
  return place + rest
}

function placeOf(value: unknown, places: WeakMap<object, string>): string | undefined {
  return typeof value === 'object' && value !== null ? places.get(value) : undefined
}

function messageOf(cause: unknown): string {
  return (cause instanceof Error ? cause.message : String(cause)).slice(0, MESSAGE_LENGTH_MAX)
}
