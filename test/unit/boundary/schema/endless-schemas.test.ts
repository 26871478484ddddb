import { expect, it } from 'vitest'
import { findEndlessSchemas } from '../../../../src/boundary/schema/endless-schemas.ts'

const to = (name: string) => ({ $ref: `#/components/schemas/${name}` })

it('finds schemas that apply themselves to the same value', () => {
  expect(findEndlessSchemas({ A: to('A') })).toEqual(['A'])
  expect(
    findEndlessSchemas({ A: { allOf: [to('B')] }, B: { if: { not: to('C') } }, C: { oneOf: [true, to('A')] } }),
  ).toEqual(['A'])
  expect(findEndlessSchemas({ A: { dependentSchemas: { a: to('A') } } })).toEqual(['A'])
})

it('finds one schema of each circle', () => {
  expect(findEndlessSchemas({ A: to('B'), B: to('B'), C: { anyOf: [to('D')] }, D: to('C') })).toEqual(['B', 'C'])
})

it('accepts schemas that refer to themselves from members and items', () => {
  const A = { properties: { a: to('A') }, items: to('A'), additionalProperties: to('B'), propertyNames: to('B') }
  expect(findEndlessSchemas({ A, B: { contains: to('A'), allOf: [to('C'), to('C')] }, C: to('missing') })).toEqual([])
})

it('follows a long chain', () => {
  const chain = Array.from({ length: 50_000 }, (_, index) => [`S${index}`, to(`S${index + 1}`)])
  expect(findEndlessSchemas(Object.fromEntries([...chain, ['S50000', to('S0')]]))).toEqual(['S0'])
})
