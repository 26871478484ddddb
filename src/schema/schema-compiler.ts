/**
 * Compiles the schemas of one revision with ajv.
 *
 * Schemas and values come from outside, and a validator cannot be interrupted on a serving thread. Everything
 * that could take long is therefore bounded: patterns run on a linear engine, formats apply to short strings
 * only, `uniqueItems` is one pass (ajv compares every pair), and a schema that refers to itself on every
 * branch ends when its steps are used up. Only the first fault of a value is reported, because there could be
 * as many faults as members.
 */

import { str, type ErrorObject } from 'ajv'
import { Ajv2020, type ValidateFunction } from 'ajv/dist/2020.js'
import formats from 'ajv-formats'
import { compileLinear } from '../json/linear-pattern.ts'
import type { RoutePlan } from '../plan/route-plan.ts'
import { compileMultipleOf } from './multiple-of.ts'
import { EQUALS, toAjvSchema } from './to-ajv-schema.ts'
import { hasDuplicates, toCanonicalText } from '../json/canonical-value.ts'
import { addUnevaluated } from './unevaluated.ts'

/** The faults of a value; null where it is as declared. */
export type Check = (value: unknown) => readonly ErrorObject[] | null

export interface SchemaCompiler {
  /** Throws where ajv cannot. */
  compile(schema: unknown): Check
}

const COMPONENTS_ID = 'urn:tollgate:document'
const COMPONENT = `${COMPONENTS_ID}#/components/schemas/`
const STEP = 'x-tollgate-step'
/** References followed for one value; well below what the stack holds. */
const STEPS_MAX = 20_000
const FORMAT_LENGTH_MAX = 4_096
/** Formats of texts that are long by nature, judged in one pass or not at all. */
const LONG_FORMATS: ReadonlySet<string> = new Set(['byte', 'binary', 'password'])

class StepsUsedUp extends Error {}

export function createSchemaCompiler({
  dialect,
  components,
}: Pick<RoutePlan, 'dialect' | 'components'>): SchemaCompiler {
  let steps = 0
  const ajv = new Ajv2020({
    strict: false,
    allErrors: false,
    // 3.0 was judged as a whole when it was read; 3.1 leaves its schemas to their own dialect.
    validateSchema: dialect === '3.1',
    ownProperties: true,
    inlineRefs: false,
    logger: false,
    addUsedSchema: false,
    code: { regExp: linearRegExp },
  })
  formats.default(ajv as unknown as Parameters<typeof formats.default>[0])
  boundFormats(ajv)
  ajv.removeKeyword('uniqueItems')
  ajv.addKeyword({
    keyword: 'uniqueItems',
    type: 'array',
    schemaType: 'boolean',
    errors: false,
    error: { message: 'must not have two equal items' },
    validate: (isUnique: boolean, items: readonly unknown[]) => !isUnique || !hasDuplicates(items),
  })
  ajv.removeKeyword('multipleOf')
  ajv.addKeyword({
    keyword: 'multipleOf',
    type: 'number',
    schemaType: 'number',
    errors: false,
    error: { message: ({ schemaCode }) => str`must be multiple of ${schemaCode}` },
    compile: compileMultipleOf,
  })
  ajv.addKeyword({
    keyword: EQUALS,
    schemaType: 'array',
    errors: false,
    error: { message: 'must be equal to one of the allowed values' },
    compile: (values: readonly unknown[]) => {
      const allowed = new Set(values.map(toCanonicalText))
      return (value) => allowed.has(toCanonicalText(value))
    },
  })
  ajv.addKeyword({
    keyword: STEP,
    before: '$ref',
    schema: false,
    errors: false,
    validate: () => {
      charge(1)
      return true
    },
  })
  const schemas = withSteps(components)
  const unevaluated = addUnevaluated({
    ajv,
    resolve: (reference) => schemas[reference.slice(COMPONENT.length)],
    charge,
  })
  ajv.addSchema({ $id: COMPONENTS_ID, components: { schemas } }, COMPONENTS_ID)

  /** By text: the same parameters come back in operation after operation. */
  const compiled = new Map<string, Check>()

  return {
    compile(schema) {
      const text = JSON.stringify(schema)
      const known = compiled.get(text)
      if (known !== undefined) return known
      unevaluated.begin()
      const check = toCheck(ajv.compile(toAjvSchema(schema, COMPONENTS_ID) as object))
      compiled.set(text, check)
      return check
    },
  }

  function charge(count: number): void {
    steps -= count
    if (steps < 0) throw new StepsUsedUp()
  }

  function toCheck(validate: ValidateFunction): Check {
    return (value) => {
      steps = STEPS_MAX
      try {
        return validate(value) ? null : (validate.errors ?? [])
      } catch (cause) {
        if (cause instanceof StepsUsedUp || cause instanceof RangeError) return TOO_INTRICATE
        throw cause
      }
    }
  }
}

const TOO_INTRICATE: readonly ErrorObject[] = [
  {
    keyword: STEP,
    instancePath: '',
    schemaPath: '',
    params: {},
    message: 'takes more steps to validate than are granted',
  },
]

type Schemas = Readonly<Record<string, unknown>>

/** All that can repeat passes through a reference: what is referred to counts its steps. */
function withSteps(components: RoutePlan['components']): Schemas {
  const schemas = Object.entries((components['schemas'] ?? {}) as Schemas).map(([name, schema]) => {
    const based = toAjvSchema(schema, COMPONENTS_ID)
    return [name, typeof based === 'object' && based !== null ? { ...based, [STEP]: true } : based] as const
  })
  return Object.fromEntries(schemas)
}

function boundFormats(ajv: Ajv2020): void {
  for (const [name, format] of Object.entries(ajv.formats)) {
    if (LONG_FORMATS.has(name) || format === undefined || typeof format === 'boolean' || typeof format === 'string')
      continue
    const inner: unknown = typeof format === 'object' && 'validate' in format ? format.validate : format
    const test =
      inner instanceof RegExp
        ? (text: string) => inner.test(text)
        : typeof inner === 'function'
          ? (inner as (text: string) => boolean)
          : null
    if (test === null || (typeof format === 'object' && 'type' in format && format.type === 'number')) continue
    ajv.addFormat(name, (text: string) => text.length <= FORMAT_LENGTH_MAX && test(text))
  }
}

const linearRegExp = Object.assign(
  (pattern: string): { test: (text: string) => boolean } => {
    const compiled = compileLinear(pattern)
    if (compiled === null) throw new Error(`the pattern cannot be matched in linear time: ${pattern.slice(0, 80)}`)
    return compiled
  },
  { code: 'linearRegExp' },
)
