/**
 * Compiles validators of requests: texts of a query are coerced to declared numbers, members of a body are not.
 *
 * Validation stops at the first error, which bounds the cost of an invalid request.
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
