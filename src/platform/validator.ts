/** Validation of the platform's own requests: a query's texts become numbers where declared, a body is taken at its word. */

import { Ajv, type ValidateFunction } from 'ajv'
import formats from 'ajv-formats'

export function createValidatorCompiler(): (route: { schema: unknown; httpPart?: string }) => ValidateFunction {
  const options = { strict: false, allErrors: false, useDefaults: true, removeAdditional: false } as const
  const strict = withFormats(new Ajv(options))
  const coercing = withFormats(new Ajv({ ...options, coerceTypes: true }))
  return ({ schema, httpPart }) => (httpPart === 'body' ? strict : coercing).compile(schema as object)
}

function withFormats(ajv: Ajv): Ajv {
  formats.default(ajv as Parameters<typeof formats.default>[0])
  return ajv
}
