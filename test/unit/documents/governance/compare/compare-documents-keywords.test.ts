import { fullFormats } from 'ajv-formats/dist/formats.js'
import { describe, expect, it } from 'vitest'
import { compareDocuments } from '../../../../../src/documents/governance/compare/compare-documents.ts'
import { openGateway } from './gateway-verdict.ts'
import { got, idsOf, json, NOW_MS, object, read, sent, text, toDocument, type Json } from './small-documents.ts'

describe('A change of a keyword that the gateway enforces', () => {
  const array = (more: Json) => ({ type: 'array', items: text, ...more })
  const number = (more: Json) => ({ type: 'number', ...more })
  const open = (more: Json) => ({ type: 'object', ...more })
  const kind = (name: string) => object({ kind: { const: name } }, ['kind'])
  const closed = object({ a: text }, [], { unevaluatedProperties: false })
  /** Each with a value that the wider schema accepts and the narrower one refuses. */
  const NARROWING: readonly (readonly [what: string, wider: unknown, narrower: unknown, value: unknown])[] = [
    ['multipleOf', number({}), number({ multipleOf: 2 }), 3],
    ['a stricter multipleOf', number({ multipleOf: 2 }), number({ multipleOf: 4 }), 6],
    ['minimum: 0', number({}), number({ minimum: 0 }), -1],
    ['exclusiveMinimum instead of minimum', number({ minimum: 0 }), number({ exclusiveMinimum: 0 }), 0],
    ['exclusiveMaximum instead of maximum', number({ maximum: 5 }), number({ exclusiveMaximum: 5 }), 5],
    ['maximum', number({}), number({ maximum: 10 }), 11],
    ['minLength', text, { ...text, minLength: 1 }, ''],
    ['maxLength', text, { ...text, maxLength: 2 }, 'abc'],
    ['pattern', text, { ...text, pattern: '^[a-z]+$' }, 'A'],
    ['format', text, { ...text, format: 'email' }, 'a'],
    ['uniqueItems', array({}), array({ uniqueItems: true }), ['a', 'a']],
    ['minItems', array({}), array({ minItems: 1 }), []],
    ['maxItems', array({}), array({ maxItems: 1 }), ['a', 'a']],
    ['items', array({ items: {} }), array({}), [1]],
    ['items: false', array({}), array({ items: false }), ['a']],
    ['prefixItems', array({ items: {} }), array({ items: {}, prefixItems: [text] }), [1]],
    ['contains', array({}), array({ contains: { const: 'a' } }), ['b']],
    ['minContains', array({ contains: text }), array({ contains: text, minContains: 2 }), ['a']],
    ['maxContains', array({ contains: text }), array({ contains: text, maxContains: 1 }), ['a', 'b']],
    ['unevaluatedItems', { type: 'array' }, { type: 'array', prefixItems: [{}], unevaluatedItems: false }, [1, 2]],
    ['additionalProperties with a schema', open({}), open({ additionalProperties: text }), { a: 1 }],
    ['additionalProperties: false', open({}), open({ additionalProperties: false }), { a: 1 }],
    ['patternProperties', open({}), open({ patternProperties: { '^x-': text } }), { 'x-a': 1 }],
    ['propertyNames', open({}), open({ propertyNames: { pattern: '^[a-z]+$' } }), { A: 1 }],
    ['minProperties', open({}), open({ minProperties: 1 }), {}],
    ['maxProperties', open({}), open({ maxProperties: 0 }), { a: 1 }],
    ['dependentRequired', open({}), open({ dependentRequired: { a: ['b'] } }), { a: 1 }],
    ['dependentSchemas', open({}), open({ dependentSchemas: { a: { required: ['b'] } } }), { a: 1 }],
    ['unevaluatedProperties', object({ a: text }), closed, { b: 1 }],
    ['the boolean schema false for a property', object({ a: text }), object({ a: false }), { a: 'a' }],
    ['the boolean schema false for a body', text, false, 'a'],
    ['a type instead of the boolean schema true', true, text, 1],
    ['not', text, { ...text, not: { const: '' } }, ''],
    ['if with then', open({}), open({ if: { required: ['a'] }, then: { required: ['b'] } }), { a: 1 }],
    ['if with else', open({}), open({ if: { required: ['a'] }, else: { required: ['b'] } }), {}],
    ['a sibling of allOf', { allOf: [text] }, { allOf: [text], maxLength: 3 }, 'abcd'],
    ['one branch of anyOf less', { anyOf: [text, { type: 'null' }] }, { anyOf: [text] }, null],
    ['one branch of oneOf less', { oneOf: [kind('a'), kind('b')] }, { oneOf: [kind('b')] }, { kind: 'a' }],
    ['null as a type less', { type: ['string', 'null'] }, text, null],
    ['integer instead of number', number({}), { type: 'integer' }, 1.5],
    ['a property that becomes required', object({ a: text }), object({ a: text }, ['a']), {}],
    ['a value of an enum less', { enum: ['a', 'b'] }, { const: 'a' }, 'b'],
  ]
  const levelsOf = async (one: unknown, other: unknown): Promise<readonly string[]> => {
    const changes = compareDocuments(await read(one), await read(other), NOW_MS)
    return changes.map(({ level, id }) => `${level} ${id}`)
  }
  const isBreaking = (each: string) => each.startsWith('breaking')

  it.each(NARROWING)('%s in a request: added is breaking, removed is not', async (_, wider, narrower, value) => {
    const [before, after] = [await openGateway(sent(wider)), await openGateway(sent(narrower))]
    expect([before.accepts({ body: value }), after.accepts({ body: value })]).toEqual([true, false])
    const there = await levelsOf(sent(wider), sent(narrower))
    expect(there.filter((each) => isBreaking(each) && !each.endsWith('undecided'))).not.toEqual([])
    expect((await levelsOf(sent(narrower), sent(wider))).filter(isBreaking)).toEqual([])
  })

  it.each(NARROWING)('%s in a response: removed is breaking, added is not', async (_, wider, narrower, value) => {
    const [before, after] = [await openGateway(got(narrower)), await openGateway(got(wider))]
    expect([before.allows({ body: value }), after.allows({ body: value })]).toEqual([false, true])
    expect((await levelsOf(got(narrower), got(wider))).filter(isBreaking)).not.toEqual([])
    expect((await levelsOf(got(wider), got(narrower))).filter(isBreaking)).toEqual([])
  })

  const HARMLESS: readonly (readonly [what: string, before: unknown, after: unknown])[] = [
    ['enum with one value and const', { enum: ['a'] }, { const: 'a' }],
    ['the order of branches', { oneOf: [kind('a'), kind('b')] }, { oneOf: [kind('b'), kind('a')] }],
    ['an allOf and its merged form', { allOf: [object({ a: text }), { required: ['a'] }] }, object({ a: text }, ['a'])],
    ['the spellings of nullable', { type: ['string', 'null'] }, { anyOf: [{ type: 'null' }, text] }],
    [
      'a minimum: 0 that an exclusiveMinimum implies',
      number({ exclusiveMinimum: 0 }),
      number({ exclusiveMinimum: 0, minimum: 0 }),
    ],
    [
      'null as a type and as a branch',
      { type: ['object', 'null'], properties: { a: text }, required: ['a'] },
      { oneOf: [object({ a: text }, ['a']), { type: 'null' }] },
    ],
    [
      'null before and after the other branches',
      { anyOf: [{ type: 'null' }, object({ a: text }), { type: 'array', items: object({ b: text }) }] },
      { anyOf: [object({ a: text }), { type: 'array', items: object({ b: text }) }, { type: 'null' }] },
    ],
    ['an alternative that another one contains', text, { anyOf: [text, { const: 'a' }] }],
    ['a condition that always holds', text, { if: true, then: text }],
    ['an integer and a multiple of one', { type: 'integer' }, number({ multipleOf: 1 })],
  ]
  it.each(HARMLESS)('another form is no change: %s', async (_, before, after) => {
    for (const place of [sent, got]) {
      expect(await idsOf(place(before), place(after))).toEqual([])
      expect(await idsOf(place(after), place(before))).toEqual([])
    }
  })

  it('is compared across the spellings of 3.0 and 3.1', async () => {
    const old = { type: 'number', minimum: 0, exclusiveMinimum: true, nullable: true }
    const before = { ...sent(old), openapi: '3.0.3' }
    const after = sent({ type: ['number', 'null'], exclusiveMinimum: 0 })
    expect(await idsOf(before, after)).toEqual([])
    expect(await idsOf(after, before)).toEqual([])
  })

  it('is breaking in the boolean spelling of exclusiveMinimum as well', async () => {
    const old = (more: Json) => ({ ...sent({ type: 'number', minimum: 0, ...more }), openapi: '3.0.3' })
    const [before, after] = [old({}), old({ exclusiveMinimum: true })]
    const gateways = [await openGateway(before), await openGateway(after)]
    expect(gateways.map((gateway) => gateway.accepts({ body: 0 }))).toEqual([true, false])
    expect(await levelsOf(before, after)).toEqual(['breaking request.bound'])
    expect(await levelsOf(after, before)).toEqual([])
  })

  it('is compared beside a reference', async () => {
    const referring = (more: Json) =>
      toDocument(
        { requestBody: { content: json({ $ref: '#/components/schemas/S', ...more }) } },
        { schemas: { S: text } },
      )
    const gateways = [await openGateway(referring({})), await openGateway(referring({ maxLength: 3 }))]
    expect(gateways.map((gateway) => gateway.accepts({ body: 'abcd' }))).toEqual([true, false])
    expect(await levelsOf(referring({}), referring({ maxLength: 3 }))).toEqual(['breaking request.bound'])
    expect(await levelsOf(referring({ maxLength: 3 }), referring({}))).toEqual([])
  })

  it('is not compared beside a reference of 3.0, which ignores it', async () => {
    const referring = (more: Json) => ({
      ...toDocument(
        { requestBody: { content: json({ $ref: '#/components/schemas/S', ...more }) } },
        { schemas: { S: text } },
      ),
      openapi: '3.0.3',
    })
    const gateways = [await openGateway(referring({})), await openGateway(referring({ maxLength: 3 }))]
    expect(gateways.map((gateway) => gateway.accepts({ body: 'abcd' }))).toEqual([true, true])
    expect(await levelsOf(referring({}), referring({ maxLength: 3 }))).toEqual([])
  })
})

