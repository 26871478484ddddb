import { expect, it } from 'vitest'
import { referencedFirst } from '../../../../src/boundary/schema/reference-order.ts'

const to = (...names: string[]) => ({ oneOf: names.map((name) => ({ $ref: `#/components/schemas/${name}` })) })

it('puts each schema after those that it refers to', () => {
  const schemas = { c: to('b', 'a'), a: {}, b: { properties: { $ref: { type: 'string' }, a: to('a') } }, d: true }
  expect([...referencedFirst(schemas)]).toEqual(['a', 'b', 'c', 'd'])
})

it('names each schema of a circle once, and ignores references to nothing', () => {
  const schemas = { a: to('b'), b: to('c', 'toString', '__proto__'), c: to('a') }
  expect([...referencedFirst(schemas)]).toEqual(['c', 'b', 'a'])
})

it('follows a long chain without recursion', () => {
  const count = 100_000
  const schemas = Object.fromEntries(Array.from({ length: count }, (_, index) => [`s${index}`, to(`s${index + 1}`)]))
  const names = [...referencedFirst(schemas)]
  expect([names.length, names[0]]).toEqual([count, `s${count - 1}`])
})
