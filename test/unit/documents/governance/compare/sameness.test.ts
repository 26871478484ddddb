import { describe, expect, it } from 'vitest'
import { createSameness } from '../../../../../src/documents/governance/compare/sameness.ts'
import { object, text, type Json } from './small-documents.ts'

const ref = (name: string) => ({ $ref: `#/components/schemas/${name}` })
const documentOf = (schemas: unknown) => ({ components: { schemas } })

/** Whether a reference to `A` is the same in documents with these components. */
const isSame = (before: unknown, after: unknown, value: unknown = ref('A')): boolean =>
  createSameness(documentOf(before), documentOf(after)).isSame(value, structuredClone(value))

describe('Two parts of documents', () => {
  it('are the same if what they refer to is the same, in any order of members', () => {
    const schemas = { A: object({ b: ref('B'), c: text }), B: text }
    expect(isSame(schemas, { B: text, A: object({ c: text, b: ref('B') }) })).toBe(true)
  })

  it('differ if something that they lead to differs', () => {
    const schemas = (last: unknown) => ({ A: object({ b: ref('B') }), B: object({ c: ref('C') }), C: last })
    expect(isSame(schemas(text), schemas({ type: 'number' }))).toBe(false)
    expect(isSame(schemas(text), schemas(undefined))).toBe(false)
  })

  it('are the same if they refer to each other, and differ if one part of the circle differs', () => {
    const circle = (more: Json) => ({ A: object({ b: ref('B') }), B: object({ a: ref('A') }, [], more) })
    expect(isSame(circle({}), circle({}))).toBe(true)
    expect(isSame(circle({}), circle({ maxProperties: 1 }))).toBe(false)
  })

  it('keep what was found when a later question leads to the same component', () => {
    const schemas = (last: unknown) => ({ A: object({ b: ref('B') }), B: last, C: object({ a: ref('A') }) })
    const sameness = createSameness(documentOf(schemas(text)), documentOf(schemas({})))
    expect([sameness.isSame(ref('A'), ref('A')), sameness.isSame(ref('C'), ref('C'))]).toEqual([false, false])
  })

  it('are the same if only titles, descriptions and examples differ', () => {
    const before = { ...text, title: 'a', description: 'b', example: 'c' }
    expect(isSame({ A: before }, { A: text })).toBe(true)
  })

  it.each([
    ['a property named description', { properties: { description: text } }, { properties: {} }],
    ['a property named example', { properties: { example: text } }, { properties: { example: { type: 'null' } } }],
    ['a mapping of the name title', { mapping: { title: '#/a' } }, { mapping: { title: '#/b' } }],
    ['a description within a constant', { const: { description: 'a' } }, { const: { description: 'b' } }],
    ['a property named __proto__', JSON.parse('{"properties": {"__proto__": {}}}'), { properties: {} }],
    ['the order of an enum', { enum: ['a', 'b'] }, { enum: ['b', 'a'] }],
  ])('differ by %s', (_, before, after) => {
    expect(isSame({ A: before }, { A: after })).toBe(false)
    expect(isSame({ A: after }, { A: before })).toBe(false)
  })
})
