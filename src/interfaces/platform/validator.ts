/**
 * Compiles validators of requests: texts of a query are coerced to declared numbers and lists, members of a body are not.
 *
 * Validation stops at the first error, which bounds the cost of an invalid request. A schema is compiled by the first
 * request that needs it: compiling all of them at the start took a third of it.
 */

import { Ajv, str, type ErrorObject } from 'ajv'
import formats from 'ajv-formats'

/** The schemas are part of the program. ajv would compile its schema of schemas at the first request, which takes 26 ms. */
const SCHEMAS = { meta: false, validateSchema: false } as const

export interface Validate {
  (value: unknown): boolean
  errors?: ErrorObject[] | null
}

export function createValidatorCompiler(): (route: { schema: unknown; httpPart?: string }) => Validate {
  const options = {
    ...SCHEMAS,
    strict: true,
    allowUnionTypes: true,
    useDefaults: true,
    removeAdditional: false,
  } as const
  const literal = withFormats(new Ajv(options))
  const coercing = withFormats(new Ajv({ ...options, coerceTypes: 'array' }))
  return ({ schema, httpPart }) => compileLater(httpPart === 'querystring' ? coercing : literal, schema as object)
}

function compileLater(ajv: Ajv, schema: object): Validate {
  const validate: Validate = (value) => {
    // ajv keeps the compiled function of a schema.
    const compiled = ajv.compile(schema)
    const isValid = compiled(value)
    validate.errors = compiled.errors ?? null
    return isValid
  }
  return validate
}

function withFormats(ajv: Ajv): Ajv {
  formats.default(ajv as Parameters<typeof formats.default>[0])
  addLength(ajv, 'minLength', 'fewer', isAtLeast)
  addLength(ajv, 'maxLength', 'more', isAtMost)
  return ajv
}

/** Replaces a keyword of ajv that counts the characters of every text (a document of 10 MB: 50 ms for each of the two). */
function addLength(ajv: Ajv, keyword: string, word: string, accepts: (text: string, limit: number) => boolean): void {
  ajv.removeKeyword(keyword)
  ajv.addKeyword({
    keyword,
    type: 'string',
    schemaType: 'number',
    errors: false,
    error: { message: ({ schemaCode }) => str`must NOT have ${word} than ${schemaCode} characters` },
    compile: (limit: number) => (text: string) => accepts(text, limit),
  })
}

/** A character is one or two code units, so most texts need not be counted. */
function isAtLeast(text: string, limit: number): boolean {
  return text.length >= 2 * limit || (text.length >= limit && countCharacters(text) >= limit)
}

function isAtMost(text: string, limit: number): boolean {
  return text.length <= limit || (text.length <= 2 * limit && countCharacters(text) <= limit)
}

function countCharacters(text: string): number {
  let count = 0
  for (const _ of text) count++
  return count
}
