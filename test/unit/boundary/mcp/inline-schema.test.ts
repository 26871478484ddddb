import { describe, expect, it } from 'vitest'
import { inlineSchema } from '../../../../src/boundary/mcp/inline-schema.ts'

const ref = (name: string) => ({ $ref: `#/components/schemas/${name}` })
const options = { schemas: {}, isResult: false, partsMax: 100 }

describe('a schema for models', () => {
  it('has no references, and accepts anything where it refers to itself', () => {
    const schemas = { Node: { type: 'object', properties: { next: ref('Node'), id: { type: 'string' } } } }
    expect(inlineSchema(ref('Node'), { ...options, schemas })).toEqual({
      type: 'object',
      properties: { next: {}, id: { type: 'string' } },
    })
  })

  it('keeps the description beside a reference', () => {
    const schemas = { Id: { type: 'string', description: 'an id' } }
    expect(inlineSchema({ ...ref('Id'), description: 'the id of the order' }, { ...options, schemas })).toEqual({
      type: 'string',
      description: 'the id of the order',
    })
    expect(inlineSchema({ ...ref('Id'), minLength: 2 }, { ...options, schemas })).toEqual({
      allOf: [schemas.Id, { minLength: 2 }],
    })
  })

  it('leaves out the keywords in which a cut would refuse values', () => {
    const schema = { not: {}, if: {}, then: false, contains: {}, patternProperties: {}, additionalProperties: false }
    expect(inlineSchema({ ...schema, oneOf: [{ type: 'string' }] }, options)).toEqual({ anyOf: [{ type: 'string' }] })
  })

  it('has only the structure of a result', () => {
    const schema = { type: 'string', format: 'date-time', pattern: '^2', maxLength: 9, enum: ['a'] }
    expect(inlineSchema(schema, { ...options, isResult: true })).toEqual({ type: 'string', enum: ['a'] })
  })

  it('is bounded in depth and in parts', () => {
    const deep = Array.from({ length: 1_000 }).reduce<object>((items) => ({ type: 'array', items }), {})
    expect(JSON.stringify(inlineSchema(deep, options)).length).toBeLessThan(500)
    const wide = { anyOf: Array.from({ length: 1_000 }, () => ({ type: 'object' })) }
    expect(JSON.stringify(inlineSchema(wide, options)).length).toBeLessThan(5_000)
    const schemas = Object.fromEntries(
      Array.from({ length: 20 }, (_, index) => [`S${index}`, { allOf: [ref(`S${index + 1}`), ref(`S${index + 1}`)] }]),
    )
    expect(JSON.stringify(inlineSchema(ref('S0'), { ...options, schemas })).length).toBeLessThan(5_000)
  })
})
