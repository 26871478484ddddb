import { describe, expect, it } from 'vitest'
import { compareDocuments } from '../../../../../src/documents/governance/compare/compare-documents.ts'
import { got, idsOf, json, NOW_MS, object, read, sent, text, toDocument } from './small-documents.ts'

describe('A property that only a condition of the new schema declares', () => {
  const CONDITIONS = [
    ['dependentSchemas', { dependentSchemas: { a: { properties: { c: { type: 'integer' } } } } }, 'request.type'],
    ['then', { if: { required: ['a'] }, then: { properties: { c: { type: 'integer' } } } }, 'request.narrowed'],
  ] as const

  it.each(CONDITIONS)('is information: %s', async (_, condition) => {
    const [before, after] = [object({ a: text }), object({ a: text }, [], condition)]
    expect(await idsOf(sent(before), sent(after))).toEqual(['request.property.added'])
    const changes = compareDocuments(await read(sent(before)), await read(sent(after)), NOW_MS)
    expect(changes[0]).toMatchObject({ level: 'info', pointer: expect.stringMatching(/\/properties\/c$/) as string })
  })

  it.each(CONDITIONS)('is breaking if the property was declared already: %s', async (_, condition, rule) => {
    const before = object({ a: text, c: text })
    expect(await idsOf(sent(before), sent({ ...before, ...condition }))).toEqual([rule])
  })
})

describe('A newly declared property', () => {
  const nested = (schema: unknown) => object({ details: { properties: { folder: schema } } })

  it('is not one that a branch declares already', async () => {
    const more = { type: 'object', additionalProperties: text }
    const [before, after] = [text, { ...text, const: 'a' }].map((each) => ({ anyOf: [nested(each), more] }))
    expect(await idsOf(sent(before), sent(after))).toEqual(['request.enum.removed'])
  })

  it('is not one that a pattern or the rest of a branch describes already', async () => {
    const NUMBERS = [
      { patternProperties: { '^a': { type: 'integer' } } },
      { additionalProperties: { type: 'integer' } },
      { unevaluatedProperties: { type: 'integer' } },
    ]
    for (const numbers of NUMBERS) {
      const [before, after] = [object({}, [], numbers), object({ a: text }, [], numbers)]
      expect(await idsOf(sent({ anyOf: [before] }), sent({ anyOf: [after] }))).toContain('request.type')
    }
  })

  it('is information also in a branch, and in members without a name', async () => {
    const [before, after] = [object({}), object({ a: text })]
    const PLACES = [
      (schema: unknown) => ({ oneOf: [object({ details: schema }), text] }),
      (schema: unknown) => object({}, [], { additionalProperties: schema }),
      (schema: unknown) => object({}, [], { patternProperties: { '^x-': schema } }),
    ]
    for (const place of PLACES) {
      expect(await idsOf(sent(place(before)), sent(place(after)))).toEqual(['request.property.added'])
    }
  })

  it('is information also in a member that a condition declares', async () => {
    const details = (schema: unknown) =>
      object({}, [], {
        dependentSchemas: { a: { properties: { details: { type: 'object', ...(schema as object) } } } },
      })
    const more = { dependentSchemas: { b: { properties: { c: text } } } }
    expect(await idsOf(sent(details({})), sent(details(more)))).toEqual(['request.property.added'])
  })

  it('is information in one branch of a condition although the other branch declares the name', async () => {
    const closed = (properties: Record<string, unknown>) => object(properties, ['b'], { additionalProperties: false })
    const either = (properties: Record<string, unknown>) =>
      got({ if: { type: 'number' }, then: { properties: { b: text } }, else: closed(properties) })
    expect(await idsOf(either({ a: text }), either({ a: text, b: text }))).toContain('response.property.added')
  })

  it('is not one that another branch of a response declares already', async () => {
    const closed = (properties: Record<string, unknown>) => object(properties, [], { additionalProperties: false })
    const either = (schema: unknown) => got({ anyOf: [closed({}), closed({ a: schema })] })
    const ids = await idsOf(either({ type: 'integer', maximum: 2 }), either({ type: 'integer' }))
    expect(ids).toEqual(['response.bound'])
  })

  it('is information also if the schema became the only one of its alternatives', async () => {
    const details = (schema: unknown) => object({ details: schema })
    const after = { anyOf: [details(object({ a: text }))] }
    expect(await idsOf(sent(details(object({}))), sent(after))).toEqual(['request.property.added'])
  })

  it('is one that another part of the schema refused', async () => {
    const closed = { type: 'object', additionalProperties: false }
    const one = object({ a: text }, [], { additionalProperties: false })
    for (const refusing of [closed, { unevaluatedProperties: false }]) {
      const before = got({ allOf: [one, { allOf: [refusing] }] })
      expect(await idsOf(before, got({ allOf: [one] }))).toEqual(['response.property.added'])
    }
  })

  it('is breaking in a request if its schema refuses every value', async () => {
    expect(await idsOf(sent(object({})), sent(object({ a: false })))).toEqual(['request.property.refused'])
    expect(await idsOf(sent(object({})), sent(object({ a: { type: 'string', enum: [1] } })))).toEqual([
      'request.property.refused',
    ])
  })
})

