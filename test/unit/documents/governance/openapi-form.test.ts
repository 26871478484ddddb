import { describe, expect, it } from 'vitest'
import { faultsOf, minimal, read } from './small-specifications.ts'

describe('a document', () => {
  it('has one fault for one wrong value, at its place', async () => {
    const deep = { type: 'array', items: { properties: { a: { allOf: [{ type: 'object', maxItem: 3 }] } } } }
    const content = { 'application/json': { schema: deep } }
    expect(await faultsOf(minimal({}, { requestBody: { content } }))).toEqual([
      '/paths/~1payments~1{id}/get/requestBody/content/application~1json/schema/items/properties/a/allOf/0/maxItem This member is not allowed here.',
    ])
    expect(await faultsOf(minimal({}, { parameters: [{ name: 'a', in: 'body', schema: {} }] }))).toEqual([
      '/paths/~1payments~1{id}/get/parameters/0/in The value must be one of "path", "query", "header", "cookie".',
    ])
  })

  it('compares a hundred thousand tags in one pass', async () => {
    const tags = Array.from({ length: 100_000 }, (_, index) => ({ name: `t${index}` }))
    expect((await read(minimal({ tags }))).operations).toHaveLength(1)
    expect(await faultsOf(minimal({ tags: [...tags, tags[0]] }))).toEqual([
      '/tags The value must not have two equal items.',
    ])
  })
})
