import { describe, expect, it } from 'vitest'
import { compareDocuments } from '../../../../src/governance/compare/compare-documents.ts'
import { got, idsOf, json, NOW_MS, object, read, sent, text, toDocument, type Json } from './small-documents.ts'

describe('A change of a keyword that the gateway enforces', () => {
  const array = (more: Json) => ({ type: 'array', items: text, ...more })
  const number = (more: Json) => ({ type: 'number', ...more })
  const open = (more: Json) => ({ type: 'object', ...more })
  const kind = (name: string) => object({ kind: { const: name } }, ['kind'])
  const NARROWING: readonly (readonly [what: string, before: unknown, after: unknown])[] = [
    ['an added multipleOf', number({}), number({ multipleOf: 2 })],
    ['a stricter multipleOf', number({ multipleOf: 2 }), number({ multipleOf: 4 })],
    ['an added minimum: 0', number({}), number({ minimum: 0 })],
    ['an added exclusiveMinimum', number({ minimum: 0 }), number({ exclusiveMinimum: 0 })],
    ['an added maximum', number({}), number({ maximum: 10 })],
    ['an added pattern', text, { ...text, pattern: '^[a-z]+$' }],
    ['an added format', text, { ...text, format: 'email' }],
    ['an added uniqueItems', array({}), array({ uniqueItems: true })],
    ['a narrower items', array({ items: {} }), array({})],
    ['an added prefixItems', array({ items: {} }), array({ items: {}, prefixItems: [text] })],
    ['an added contains', array({}), array({ contains: { const: 'a' } })],
    ['an added maxContains', array({ contains: text }), array({ contains: text, maxContains: 1 })],
    [
      'an added unevaluatedItems',
      array({ items: undefined }),
      { type: 'array', prefixItems: [{}], unevaluatedItems: false },
    ],
    ['an additionalProperties with a schema', open({}), open({ additionalProperties: text })],
    ['an added patternProperties', open({}), open({ patternProperties: { '^x-': text } })],
    ['an added propertyNames', open({}), open({ propertyNames: { pattern: '^[a-z]+$' } })],
    ['an added dependentRequired', open({}), open({ dependentRequired: { a: ['b'] } })],
    ['an added dependentSchemas', open({}), open({ dependentSchemas: { a: { required: ['b'] } } })],
    ['an added unevaluatedProperties', object({ a: text }), object({ a: text }, [], { unevaluatedProperties: false })],
    ['a boolean schema', object({ a: text }), object({ a: false })],
    ['an added not', text, { ...text, not: { const: '' } }],
    ['an added if', open({}), open({ if: { required: ['a'] }, then: { required: ['b'] } })],
    ['an added sibling of allOf', { allOf: [text] }, { allOf: [text], maxLength: 3 }],
    ['a removed branch of anyOf', { anyOf: [text, { type: 'null' }] }, { anyOf: [text] }],
    ['a removed branch of oneOf', { oneOf: [kind('a'), kind('b')] }, { oneOf: [kind('b')] }],
    ['a property that becomes required', object({ a: text }), object({ a: text }, ['a'])],
    ['a value removed from an enum', { enum: ['a', 'b'] }, { const: 'a' }],
  ]
  it.each(NARROWING)('%s is breaking in a request, and its removal is not', async (_, before, after) => {
    const levels = async (one: unknown, other: unknown) =>
      compareDocuments(await read(one), await read(other), NOW_MS).map(({ level, id }) => `${level} ${id}`)
    const there = await levels(sent(before), sent(after))
    expect(there.filter((each) => each.startsWith('breaking') && !each.endsWith('undecided'))).not.toEqual([])
    expect((await levels(sent(after), sent(before))).filter((each) => each.startsWith('breaking'))).toEqual([])
  })

  it.each(NARROWING)('%s is compatible in a response, and its removal is breaking', async (_, before, after) => {
    const breaking = async (one: unknown, other: unknown) =>
      compareDocuments(await read(one), await read(other), NOW_MS).filter(({ level }) => level === 'breaking')
    expect(await breaking(got(before), got(after))).toEqual([])
    expect(await breaking(got(after), got(before))).not.toEqual([])
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

  it('is compared beside a reference', async () => {
    const schemas = { S: text }
    const referring = (more: Json) =>
      toDocument({ requestBody: { content: json({ $ref: '#/components/schemas/S', ...more }) } }, { schemas })
    expect(await idsOf(referring({}), referring({ maxLength: 3 }))).toEqual(['request.bound'])
  })

  it('ignores readOnly properties in requests and writeOnly ones in responses', async () => {
    const required = (more: Json) => object({ id: { ...text, ...more } }, ['id'])
    expect(await idsOf(sent(object({ id: { ...text, readOnly: true } })), sent(required({ readOnly: true })))).toEqual(
      [],
    )
    expect(await idsOf(got(required({ writeOnly: true })), got(object({ id: { ...text, writeOnly: true } })))).toEqual(
      [],
    )
  })
})
