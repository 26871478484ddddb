import { describe, expect, it } from 'vitest'
import { referenceDepth } from '../../../src/schema/reference-depth.ts'

const to = (...names: string[]) => ({ allOf: names.map((name) => ({ $ref: `#/components/schemas/${name}` })) })

describe('the depth of references', () => {
  it('is that of the longest chain of components that are not compiled yet', () => {
    const chain = { a: to('b'), b: to('c'), c: to() }
    expect(referenceDepth(chain, ['a', 'b', 'c'])).toBe(3)
    expect(referenceDepth(chain, ['c', 'b', 'a'])).toBe(1)
    expect(referenceDepth({}, [])).toBe(0)
  })

  it('ends at a circle, at a missing component and at data', () => {
    expect(referenceDepth({ a: to('b'), b: to('a', 'none', 'constructor') }, ['a', 'b'])).toBe(2)
    expect(referenceDepth({ a: { const: { $ref: 7 } }, b: { $ref: 'elsewhere' } }, ['a', 'b'])).toBe(1)
  })

  it('is found in a chain that would overflow the stack', () => {
    const names = Array.from({ length: 50_000 }, (_, index) => `n${index}`)
    const chain = Object.fromEntries(names.map((name, index) => [name, to(`n${index + 1}`)]))
    expect(referenceDepth(chain, names)).toBe(50_000)
  })
})
