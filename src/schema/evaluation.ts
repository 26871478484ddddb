/**
 * Properties and items that the keywords of a schema evaluate (JSON Schema 2020-12 core, section 11), which
 * `unevaluatedProperties` and `unevaluatedItems` depend on.
 *
 * Computed once per schema, so a schema that is referenced often costs no more than its text. Subschemas that
 * apply only if another one accepts the value are kept as branches.
 */

import { compileLinear, type LinearPattern } from '../json/linear-pattern.ts'

export interface Evaluation {
  hasAllMembers: boolean
  readonly names: ReadonlySet<string>
  readonly patterns: readonly LinearPattern[]
  hasAllItems: boolean
  readonly prefixLength: number
  /** An item that one of them accepts is evaluated. */
  readonly contains: readonly Accepts[]
  /** Subschemas that apply to every value. */
  readonly parts: Evaluation[]
  readonly branches: Branch[]
}

export interface Branch {
  readonly applies: Accepts
  readonly evaluation: Evaluation
  /** For a value to which the branch does not apply. */
  readonly otherwise: Evaluation | null
}

export type Accepts = (value: unknown) => boolean

export interface EvaluationReader {
  /** Leaves out `unevaluatedProperties` and `unevaluatedItems` of the schema itself. */
  read(schema: Schema): Evaluation
}

export interface EvaluationReaderOptions {
  /** The schema that a reference leads to. */
  readonly resolve: (reference: string) => unknown
  readonly compile: (schema: unknown) => Accepts
}

type Schema = Readonly<Record<string, unknown>>

export function createEvaluationReader({ resolve, compile }: EvaluationReaderOptions): EvaluationReader {
  const beside = new Map<Schema, Evaluation>()
  const whole = new Map<Schema, Evaluation>()

  function read(schema: Schema): Evaluation {
    const known = beside.get(schema)
    if (known !== undefined) return known
    const evaluation: Evaluation = {
      hasAllMembers: schema['additionalProperties'] !== undefined,
      names: new Set(Object.keys(schemaOf(schema['properties']))),
      patterns: Object.keys(schemaOf(schema['patternProperties'])).map(toPattern),
      hasAllItems: schema['items'] !== undefined,
      prefixLength: listOf(schema['prefixItems']).length,
      contains: schema['contains'] === undefined ? [] : [compile(schema['contains'])],
      parts: [],
      branches: [],
    }
    // Known before its parts are read: schemas may refer to each other in a circle.
    beside.set(schema, evaluation)
    addParts(schema, evaluation)
    addBranches(schema, evaluation)
    return evaluation
  }

  function addParts(schema: Schema, { parts }: Evaluation): void {
    const { $ref: reference, allOf } = schema
    if (typeof reference === 'string') parts.push(readWhole(resolve(reference)))
    for (const part of listOf(allOf)) parts.push(readWhole(part))
  }

  function addBranches(schema: Schema, { branches }: Evaluation): void {
    for (const part of [...listOf(schema['anyOf']), ...listOf(schema['oneOf'])])
      branches.push({ applies: compile(part), evaluation: readWhole(part), otherwise: null })
    for (const [name, part] of Object.entries(schemaOf(schema['dependentSchemas'])))
      branches.push({ applies: (value) => hasMember(value, name), evaluation: readWhole(part), otherwise: null })
    if (schema['if'] === undefined) return
    const { if: condition, then: consequence, else: alternative } = schema
    branches.push({
      applies: compile(condition),
      evaluation: { ...NOTHING, parts: [readWhole(condition), readWhole(consequence)] },
      otherwise: readWhole(alternative),
    })
  }

  function readWhole(schema: unknown): Evaluation {
    if (typeof schema !== 'object' || schema === null) return NOTHING
    const fields = schema as Schema
    if (fields['unevaluatedProperties'] === undefined && fields['unevaluatedItems'] === undefined) return read(fields)
    const known = whole.get(fields)
    if (known !== undefined) return known
    const evaluation: Evaluation = {
      ...NOTHING,
      hasAllMembers: fields['unevaluatedProperties'] !== undefined,
      hasAllItems: fields['unevaluatedItems'] !== undefined,
      parts: [],
    }
    whole.set(fields, evaluation)
    evaluation.parts.push(read(fields))
    return evaluation
  }

  return {
    read(schema) {
      try {
        return read(schema)
      } catch (cause) {
        // A partial result must not be used as a complete one.
        beside.clear()
        whole.clear()
        throw cause
      }
    },
  }
}

const NOTHING: Evaluation = {
  hasAllMembers: false,
  names: new Set(),
  patterns: [],
  hasAllItems: false,
  prefixLength: 0,
  contains: [],
  parts: [],
  branches: [],
}

function toPattern(text: string): LinearPattern {
  const pattern = compileLinear(text)
  if (pattern === null) throw new Error(`the pattern cannot be matched in linear time: ${text.slice(0, 80)}`)
  return pattern
}

function hasMember(value: unknown, name: string): boolean {
  return typeof value === 'object' && value !== null && !Array.isArray(value) && Object.hasOwn(value, name)
}

function schemaOf(value: unknown): Schema {
  return typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as Schema) : {}
}

function listOf(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : []
}
