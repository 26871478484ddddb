/** Checks the form of a document against the schema of its OpenAPI version. */

import { Ajv2020, type ValidateFunction } from 'ajv/dist/2020.js'
import formats from 'ajv-formats'
import type { ProblemPointer } from '../../foundation/domain/problem.ts'
import { hasDuplicates } from '../../foundation/json/canonical-value.ts'
import type { Fields } from '../../foundation/json/fields.ts'
import { toPreciseFaults } from '../../foundation/json/precise-errors.ts'
import { readOpenApiSchema, type OpenApiVersion } from './openapi-schemas.ts'

/** Above this number of values only the first error is reported, because each value can have one. */
const VALUES_MAX = 200_000

/** By version and mode, compiled at first use. */
const compiled = new Map<string, ValidateFunction>()

export function findFormFaults(document: Fields, version: OpenApiVersion, values: number): ProblemPointer[] {
  if (validatorOf(version, false)(document)) return []
  const validate = validatorOf(version, values <= VALUES_MAX)
  validate(document)
  const faults = toPreciseFaults(validate.errors ?? [])
  validate.errors = null
  return faults
}

function validatorOf(version: OpenApiVersion, allErrors: boolean): ValidateFunction {
  const key = `${version} ${allErrors}`
  let validate = compiled.get(key)
  if (validate === undefined) compiled.set(key, (validate = compile(version, allErrors)))
  return validate
}

function compile(version: OpenApiVersion, allErrors: boolean): ValidateFunction {
  const ajv = new Ajv2020({ strict: false, logger: false, validateSchema: false, allErrors })
  formats.default(ajv as unknown as Parameters<typeof formats.default>[0])
  ajv.addFormat('media-range', true)
  // Authors escape more than the flag `u` allows; the compiler of the gateway decides on the patterns of requests.
  ajv.addFormat('regex', true)
  // ajv compares each pair of items.
  ajv.removeKeyword('uniqueItems')
  ajv.addKeyword({
    keyword: 'uniqueItems',
    type: 'array',
    schemaType: 'boolean',
    error: { message: 'must not have two equal items' },
    validate: (isUnique: boolean, items: readonly unknown[]) => !isUnique || !hasDuplicates(items),
  })
  return ajv.compile(readOpenApiSchema(version))
}
