import { Ajv } from 'ajv'
import formats from 'ajv-formats'
import { expect, it } from 'vitest'
import type { Operation } from '../../../../src/interfaces/platform/operation.ts'
import { ALL_OPERATIONS } from '../../../../src/interfaces/platform/operations.ts'
import { createValidatorCompiler } from '../../../../src/interfaces/platform/validator.ts'

it.each([
  ['', false],
  ['a', false],
  ['😀', false],
  ['ab', true],
  ['😀😀', true],
  ['abcd', true],
  ['😀😀😀😀', true],
  ['a😀😀b', true],
  ['abcde', false],
  ['😀😀😀ab', false],
  ['😀😀😀😀😀', false],
  ['x'.repeat(100), false],
])('counts the characters of %j, not its code units', (text, isValid) => {
  const validate = createValidatorCompiler()({ schema: { type: 'string', minLength: 2, maxLength: 4 } })
  expect(validate(text)).toBe(isValid)
})

it('says how long a text must be', () => {
  const validate = createValidatorCompiler()({ schema: { type: 'string', minLength: 2, maxLength: 4 } })
  validate('a')
  expect(validate.errors?.[0]).toMatchObject({ message: 'must NOT have fewer than 2 characters', instancePath: '' })
  validate('abcde')
  expect(validate.errors?.[0]).toMatchObject({ message: 'must NOT have more than 4 characters', instancePath: '' })
})

it.each(Object.entries(ALL_OPERATIONS))('compiles the schemas of %s', (_, { body, query }) => {
  const compile = createValidatorCompiler()
  for (const [httpPart, schema] of Object.entries({ body, querystring: query })) {
    if (schema !== undefined) expect(compile({ schema, httpPart })('')).toBe(false)
  }
})

it('gets schemas that are valid themselves, which it does not check', () => {
  const ajv = new Ajv({ strict: true, allowUnionTypes: true })
  formats.default(ajv as Parameters<typeof formats.default>[0])
  const schemas = Object.entries(ALL_OPERATIONS).flatMap(([name, { query, body, headers = {} }]: [string, Operation]) =>
    [query, body, ...Object.values(headers)].flatMap((schema) =>
      schema === undefined ? [] : [[name, schema] as const],
    ),
  )
  expect(schemas.length).toBeGreaterThan(90)
  expect(schemas.filter(([, schema]) => !ajv.validateSchema(schema)).map(([name]) => name)).toEqual([])
  expect(ajv.validateSchema({ type: 'strin' })).toBe(false)
})