describe('A schema that refers to itself', () => {
  const referring = (schemas: Record<string, unknown>) =>
    toDocument({ requestBody: { content: json({ $ref: '#/components/schemas/Tree' }) } }, { schemas })
  const tree = (more: Record<string, unknown>) =>
    referring({ Tree: object({ children: { type: 'array', items: { $ref: '#/components/schemas/Tree', ...more } } }) })

  it('differs if a sibling of its reference differs', async () => {
    expect(await idsOf(tree({ maxProperties: 3 }), tree({ type: 'number' }))).not.toEqual([])
  })

  it('is breaking if it refers to itself for the same value, and one of its other branches narrows', async () => {
    const either = (schema: unknown) =>
      referring({ Tree: { allOf: [{ anyOf: [schema, { $ref: '#/components/schemas/Tree' }] }] } })
    expect(await idsOf(either({ type: 'integer' }), either({ type: 'integer', maximum: 1 }))).toEqual([
      'request.narrowed',
    ])
  })

  it('accepts nothing if it refers to itself for the same value, as in the gateway', async () => {
    const endless = { allOf: [{}, { $ref: '#/components/schemas/Tree' }] }
    expect(await idsOf(referring({ Tree: text }), referring({ Tree: endless }))).not.toEqual([])
    expect(await idsOf(referring({ Tree: endless }), referring({ Tree: text }))).toEqual([])
  })
})

describe('What cannot occur', () => {
  const UNCHANGED: readonly (readonly [what: string, one: unknown, other: unknown])[] = [
    ['a number between two multiples', { type: 'integer', exclusiveMinimum: 0, maximum: 0.5 }, false],
    [
      'a bound beyond the last multiple',
      { type: 'integer', multipleOf: 4, maximum: 5 },
      { type: 'integer', multipleOf: 4, maximum: 7 },
    ],
    [
      'unevaluatedProperties beside additionalProperties',
      object({ a: text }, [], { additionalProperties: false, unevaluatedProperties: false }),
      object({ a: text }, [], { additionalProperties: false }),
    ],
    [
      'unevaluatedProperties that is additionalProperties',
      object({ a: text }, [], { unevaluatedProperties: false }),
      object({ a: text }, [], { additionalProperties: false }),
    ],
    [
      'unevaluatedItems that is items',
      { type: 'array', prefixItems: [text], unevaluatedItems: false },
      { type: 'array', prefixItems: [text], items: false },
    ],
    [
      'a member whose two schemas exclude each other',
      object({ c: { type: 'boolean' } }, [], { dependentSchemas: { b: { properties: { c: text } } } }),
      object({ c: { type: 'boolean' } }, [], { dependentSchemas: { b: { properties: { c: { type: 'null' } } } } }),
    ],
  ]
  it.each(UNCHANGED)('is no change: %s', async (_, one, other) => {
    for (const place of [sent, got]) {
      const [before, after] = [place(object({ a: one })), place(object({ a: other }))]
      const levels = [
        ...compareDocuments(await read(before), await read(after), NOW_MS),
        ...compareDocuments(await read(after), await read(before), NOW_MS),
      ]
      expect(levels.filter(({ level, id }) => level === 'breaking' || id.endsWith('undecided'))).toEqual([])
    }
  })

  it('is not reported as breaking: an item behind one without values', async () => {
    const list = (second: unknown) => ({
      type: 'array',
      prefixItems: [{ type: 'integer', minimum: 5, maximum: 1 }, second],
    })
    const changes = compareDocuments(await read(sent(list(text))), await read(sent(list({ type: 'null' }))), NOW_MS)
    expect(changes.filter(({ level, id }) => level === 'breaking' && !id.endsWith('undecided'))).toEqual([])
  })
})
