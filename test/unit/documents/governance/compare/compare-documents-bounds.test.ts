import { describe, expect, it } from 'vitest'
import { compareDocuments } from '../../../../../src/documents/governance/compare/compare-documents.ts'
import { createWorkBudget } from '../../../../../src/documents/governance/containment/work-budget.ts'
import { createRandom } from '../../../../random.ts'
import { randomDocument } from './random-schemas.ts'
import { edit } from './schema-edits.ts'
import { json, NOW_MS, object, read, sent, text, toDocument, type Json } from './small-documents.ts'

/** Operations whose bodies are alike but for a length, each with a schema of its own. */
function wide(count: number, maxLength: number): Json {
  const names = Array.from({ length: count }, (_, index) => `Part${index}`)
  const schemas = Object.fromEntries(names.map((name) => [name, object({ a: { ...text, maxLength } }, ['a'])]))
  const paths = Object.fromEntries(
    names.map((name) => {
      const requestBody = { content: json({ $ref: `#/components/schemas/${name}` }) }
      return [`/${name}`, { put: { operationId: name, requestBody, responses: { 200: { description: 'ok' } } } }]
    }),
  )
  return toDocument({}, { paths, schemas })
}

describe('A comparison that takes too much work', () => {
  it('ends soon after its steps are used up, and names the operations that were not compared', async () => {
    const [before, after] = [await read(wide(200, 9)), await read(wide(200, 8))]
    const budget = createWorkBudget(20_000)
    const changes = compareDocuments(before, after, NOW_MS, { budget })
    const [found, undecided] = [
      changes.filter(({ id }) => id === 'request.bound'),
      changes.filter(({ id }) => id === 'request.undecided'),
    ]
    expect(undecided).toMatchObject([{ level: 'breaking', pointer: '/paths' }])
    expect(undecided[0]?.message).toContain('the documents are too large to compare completely')
    const named = new Set([...found, ...undecided].flatMap(({ operations }) => operations))
    expect(named.size).toBe(200)
    expect(found.length).toBeLessThan(200)
    expect(budget.used).toBeLessThan(30_000)
  })

  it('ends in schemas that require or declare very many members', async () => {
    const names = Array.from({ length: 10_000 }, (_, index) => `n${index}`)
    const before = await read(sent({ type: 'object', required: names.slice(1) }))
    const required = compareDocuments(before, await read(sent({ type: 'object', required: names })), NOW_MS)
    expect(required).toMatchObject([{ id: 'request.property.required' }])
    const declared = (schema: Json, patterns: Json) =>
      sent({ ...object(Object.fromEntries(names.map((name) => [name, schema]))), patternProperties: patterns })
    const patterns = Object.fromEntries(names.map((name) => [`^${name}$`, text]))
    const [wide, narrow] = [await read(declared(text, patterns)), await read(declared({ ...text, maxLength: 1 }, {}))]
    expect(compareDocuments(wide, narrow, NOW_MS).map(({ id }) => id)).toContain('request.undecided')
  })

  it('gives the same result in every run', async () => {
    const [before, after] = [await read(wide(50, 9)), await read(wide(50, 8))]
    const compare = () => compareDocuments(before, after, NOW_MS, { budget: createWorkBudget(10_000) })
    expect(compare()).toEqual(compare())
  })

  it('takes no step for what is the same', async () => {
    const budget = createWorkBudget(1)
    expect(compareDocuments(await read(wide(50, 9)), await read(wide(50, 9)), NOW_MS, { budget })).toEqual([])
    expect(budget.used).toBe(0)
  })

  it('is not made longer by alternatives of security that are very many', async () => {
    const schemes = (name: string) =>
      toDocument({}, { security: Array.from({ length: 5_000 }, (_, index) => ({ key: [`${name}${index}`] })) })
    const changes = compareDocuments(await read(schemes('a')), await read(schemes('b')), NOW_MS)
    expect(changes).toMatchObject([{ id: 'request.undecided', operations: ['POST /things/{id}'] }])
  })
})

describe('What the comparison skips because it is the same', () => {
  it('changes no result: a document is compared with an edited one and its parts laid out anew', async () => {
    for (let seed = 1; seed <= 40; seed++) {
      const random = createRandom(seed)
      const one = randomDocument(random)
      const other = edit(random, one)
      const place = ({ schema, components }: typeof one, more: Json) => ({
        ...sent(schema),
        components: { ...(toDocument()['components'] as Json), ...components },
        ...more,
      })
      const [before, after] = [await read(place(one, {})), await read(place(other, {}))]
      const skipping = compareDocuments(before, after, NOW_MS)
      // A keyword that means nothing keeps each schema of the later document from being the same.
      const marked = JSON.parse(JSON.stringify(place(other, {})), mark) as Json
      const complete = compareDocuments(before, await read(marked), NOW_MS)
      expect(
        skipping.map(({ id, pointer }) => `${id} ${pointer}`),
        `seed ${seed}`,
      ).toEqual(complete.map(({ id, pointer }) => `${id} ${pointer}`))
    }
  })
})

/** Adds an extension to each schema that has a type. */
function mark(this: unknown, _: string, value: unknown): unknown {
  const isSchema = typeof value === 'object' && value !== null && 'type' in value && !('in' in value)
  return isSchema ? { ...value, 'x-marked': true } : value
}