describe('A format', () => {
  const number = { type: 'number' }
  it.each([...Object.keys(fullFormats), 'unknown'])('%s is compared as the gateway enforces it', async (format) => {
    const texts = await openGateway(sent({ ...text, format }))
    const isText = !['', 'a b', '(', '%'].every((body) => texts.accepts({ body }))
    expect(await idsOf(sent(text), sent({ ...text, format }))).toEqual(isText ? ['request.format'] : [])
    const numbers = await openGateway(sent({ ...number, format }))
    const isNumber = ![1.5, 2 ** 40].every((body) => numbers.accepts({ body }))
    expect(await idsOf(sent(number), sent({ ...number, format }))).toEqual(isNumber ? ['request.format'] : [])
  })

  it('may be spelled as contentEncoding in a response of 3.1', async () => {
    const before = { ...got({ ...text, format: 'byte' }), openapi: '3.0.3' }
    expect(await idsOf(before, got({ ...text, contentEncoding: 'base64' }))).toEqual([])
    expect(await idsOf(before, got(text))).toEqual(['response.format'])
  })
})

describe('The direction of a property', () => {
  const having = (more: Json, required: string[] = []) => object({ id: { ...text, ...more } }, required)
  const breaking = async (before: unknown, after: unknown) =>
    (await idsOf(before, after)).filter((id) => !id.endsWith('added'))
  const readOnly = { readOnly: true }
  const writeOnly = { writeOnly: true }

  it('ignores a required readOnly property in requests', async () => {
    const [before, after] = [sent(having(readOnly)), sent(having(readOnly, ['id']))]
    expect((await openGateway(after)).accepts({ body: {} })).toBe(true)
    expect([await breaking(before, after), await breaking(after, before)]).toEqual([[], []])
  })

  it('ignores a required writeOnly property in responses', async () => {
    const [before, after] = [got(having(writeOnly, ['id'])), got(having(writeOnly))]
    expect((await openGateway(before)).allows({ body: {} })).toBe(true)
    expect([await breaking(before, after), await breaking(after, before)]).toEqual([[], []])
  })

  it('matters if a readOnly property becomes one that requests need, and not the other way', async () => {
    const [before, after] = [sent(having(readOnly, ['id'])), sent(having({}, ['id']))]
    const gateways = [await openGateway(before), await openGateway(after)]
    expect(gateways.map((gateway) => gateway.accepts({ body: {} }))).toEqual([true, false])
    expect(await breaking(before, after)).toEqual(['request.property.required'])
    expect(await breaking(after, before)).toEqual([])
  })

  it('matters if a property of responses becomes writeOnly, and not the other way', async () => {
    const [before, after] = [got(having({}, ['id'])), got(having(writeOnly, ['id']))]
    const gateways = [await openGateway(before), await openGateway(after)]
    expect(gateways.map((gateway) => gateway.allows({ body: {} }))).toEqual([false, true])
    expect(await breaking(before, after)).toEqual(['response.property.optional'])
    expect(await breaking(after, before)).toEqual([])
  })

  it('decides if a property changes between optional and required: breaking in one direction each', async () => {
    const [optional, required] = [having({}), having({}, ['id'])]
    expect(await breaking(sent(optional), sent(required))).toEqual(['request.property.required'])
    expect(await breaking(sent(required), sent(optional))).toEqual([])
    expect(await breaking(got(required), got(optional))).toEqual(['response.property.optional'])
    expect(await breaking(got(optional), got(required))).toEqual([])
  })
})

describe('A discriminator', () => {
  const branch = (name: string) => object({ kind: { const: name } }, ['kind'])
  const schemas = { A: branch('a'), B: branch('b') }
  const refs = ['A', 'B'].map((name) => ({ $ref: `#/components/schemas/${name}` }))
  const mapped = (mapping: Json) =>
    toDocument(
      { requestBody: { content: json({ oneOf: refs, discriminator: { propertyName: 'kind', mapping } }) } },
      { schemas },
    )
  const [a, b] = ['#/components/schemas/A', '#/components/schemas/B']

  it('whose mapping leads to another schema is breaking', async () => {
    expect(await idsOf(mapped({ a, b }), mapped({ a: b, b: a }))).toEqual(['discriminator.changed'])
  })

  it('whose mapping has one value less is breaking, and one with one value more is not', async () => {
    expect(await idsOf(mapped({ a, b }), mapped({ a }))).toEqual(['discriminator.changed'])
    expect(await idsOf(mapped({ a }), mapped({ a, b }))).toEqual([])
  })
})
