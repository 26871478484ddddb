import { describe, expect, it } from 'vitest'
import { compileValidators } from '../../../../src/gateway/validation/validate.ts'
import { compileDocument } from '../../../../src/control/publishing/compiled-document.ts'
import { unpackDocument } from '../../../../src/boundary/plan/packed-plan.ts'
import { Problem } from '../../../../src/foundation/domain/problem.ts'
import { judge } from '../../../../src/documents/governance/serving/verdict.ts'
import { readSpecification } from '../../../../src/documents/governance/specification.ts'

const AT = '/paths/~1a/post/requestBody/content/application~1json/schema'

function documentOf(schema: unknown, schemas: object = {}, openapi = '3.1.0'): Buffer {
  const post = {
    requestBody: { content: { 'application/json': { schema } } },
    responses: { 200: { description: 'ok' } },
  }
  const info = { title: 'A', version: '1.0.0' }
  return Buffer.from(
    JSON.stringify({ openapi, info, security: [], paths: { '/a': { post } }, components: { schemas } }),
  )
}

const faultsOf = (bytes: Buffer) => judge(bytes).faults.map(({ pointer, detail }) => `${pointer} ${detail}`)

async function isActivated(bytes: Buffer): Promise<boolean> {
  try {
    const specification = await readSpecification(bytes)
    await compileValidators({
      ...(await unpackDocument(compileDocument(specification))),
      api: specification.technicalName,
      state: 'Active',
      tenant: 't',
      revision: 1,
      backend: null,
      allowedScopes: [],
      memberOfProductIds: [],
    })
    return true
  } catch (cause) {
    if (cause instanceof Problem) return false
    throw cause
  }
}

describe('the faults of schemas', () => {
  it.each<[string, unknown, string]>([
    ['a type that does not exist', { items: { type: 'strin' } }, `${AT}/items/type The value must be one of`],
    [
      'a negative length',
      { properties: { 'a/b': { minLength: -1 } } },
      `${AT}/properties/a~1b/minLength The value must be >= 0.`,
    ],
    ['a name twice', { required: ['a', 'a'] }, `${AT}/required The value must NOT have duplicate items`],
    ['a list for items', { items: [{}] }, `${AT}/items The value must be object,boolean.`],
  ])('name the one cause and its place: %s', (_, schema, expected) => {
    const faults = faultsOf(documentOf(schema))
    expect(faults).toHaveLength(1)
    expect(faults[0]).toContain(expected)
  })

  it('have the place of a component, once, however many schemas refer to it', () => {
    const reference = { $ref: '#/components/schemas/Card' }
    const schemas = { Card: { properties: { a: { maximum: 'x' } } }, Other: { allOf: [reference, reference] } }
    expect(faultsOf(documentOf({ anyOf: [reference, { $ref: '#/components/schemas/Other' }] }, schemas))).toEqual([
      '/components/schemas/Card/properties/a/maximum The value must be number.',
    ])
  })

  it('do not include patterns with more escapes than the flag u allows', () => {
    expect(faultsOf(documentOf({ type: 'string', pattern: '^[a\\-z]\\_$' }))).toEqual([])
  })

  it.each([
    [
      'data that is used as a schema',
      documentOf({ $ref: '#/components/schemas/A/example' }, { A: { example: { type: 'no' } } }, '3.0.3'),
    ],
    ['a part of the document that is used as a schema', documentOf({ $ref: '#/info' })],
  ])('agree with activation on %s', async (_, bytes) => {
    expect(faultsOf(bytes).length === 0).toBe(await isActivated(bytes))
  })

  it('agree with activation on long chains of references', { timeout: 120_000 }, async () => {
    for (const length of [40, 99, 101, 400, 900]) {
      const schemas = Object.fromEntries(
        Array.from({ length }, (_, index) => [`N${index}`, { items: { $ref: `#/components/schemas/N${index + 1}` } }]),
      )
      const first = { $ref: '#/components/schemas/N0' }
      const chain = documentOf(first, { ...schemas, [`N${length}`]: {} })
      expect([length, faultsOf(chain), await isActivated(chain)]).toEqual([length, [], true])
      const circle = documentOf(first, { ...schemas, [`N${length}`]: { items: first } })
      expect([length, faultsOf(circle).length]).toEqual([length, length < 100 ? 0 : 1])
      expect(await isActivated(circle)).toBe(length < 100)
    }
  })

  it('name the schema whose references are nested too deeply', () => {
    const nested = (levels: number, inner: object): object =>
      levels === 0 ? inner : { items: nested(levels - 1, inner) }
    const to = (name: string) => ({ $ref: `#/components/schemas/${name}` })
    const schemas = { A: nested(120, to('B')), B: nested(120, to('C')), C: nested(120, to('A')) }
    expect(faultsOf(documentOf(to('A'), schemas))).toEqual([
      expect.stringMatching(
        /^\/components\/schemas\/[ABC] The schema and those that it refers to are nested more than 300/,
      ),
    ])
  })
})
