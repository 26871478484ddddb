import { describe, expect, it } from 'vitest'
import { createProver, type ProverOptions } from '../../../../../src/documents/governance/containment/prover.ts'
import { createSchemaCompiler } from '../../../../../src/boundary/schema/schema-compiler.ts'

type Schemas = Record<string, unknown>

const ref = (name: string) => ({ $ref: `#/components/schemas/${name}` })
const text = { type: 'string' }
const number = { type: 'number' }
const object = (properties: Schemas, more: Schemas = {}) => ({ type: 'object', properties, ...more })

function isWithin(inner: unknown, outer: unknown, schemas: Schemas = {}, tolerance?: ProverOptions['tolerance']) {
  const compiler = createSchemaCompiler({ components: { schemas } })
  const prover = createProver({
    components: schemas,
    compile: (schema) => {
      const check = compiler.compile(schema)
      return (value) => check(value) === null
    },
    ...(tolerance !== undefined && { tolerance }),
  })
  return prover.isWithin(prover.sets.of(inner), prover.sets.of(outer))
}

/** Keyword by keyword: a schema, and one that contains it and is not contained in it. */
const NARROWER: readonly (readonly [keyword: string, inner: unknown, outer: unknown])[] = [
  ['type', text, { type: ['string', 'null'] }],
  ['type integer', { type: 'integer' }, number],
  ['enum', { enum: ['a'] }, { enum: ['a', 'b'] }],
  ['const', { const: 1 }, { enum: [1, 2] }],
  ['enum against bounds', { enum: [1, 2] }, { minimum: 1 }],
  ['minimum', { ...number, minimum: 1 }, { ...number, minimum: 0 }],
  ['minimum: 0', { ...number, minimum: 0 }, number],
  ['exclusiveMinimum', { ...number, exclusiveMinimum: 0 }, { ...number, minimum: 0 }],
  ['maximum', { ...number, maximum: 1 }, { ...number, maximum: 2 }],
  ['exclusiveMaximum', { ...number, exclusiveMaximum: 2 }, { ...number, maximum: 2 }],
  ['multipleOf', { ...number, multipleOf: 4 }, { ...number, multipleOf: 2 }],
  ['minLength', { ...text, minLength: 2 }, { ...text, minLength: 1 }],
  ['maxLength', { ...text, maxLength: 1 }, { ...text, maxLength: 2 }],
  ['pattern', { ...text, pattern: '^a' }, text],
  ['format', { ...text, format: 'uuid' }, text],
  ['minItems', { type: 'array', minItems: 1 }, { type: 'array' }],
  ['maxItems', { type: 'array', maxItems: 1 }, { type: 'array', maxItems: 2 }],
  ['uniqueItems', { type: 'array', uniqueItems: true }, { type: 'array' }],
  ['items', { type: 'array', items: { type: 'integer' } }, { type: 'array', items: number }],
  ['prefixItems', { prefixItems: [text, { type: 'integer' }] }, { prefixItems: [text, number] }],
  ['contains', { type: 'array', contains: { const: 1 } }, { type: 'array', contains: number }],
  ['minContains', { contains: number, minContains: 2 }, { contains: number }],
  ['maxContains', { contains: number, maxContains: 2 }, { contains: number, maxContains: 3 }],
  ['unevaluatedItems', { type: 'array', unevaluatedItems: false }, { type: 'array' }],
  ['minProperties', { type: 'object', minProperties: 2 }, { type: 'object', minProperties: 1 }],
  ['maxProperties', object({ a: true }, { additionalProperties: false }), { type: 'object', maxProperties: 1 }],
  ['required', { required: ['a', 'b'] }, { required: ['a'] }],
  ['properties', object({ a: { const: 'x' } }), object({ a: text })],
  ['patternProperties', { patternProperties: { '^a': { const: 1 } } }, { patternProperties: { '^a': number } }],
  ['additionalProperties', { additionalProperties: false }, { additionalProperties: number }],
  [
    'additionalProperties with a schema',
    { additionalProperties: { type: 'integer' } },
    { additionalProperties: number },
  ],
  ['propertyNames', { propertyNames: { maxLength: 2 } }, { propertyNames: { maxLength: 3 } }],
  ['dependentRequired', { dependentRequired: { a: ['b', 'c'] } }, { dependentRequired: { a: ['b'] } }],
  ['dependentSchemas', object({}, { required: ['b'] }), object({}, { dependentSchemas: { a: { required: ['b'] } } })],
  ['unevaluatedProperties', object({ a: text }, { unevaluatedProperties: false }), object({ a: text })],
  ['not', { ...text, minLength: 1 }, { not: { ...text, maxLength: 0 } }],
  ['if', { if: text, then: { minLength: 2 } }, { if: text, then: { minLength: 1 } }],
  ['anyOf', { anyOf: [text, { type: 'null' }] }, { anyOf: [{ type: 'null' }, number, text] }],
  ['oneOf', { oneOf: [text, { type: 'integer' }] }, { oneOf: [number, text] }],
  [
    'oneOf of objects',
    object({ kind: { const: 'a' } }, { required: ['kind'] }),
    {
      oneOf: ['a', 'b'].map((kind) => object({ kind: { const: kind } }, { required: ['kind'] })),
    },
  ],
  ['allOf', { allOf: [{ minimum: 1 }, { ...number, maximum: 5 }] }, { ...number, minimum: 0, maximum: 5 }],
  ['a boolean schema', false, true],
]

