/**
 * Validation of the platform's own requests: a query's texts become numbers where declared, a body is
 * taken at its word. The first fault is told, and no others are looked for: who sends rubbish pays for it.
 */

import { Ajv, type ValidateFunction } from 'ajv'
import formats from 'ajv-formats'

export function createValidatorCompiler(): (route: { schema: unknown; httpPart?: string }) => ValidateFunction {
  const options = { strict: true, allowUnionTypes: true, useDefaults: true, removeAdditional: false } as const
  const literal = withFormats(new Ajv(options))
  const coercing = withFormats(new Ajv({ ...options, coerceTypes: true }))
  return ({ schema, httpPart }) => (httpPart === 'querystring' ? coercing : literal).compile(schema as object)
}

function withFormats(ajv: Ajv): Ajv {
  formats.default(ajv as Parameters<typeof formats.default>[0])
  return ajv
}
