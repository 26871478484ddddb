/**
 * Compiles the schemas of one revision with ajv.
 *
 * Schemas and values come from outside, and a validator cannot be interrupted on a serving thread. Everything that could take long
 * is therefore bounded: patterns run on a linear engine, formats apply to short strings only, `uniqueItems` is one pass (ajv
 * compares every pair), and the validation against a schema that refers to itself ends after a number of steps. Only the first
 * error of a value is reported, because there could be as many errors as members.
 */

import type { ErrorObject } from 'ajv'
import { Ajv2020, type ValidateFunction } from 'ajv/dist/2020.js'
import formats from 'ajv-formats'
import type { RoutePlan } from '../plan/route-plan.ts'
import { addKeywords, addStepKeyword, boundFormats, linearRegExp } from './ajv-keywords.ts'
import { toAjvSchema } from './to-ajv-schema.ts'
import { Patterns } from './patterns.ts'
import { addUnevaluated } from './unevaluated.ts'

/** Returns the errors of a value; null if it is valid. */
export type Check = (value: unknown) => readonly ErrorObject[] | null

export interface SchemaCompiler {
  /** Throws if ajv cannot compile the schema. */
  compile(schema: unknown): Check
  /** Compiles a pattern for the schemas that have it. */
  preparePattern(pattern: string): void
}

const COMPONENTS_ID = 'urn:tollgate:document'
const OWN_COMPONENT = '#/components/schemas/'
const COMPONENT = `${COMPONENTS_ID}${OWN_COMPONENT}`
const STEP = 'x-tollgate-step'
/** References followed for one value; well below the number that overflows the stack. */
const STEPS_MAX = 20_000
const TOO_MANY_STEPS: readonly ErrorObject[] = [
  {
    keyword: STEP,
    instancePath: '',
    schemaPath: '',
    params: {},
    message: 'needs more validation steps than allowed',
  },
]

class StepsUsedUp extends Error {}

/** The steps that are left for the current value. */
class StepBudget {
  #steps = 0

  reset(): void {
    this.#steps = STEPS_MAX
  }

  charge(count: number): void {
    this.#steps -= count
    if (this.#steps < 0) throw new StepsUsedUp()
  }
}

export function createSchemaCompiler({ components }: Pick<RoutePlan, 'components'>): SchemaCompiler {
  const budget = new StepBudget()
  const patterns = new Patterns()
  const ajv = createAjv(budget, patterns)
  const schemas = withSteps(components)
  const unevaluated = addUnevaluated({
    ajv,
    resolve: (reference) => schemas[reference.slice(COMPONENT.length)],
    charge: (steps) => budget.charge(steps),
    patterns,
  })
  ajv.addSchema({ $id: COMPONENTS_ID, components: { schemas } }, COMPONENTS_ID)

  /** By schema as text, since operations often share parameters. */
  const compiled = new Map<string, Check>()

  return {
    compile(schema) {
      const text = JSON.stringify(schema)
      const known = compiled.get(text)
      if (known !== undefined) return known
      unevaluated.begin()
      const validate = findComponent(ajv, schema) ?? ajv.compile(toAjvSchema(schema, COMPONENTS_ID) as object)
      const check = toCheck(validate as ValidateFunction, budget)
      compiled.set(text, check)
      return check
    },
    preparePattern: (pattern) => void patterns.prepare(pattern),
  }
}

/** Compiles a component such that schemas that refer to it share it; ajv would compile it again for the first of them. */
function findComponent(ajv: Ajv2020, schema: unknown): unknown {
  if (typeof schema !== 'object' || schema === null || Object.keys(schema).length !== 1) return undefined
  const { $ref: reference } = schema as { readonly $ref?: unknown }
  if (typeof reference !== 'string' || !reference.startsWith(OWN_COMPONENT)) return undefined
  return ajv.getSchema(`${COMPONENTS_ID}${reference}`)
}

function createAjv(budget: StepBudget, patterns: Patterns): Ajv2020 {
  const ajv = new Ajv2020({
    strict: false,
    allErrors: false,
    // Schemas were validated with their document.
    validateSchema: false,
    ownProperties: true,
    inlineRefs: false,
    logger: false,
    addUsedSchema: false,
    code: { regExp: linearRegExp(patterns) },
  })
  formats.default(ajv as unknown as Parameters<typeof formats.default>[0])
  boundFormats(ajv)
  addKeywords(ajv)
  addStepKeyword(ajv, STEP, () => budget.charge(1))
  return ajv
}

function toCheck(validate: ValidateFunction, budget: StepBudget): Check {
  return (value) => {
    budget.reset()
    try {
      return validate(value) ? null : (validate.errors ?? [])
    } catch (cause) {
      if (cause instanceof StepsUsedUp || cause instanceof RangeError) return TOO_MANY_STEPS
      throw cause
    }
  }
}

type Schemas = Readonly<Record<string, unknown>>

/** Adds the step keyword to every component, since a validation can only repeat through a reference. */
function withSteps(components: RoutePlan['components']): Schemas {
  const schemas = Object.entries((components['schemas'] ?? {}) as Schemas).map(([name, schema]) => {
    const based = toAjvSchema(schema, COMPONENTS_ID)
    return [name, typeof based === 'object' && based !== null ? { ...based, [STEP]: true } : based] as const
  })
  return Object.fromEntries(schemas)
}
