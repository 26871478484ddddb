/**
 * The keywords `unevaluatedProperties` and `unevaluatedItems` of JSON Schema 2020-12, which replace those of ajv.
 *
 * ajv treats all items as evaluated if the schema has `contains`, and all members if it has `if` without `then`. Here a value is
 * validated again against the adjacent schemas, but only for members and items that no unconditional keyword covers. Each visited
 * schema counts as a step of the value, so that no value takes long.
 */

import type { Ajv2020, ErrorObject, ValidateFunction } from 'ajv/dist/2020.js'
import { fieldsOf, type Fields } from '../../foundation/json/fields.ts'
import { escapePointer } from '../../foundation/json/references.ts'
import { EvaluationReader, type Accepts, type Evaluation } from './evaluation.ts'
import type { Patterns } from './patterns.ts'

export interface UnevaluatedOptions {
  readonly ajv: Ajv2020
  /** Returns the target of a reference. */
  readonly resolve: (reference: string) => unknown
  /** Counts steps, and throws if the value has used up its steps. */
  readonly charge: (steps: number) => void
  readonly patterns: Patterns
}

type Compile = (schema: unknown) => ValidateFunction
/** Finds the members or items that no adjacent schema evaluates. */
type Find = (value: unknown, evaluation: Evaluation, certain: ReadonlySet<string>) => readonly Unevaluated[]
type Unevaluated = readonly [key: string, value: unknown]

const NONE: readonly never[] = []
/** Upper bound of the names that are collected per schema; the others are looked up schema by schema. */
const CERTAIN_MAX = 1_000
/** Members or items that a visit checks for one step. */
const STEP_SIZE = 256
/** Upper bound of schemas in alternatives. Each alternative is compiled again with all its subschemas: nested ones cost the square. */
const ALTERNATIVES_MAX = 2_000

export interface UnevaluatedKeywords {
  /** Must be called before each schema that is compiled. */
  begin(): void
}

/** Must be called before any schema is compiled. */
export function addUnevaluated({ ajv, resolve, charge, patterns }: UnevaluatedOptions): UnevaluatedKeywords {
  let alternatives = 0
  const compile: Compile = (schema) => ajv.compile(schema as object)
  const reader = new EvaluationReader({
    resolve,
    patterns,
    compile: (schema) => {
      alternatives += countSchemas(schema)
      if (alternatives <= ALTERNATIVES_MAX) return compile(schema) as Accepts
      throw new Error(`there are more than ${ALTERNATIVES_MAX} schemas in alternatives beside unevaluated keywords`)
    },
  })
  // Otherwise ajv records in every schema what it evaluates, and cannot leave an `anyOf` at the first match.
  ajv.opts.unevaluated = false

  const add = (keyword: string, type: 'object' | 'array', find: Find): void => {
    ajv.removeKeyword(keyword)
    ajv.addKeyword({
      keyword,
      type,
      schemaType: ['boolean', 'object'],
      errors: 'full',
      compile: (schema: unknown, parent) => {
        const evaluation = reader.read(parent)
        let certain: ReadonlySet<string> | null = null
        if (schema === true) return () => true
        return toValidator(keyword, schema, compile, (value) => {
          // Collected at the first value, because the parts of a circular schema are not complete before.
          certain ??= collectNames(evaluation)
          return find(value, evaluation, certain)
        })
      },
    })
  }
  add('unevaluatedProperties', 'object', findMembers(charge))
  add('unevaluatedItems', 'array', findItems(charge))

  return { begin: () => void (alternatives = 0) }
}

function findMembers(charge: (steps: number) => void): Find {
  return (value, evaluation, certain) => {
    const members = fieldsOf(value)
    let left = namesOutside(members, certain)
    if (left.length === 0) return NONE
    visit(evaluation, value, ({ hasAllMembers, names, patterns }) => {
      charge(1 + Math.floor(left.length / STEP_SIZE))
      if (hasAllMembers) left = []
      else left = left.filter((name) => !names.has(name) && !patterns.some((pattern) => pattern.test(name)))
      return left.length > 0
    })
    return left.map((name) => [name, members[name]])
  }
}

function findItems(charge: (steps: number) => void): Find {
  return (value, evaluation) => {
    const items: readonly unknown[] = Array.isArray(value) ? value : []
    if (items.length === 0) return NONE
    let left: readonly number[] = [...items.keys()]
    visit(evaluation, value, ({ hasAllItems, prefixLength, contains }) => {
      charge(1 + Math.floor(left.length / STEP_SIZE))
      if (hasAllItems) left = []
      else left = left.filter((index) => index >= prefixLength && !contains.some((accepts) => accepts(items[index])))
      return left.length > 0
    })
    return left.map((index) => [String(index), items[index]])
  }
}

/** Returns an upper bound of the number of schemas, since it counts all objects. */
function countSchemas(value: unknown): number {
  if (typeof value !== 'object' || value === null) return 0
  return Object.values(value).reduce((sum: number, inner) => sum + countSchemas(inner), Array.isArray(value) ? 0 : 1)
}

/** Collects the members that are evaluated in every value, so that most values need no visit. */
function collectNames(evaluation: Evaluation): ReadonlySet<string> {
  const names = new Set<string>()
  const visited = new Set([evaluation])
  for (const { names: own, parts } of visited) {
    for (const name of own) if (names.size < CERTAIN_MAX) names.add(name)
    for (const part of parts) if (visited.size < CERTAIN_MAX) visited.add(part)
  }
  return names
}

function namesOutside(members: Fields, certain: ReadonlySet<string>): readonly string[] {
  let outside: string[] | null = null
  for (const name of Object.keys(members)) if (!certain.has(name)) (outside ??= []).push(name)
  return outside ?? NONE
}

/** Visits the schemas that apply to the value until `narrow` returns false. Returns false if it did. */
function visit(evaluation: Evaluation, value: unknown, narrow: (at: Evaluation) => boolean): boolean {
  if (!narrow(evaluation)) return false
  for (const part of evaluation.parts) if (!visit(part, value, narrow)) return false
  for (const { applies, evaluation: consequence, otherwise } of evaluation.branches) {
    const next = applies(value) ? consequence : otherwise
    if (next !== null && !visit(next, value, narrow)) return false
  }
  return true
}

interface Validator {
  (value: unknown, context?: { readonly instancePath: string }): boolean
  errors?: Partial<ErrorObject>[]
}

/** Validates the members or items that `find` returns against `schema`. */
function toValidator(
  keyword: string,
  schema: unknown,
  compile: Compile,
  find: (value: unknown) => readonly Unevaluated[],
): Validator {
  const accepts = schema === false ? null : compile(schema)
  const validate: Validator = (value, context) => {
    const path = context?.instancePath ?? ''
    for (const [key, inner] of find(value)) {
      if (accepts === null)
        validate.errors = [{ keyword, instancePath: path, params: {}, message: `breaks ${keyword}` }]
      else if (accepts(inner)) continue
      else validate.errors = moveErrors(accepts.errors ?? [], `${path}/${escapePointer(key)}`)
      return false
    }
    return true
  }
  return validate
}

function moveErrors(errors: readonly ErrorObject[], path: string): ErrorObject[] {
  return errors.map((error) => ({ ...error, instancePath: path + error.instancePath }))
}