describe('The prover', () => {
  it.each(NARROWER)('proves that a narrower %s is contained, and not the other way', (_, inner, outer) => {
    expect(isWithin(inner, outer)).toBe(true)
    expect(isWithin(outer, inner)).toBe(false)
  })

  const SAME: readonly (readonly [what: string, one: unknown, other: unknown])[] = [
    ['enum with one value and const', { enum: ['a'] }, { const: 'a' }],
    ['the two spellings of nullable', { anyOf: [text, { type: 'null' }] }, { type: ['string', 'null'] }],
    ['the order of branches', { oneOf: [text, number] }, { oneOf: [number, text] }],
    ['bounds in allOf and in place', { allOf: [number, { minimum: 1 }] }, { ...number, minimum: 1 }],
    ['a boolean and its values', { type: 'boolean' }, { enum: [true, false] }],
    ['a reference and its target', ref('Text'), text],
    ['a reference with siblings', { ...ref('Text'), minLength: 1 }, { ...text, minLength: 1 }],
    ['an empty schema and true', {}, true],
  ]
  it.each(SAME)('proves that %s are the same', (_, one, other) => {
    expect(isWithin(one, other, { Text: text })).toBe(true)
    expect(isWithin(other, one, { Text: text })).toBe(true)
  })

  it('proves recursive schemas by induction', () => {
    const node = (name: string, more: Schemas) => object({ next: ref(name), list: { items: ref(name) }, ...more })
    const schemas = { A: node('A', { a: { const: 1 } }), B: node('B', { a: number }) }
    expect(isWithin(ref('A'), ref('B'), schemas)).toBe(true)
    expect(isWithin(ref('B'), ref('A'), schemas)).toBe(false)
  })

  it('does not prove that a schema that refers to itself for the same value contains another', () => {
    const schemas = { A: { anyOf: [ref('A'), text] }, B: { anyOf: [ref('B'), number] } }
    expect(isWithin(ref('A'), ref('B'), schemas)).toBe(false)
  })

  it('tolerates a newly declared property of an open schema, and no change of a declared one', () => {
    const declared = 'declared by outer'
    expect(isWithin(object({}), object({ a: text }))).toBe(false)
    expect(isWithin(object({}), object({ a: text }), {}, declared)).toBe(true)
    expect(isWithin(object({}, { anyOf: [object({ a: number })] }), object({ a: text }), {}, declared)).toBe(false)
    expect(isWithin(object({}, { additionalProperties: number }), object({ a: text }), {}, declared)).toBe(false)
    expect(isWithin(object({}), object({ a: text }, { additionalProperties: false }), {}, declared)).toBe(false)
  })

  it('ends with a bounded number of steps', () => {
    const wide = (count: number) => ({
      allOf: Array.from({ length: count }, (_, index) => ({
        anyOf: Array.from({ length: 6 }, (__, at) => object({ [`p${index}`]: { minimum: at } }, { minProperties: at })),
      })),
    })
    expect(isWithin(wide(8), { ...wide(9), maxProperties: 3 })).toBe(false)
  }, 20_000)
})
