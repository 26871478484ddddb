import { describe, expect, it } from 'vitest'
import { compareDocuments } from '../../../../src/governance/compare/compare-documents.ts'
import { idsOf, NOW_MS, object, read, sent, text } from './small-documents.ts'

describe('A property that only a condition of the new schema declares', () => {
  const CONDITIONS = [
    ['dependentSchemas', { dependentSchemas: { a: { properties: { c: { type: 'integer' } } } } }],
    ['then', { if: { required: ['a'] }, then: { properties: { c: { type: 'integer' } } } }],
  ] as const

  it.each(CONDITIONS)('is information: %s', async (_, condition) => {
    const [before, after] = [object({ a: text }), object({ a: text }, [], condition)]
    expect(await idsOf(sent(before), sent(after))).toEqual(['request.property.added'])
    const changes = compareDocuments(await read(sent(before)), await read(sent(after)), NOW_MS)
    expect(changes[0]).toMatchObject({ level: 'info', pointer: expect.stringMatching(/\/properties\/c$/) as string })
  })

  it.each(CONDITIONS)('is breaking if the property was declared already: %s', async (_, condition) => {
    const before = object({ a: text, c: text })
    expect(await idsOf(sent(before), sent({ ...before, ...condition }))).toEqual(['request.narrowed'])
  })
})
