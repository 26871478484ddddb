/**
 * Functions of rules, with untrusted patterns on the linear engine: those of a tenant's rules, and those of a
 * document's schemas, which Spectral uses to check examples.
 */

import { createRequire } from 'node:module'
import spectralFunctions from '@stoplight/spectral-functions'
import spectralCore, { type IFunction } from '@stoplight/spectral-core'
import { compileLinear, type LinearPattern } from '../../../foundation/json/linear-pattern.ts'

const { alphabetical, casing, defined, enumeration, falsy, length, or, schema, truthy, xor } = spectralFunctions

const STRING = { type: 'string' } as const
const PATTERNS_KEPT = 500
const patterns = new Map<string, LinearPattern | null>()

function matches(text: string, value: string): boolean {
  let compiled = patterns.get(text)
  if (compiled === undefined) {
    if (patterns.size >= PATTERNS_KEPT) patterns.clear()
    compiled = compileLinear(text)
    patterns.set(text, compiled)
  }
  return compiled?.test(value) === true
}

const pattern = spectralCore.createRulesetFunction<string, { match?: string; notMatch?: string }>(
  {
    input: STRING,
    options: {
      type: 'object',
      properties: { match: STRING, notMatch: STRING },
      minProperties: 1,
      additionalProperties: false,
    },
  },
  function pattern(value, { match, notMatch }) {
    const results: { message: string }[] = []
    if (match !== undefined && !matches(match, value)) results.push({ message: `It does not match ${match}.` })
    if (notMatch !== undefined && matches(notMatch, value)) results.push({ message: `It matches ${notMatch}.` })
    return results
  },
)

/** Functions that the rules of a tenant may use. */
export const FUNCTIONS: Readonly<Record<string, IFunction>> = {
  alphabetical,
  casing,
  defined,
  enumeration,
  falsy,
  length,
  or,
  pattern,
  schema,
  truthy,
  undefined: spectralFunctions.undefined,
  xor,
} as Record<string, IFunction>

interface SchemaCompiler {
  new (options?: { readonly code?: object }): { compile(schema: unknown, isMeta?: boolean): unknown }
}

const SCHEMAS_KEPT = 2_000
const SCHEMA_TEXT_MAX = 20_000

/**
 * Spectral creates its schema compilers itself, with no option for the engine of their patterns. It compiles a copy of the schema
 * for each example; equal schemas are compiled once, which takes a fifth of the time.
 */
export function makeSchemasLinear(): void {
  const require = createRequire(createRequire(import.meta.url).resolve('@stoplight/spectral-functions'))
  for (const name of ['ajv', 'ajv/dist/2019', 'ajv/dist/2020', 'ajv-draft-04']) {
    const module = require(name) as { default: SchemaCompiler }
    module.default = class extends module.default {
      readonly #validators = new Map<string, unknown>()

      constructor(options: { readonly code?: object } = {}) {
        super({ ...options, code: { ...options.code, regExp: linearRegExp } })
      }

      override compile(schema: unknown, isMeta?: boolean): unknown {
        const text = textOf(schema)
        if (text === null || text.length > SCHEMA_TEXT_MAX) return super.compile(schema, isMeta)
        const found = this.#validators.get(text)
        if (found !== undefined) return found
        if (this.#validators.size >= SCHEMAS_KEPT) this.#validators.clear()
        const made = super.compile(schema, isMeta)
        this.#validators.set(text, made)
        return made
      }
    }
  }
}

/** Returns null for a schema that contains itself. */
function textOf(schema: unknown): string | null {
  try {
    return JSON.stringify(schema)
  } catch {
    return null
  }
}

/** A pattern that needs backtracking is reported when the document is staged; here it matches nothing. */
const linearRegExp = Object.assign(
  (text: string) => compileLinear(text) ?? { test: () => true, toString: () => text },
  { code: 'linearRegExp' },
)
