import { describe, expect, it } from 'vitest'
import { createSchemaCompiler } from '../../../../src/boundary/schema/schema-compiler.ts'

const CONTAINS = { contains: { properties: { a: { type: 'integer' } } } }
const LISTS = [
  { items: CONTAINS },
  { items: { ...CONTAINS, minContains: 1 } },
  { items: { ...CONTAINS, minItems: 0 } },
] as const

describe('contains', () => {
  it.each(LISTS)('refuses an empty list behind one that it accepts: %j', (schema) => {
    const check = createSchemaCompiler({ components: {} }).compile(schema)
    expect(check([[0], []])).not.toBeNull()
    expect(check([[0], [1]])).toBeNull()
    expect(check([0, 'text'])).toBeNull()
  })

  it('accepts an empty list if minContains is 0', () => {
    const check = createSchemaCompiler({ components: {} }).compile({ items: { ...CONTAINS, minContains: 0 } })
    expect(check([[0], []])).toBeNull()
  })
})
