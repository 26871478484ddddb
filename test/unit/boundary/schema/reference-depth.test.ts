import { describe, expect, it } from 'vitest'
import { referenceDepth } from '../../../../src/boundary/schema/reference-depth.ts'

const to = (...names: string[]) => ({ allOf: names.map((name) => ({ $ref: `#/components/schemas/${name}` })) })

describe('the depth of references', () => {
  it('is that of the longest chain of components that are not compiled yet', () => {
    const chain = { a: to('b'), b: to('c'), c: to() }
    // Three levels per schema, and two per reference.
    expect(referenceDepth(chain, ['a', 'b', 'c'])).toEqual({ levels: 10, name: 'a' })
    expect(referenceDepth(chain, ['c', 'b', 'a'])).toEqual({ levels: 3, name: 'b' })
    expect(referenceDepth({}, [])).toEqual({ levels: 0, name: '' })
  })

  it('includes the levels at which the schemas refer to each other', () => {
    const deep = { items: { items: { items: { items: to('b') } } } }
    expect(referenceDepth({ a: { anyOf: [deep, to('b')] }, b: {} }, ['a', 'b']).levels).toBe(11)
    expect(referenceDepth({ a: deep, b: deep }, ['a', 'b']).levels).toBe(15)
  })

  it('ends at a circle, at a missing component and at data', () => {
    expect(referenceDepth({ a: to('b'), b: to('a', 'none', 'constructor') }, ['a', 'b']).levels).toBe(7)
    expect(referenceDepth({ a: { const: { $ref: 7 } }, b: { $ref: 'elsewhere' } }, ['a', 'b']).levels).toBe(2)
  })

  it('is found in a chain that would overflow the stack', () => {
    const names = Array.from({ length: 50_000 }, (_, index) => `n${index}`)
    const chain = Object.fromEntries(names.map((name, index) => [name, to(`n${index + 1}`)]))
    expect(referenceDepth(chain, names).levels).toBeGreaterThan(50_000)
  })
})
