import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { compareDocuments } from '../../../../../src/documents/governance/compare/compare-documents.ts'
import { readSpecification } from '../../../../../src/documents/governance/specification.ts'
import { resolvePointer } from '../../../../../src/foundation/json/references.ts'
import { createRandom } from '../../../../random.ts'
import { idsOf, json, object, one, read, sent, text, toDocument, type Json } from './small-documents.ts'

describe('what is no change', () => {
  it('is another name of a parameter in the path', async () => {
    const renamed = JSON.parse(JSON.stringify(one).replace('{id}', '{key}').replace('"name":"id"', '"name":"key"'))
    expect(await idsOf(one, renamed)).toEqual([])
  })

  it('is a schema that is now referred to', async () => {
    const schema = object({ a: object({ b: text }, ['b']) }, ['a'])
    const referring = toDocument(
      { requestBody: { content: json({ $ref: '#/components/schemas/S' }) } },
      { schemas: { S: schema } },
    )
    expect(await idsOf(sent(schema), referring)).toEqual([])
  })

  it('is a schema that contains itself', async () => {
    const schemas = { Node: object({ next: { $ref: '#/components/schemas/Node' }, name: text }) }
    const tree = toDocument({ requestBody: { content: json({ $ref: '#/components/schemas/Node' }) } }, { schemas })
    expect(await idsOf(tree, structuredClone(tree))).toEqual([])
    const deeper = structuredClone(tree) as { components: { schemas: { Node: Json } } }
    deeper.components.schemas.Node['required'] = ['name']
    expect(await idsOf(tree, deeper)).toEqual(['request.property.required'])
  })

  it('is what stands in the place of a reference, and how the text is laid out', async () => {
    const bytes = readFileSync(join(import.meta.dirname, '../../../../../src/app/sample/payments.openapi.yaml'))
    const specification = await readSpecification(bytes)
    const inlined = await read(inline(specification.document, specification.document, []))
    const laidOut = await readSpecification(Buffer.from(JSON.stringify(specification.document, null, 7)))
    for (const other of [inlined, laidOut]) {
      expect(compareDocuments(specification, other)).toEqual([])
      expect(compareDocuments(other, specification)).toEqual([])
    }
  })

  it('is the spelling of a whole document in 3.0 and in 3.1', async () => {
    const spell = (openapi: string, { Money, Kind, Note, Count, File }: Record<string, Json>) => {
      const [money, kind, note, count] = ['Money', 'Kind', 'Note', 'Count'].map((name) => ({
        $ref: `#/components/schemas/${name}`,
      }))
      const order = object({ money, kind, note, counts: { type: 'array', items: count } }, ['money'])
      const content = { ...json(order), 'application/octet-stream': { schema: File } }
      const parameters = [{ name: 'count', in: 'query', schema: count }]
      const answers = { 200: { description: 'ok', content: json(order), headers: { 'X-Count': { schema: count } } } }
      const document = toDocument(
        { requestBody: { required: true, content }, parameters, responses: answers },
        { schemas: { Money, Kind, Note, Count } },
      )
      return { ...document, openapi }
    }
    const old = spell('3.0.3', {
      Money: { type: 'number', minimum: 0, exclusiveMinimum: true, maximum: 9, exclusiveMaximum: false, example: 1 },
      Kind: { ...text, enum: ['a', 'b', null], nullable: true },
      Note: { nullable: true, allOf: [text], type: 'string' },
      Count: { type: 'integer', nullable: true, default: 1, minimum: 0, exclusiveMinimum: false },
      File: { ...text, format: 'binary' },
    })
    const now = spell('3.1.0', {
      Money: { type: 'number', exclusiveMinimum: 0, maximum: 9, examples: [1] },
      Kind: { anyOf: [{ const: 'a' }, { const: 'b' }, { type: 'null' }] },
      Note: { type: ['string', 'null'], allOf: [{ ...text }] },
      Count: { type: ['integer', 'null'], default: 1, minimum: 0 },
      File: {},
    })
    expect(await idsOf(old, now)).toEqual([])
    expect(await idsOf(now, old)).toEqual([])
  })

  it.each(['payments.openapi.yaml'])('is the order of anything in %s', async (file) => {
    const bytes = readFileSync(join(import.meta.dirname, '../../../../../src/app/sample', file))
    const specification = await readSpecification(bytes)
    for (let seed = 1; seed <= 5; seed++) {
      const shuffled = await read(shuffle(specification.document, createRandom(seed)))
      expect(compareDocuments(specification, shuffled), `seed ${seed}`).toEqual([])
      expect(compareDocuments(shuffled, specification), `seed ${seed}`).toEqual([])
    }
  })
})

/** The same members in another order; lists keep theirs. */
function shuffle(value: unknown, random: ReturnType<typeof createRandom>): unknown {
  if (Array.isArray(value)) return value.map((each) => shuffle(each, random))
  if (typeof value !== 'object' || value === null) return value
  const entries = Object.entries(value).map(([key, inner]) => [random.next(), key, shuffle(inner, random)] as const)
  return Object.fromEntries(entries.sort(([a], [b]) => a - b).map(([, key, inner]) => [key, inner]))
}

/** The value with references replaced by what they lead to, where that does not hold itself. */
function inline(document: unknown, value: unknown, within: readonly string[]): unknown {
  if (Array.isArray(value)) return value.map((item) => inline(document, item, within))
  if (typeof value !== 'object' || value === null) return value
  const reference = (value as Json)['$ref']
  if (typeof reference === 'string' && !within.includes(reference)) {
    return inline(document, resolvePointer(document, reference), [...within, reference])
  }
  return Object.fromEntries(Object.entries(value).map(([key, inner]) => [key, inline(document, inner, within)]))
}
