/**
 * Properties and items that the keywords of a schema evaluate (JSON Schema 2020-12 core, section 11). The keywords
 * `unevaluatedProperties` and `unevaluatedItems` depend on them.
 *
 * Computed once per schema, so that a schema with many references costs no more than its text. Subschemas that apply only if
 * another one accepts the value are branches.
 */

import type { LinearPattern } from '../../foundation/json/linear-pattern.ts'
import type { Patterns } from './patterns.ts'

export interface Evaluation {
  hasAllMembers: boolean
  readonly names: ReadonlySet<string>
  readonly patterns: readonly LinearPattern[]
  hasAllItems: boolean
  readonly prefixLength: number
  /** An item is evaluated if one of these accepts it. */
  readonly contains: readonly Accepts[]
  /** Subschemas that apply to every value. */
  readonly parts: Evaluation[]
  readonly branches: Branch[]
}

export interface Branch {
  readonly applies: Accepts
  readonly evaluation: Evaluation
  /** Applies to the values to which the branch does not; null if nothing does. */
  readonly otherwise: Evaluation | null
}

export type Accepts = (value: unknown) => boolean

export interface EvaluationReaderOptions {
  /** Returns the target of a reference. */
  readonly resolve: (reference: string) => unknown
  readonly compile: (schema: unknown) => Accepts
  readonly patterns: Patterns
}

type Schema = Readonly<Record<string, unknown>>

export class EvaluationReader {
  readonly #resolve: (reference: string) => unknown
  readonly #compile: (schema: unknown) => Accepts
  readonly #patterns: Patterns
  /** Without the unevaluated keywords of the schema itself. */
  readonly #partial = new Map<Schema, Evaluation>()
  readonly #whole = new Map<Schema, Evaluation>()

  constructor({ resolve, compile, patterns }: EvaluationReaderOptions) {
    this.#resolve = resolve
    this.#compile = compile
    this.#patterns = patterns
  }

  /** Leaves out `unevaluatedProperties` and `unevaluatedItems` of the schema itself. */
  read(schema: Schema): Evaluation {
    try {
      return this.#read(schema)
    } catch (cause) {
      // An incomplete result must not be used as a complete one.
      this.#partial.clear()
      this.#whole.clear()
      throw cause
    }
  }

  #read(schema: Schema): Evaluation {
    const known = this.#partial.get(schema)
    if (known !== undefined) return known
    const evaluation: Evaluation = {
      hasAllMembers: schema['additionalProperties'] !== undefined,
      names: new Set(Object.keys(schemaOf(schema['properties']))),
      patterns: Object.keys(schemaOf(schema['patternProperties'])).map((text) => this.#patterns.compile(text)),
      hasAllItems: schema['items'] !== undefined,
      prefixLength: listOf(schema['prefixItems']).length,
      contains: schema['contains'] === undefined ? [] : [this.#compile(schema['contains'])],
      parts: [],
      branches: [],
    }
    // Stored before its parts are read, since references can be circular.
    this.#partial.set(schema, evaluation)
    this.#addParts(schema, evaluation)
    this.#addBranches(schema, evaluation)
    return evaluation
  }

  #addParts(schema: Schema, { parts }: Evaluation): void {
    const { $ref: reference, allOf } = schema
    if (typeof reference === 'string') parts.push(this.#readWhole(this.#resolve(reference)))
    for (const part of listOf(allOf)) parts.push(this.#readWhole(part))
  }

  #addBranches(schema: Schema, { branches }: Evaluation): void {
    for (const part of [...listOf(schema['anyOf']), ...listOf(schema['oneOf'])])
      branches.push({ applies: this.#compile(part), evaluation: this.#readWhole(part), otherwise: null })
    for (const [name, part] of Object.entries(schemaOf(schema['dependentSchemas']))) {
      const applies = (value: unknown): boolean => hasMember(value, name)
      branches.push({ applies, evaluation: this.#readWhole(part), otherwise: null })
    }
    if (schema['if'] === undefined) return
    const { if: condition, then: consequence, else: alternative } = schema
    branches.push({
      applies: this.#compile(condition),
      evaluation: { ...NOTHING, parts: [this.#readWhole(condition), this.#readWhole(consequence)] },
      otherwise: this.#readWhole(alternative),
    })
  }

  #readWhole(schema: unknown): Evaluation {
    if (typeof schema !== 'object' || schema === null) return NOTHING
    const fields = schema as Schema
    const hasOwn = fields['unevaluatedProperties'] !== undefined || fields['unevaluatedItems'] !== undefined
    if (!hasOwn) return this.#read(fields)
    const known = this.#whole.get(fields)
    if (known !== undefined) return known
    const evaluation: Evaluation = {
      ...NOTHING,
      hasAllMembers: fields['unevaluatedProperties'] !== undefined,
      hasAllItems: fields['unevaluatedItems'] !== undefined,
      parts: [],
    }
    this.#whole.set(fields, evaluation)
    evaluation.parts.push(this.#read(fields))
    return evaluation
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

function hasMember(value: unknown, name: string): boolean {
  return typeof value === 'object' && value !== null && !Array.isArray(value) && Object.hasOwn(value, name)
}

function schemaOf(value: unknown): Schema {
  return typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as Schema) : {}
}

function listOf(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : []
}
