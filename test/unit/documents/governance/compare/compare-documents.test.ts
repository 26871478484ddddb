import { describe, expect, it } from 'vitest'
import { RULES, type RuleId } from '../../../../../src/documents/governance/compare/change-rules.ts'
import { compareDocuments } from '../../../../../src/documents/governance/compare/compare-documents.ts'
import { readSpecification } from '../../../../../src/documents/governance/specification.ts'
import { CASES } from './rule-cases.ts'
import { idsOf, json, NOW_MS, object, read, text, toDocument } from './small-documents.ts'
import { readGithubDocument } from '../../../../fixtures/real-documents.ts'

describe('a change of', () => {
  it.each(CASES.map(([there, back, what, before, after]) => [what, there, back, before, after] as const))(
    '%s is %s, and the other way %s',
    async (_, there, back, before, after) => {
      expect(await idsOf(before, after)).toEqual(there === null ? [] : [there])
      expect(await idsOf(after, before)).toEqual(back === null ? [] : [back])
    },
  )

  it('is known by every rule', () => {
    const shown = new Set(CASES.flatMap(([there, back]) => [there, back]))
    expect(Object.entries(RULES).filter(([id, [level]]) => level !== 'off' && !shown.has(id as RuleId))).toEqual([])
  })
})

it('finds what was taken from a very large document, and nothing where nothing was', async () => {
  const document = JSON.parse(readGithubDocument().toString()) as { paths: Record<string, unknown> }
  const before = await read(document)
  expect(compareDocuments(before, await read(structuredClone(document)))).toEqual([])
  const after = structuredClone(document)
  delete after.paths['/emojis']
  expect(compareDocuments(before, await read(after))).toMatchObject([
    { id: 'operation.removed', level: 'breaking', pointer: '/paths/~1emojis/get' },
  ])
})

describe('A property named __proto__', () => {
  it('is compared like any other, also where allOf merges properties', async () => {
    const version = (properties: string): string => {
      const schema = `{"allOf": [{"type": "object", "properties": ${properties}}]}`
      const responses = `{"200": {"description": "ok", "content": {"application/json": {"schema": ${schema}}}}}`
      return (
        '{"openapi": "3.1.0", "info": {"title": "T", "version": "1.0.0"}, ' +
        `"paths": {"/a": {"get": {"operationId": "a", "responses": ${responses}}}}}`
      )
    }
    const previous = await readSpecification(Buffer.from(version('{"__proto__": {"type": "string"}, "a": {}}')))
    const next = await readSpecification(Buffer.from(version('{"a": {}}')))
    const ids = compareDocuments(previous, next, NOW_MS).map(({ id }) => id)
    expect(ids).toEqual(['response.property.removed'])
  })
})

describe('A change', () => {
  it('names every operation that it affects and its places in both documents', async () => {
    const document = (maxLength: number, schema: string) => {
      const body = { requestBody: { content: json({ $ref: `#/components/schemas/${schema}` }) } }
      const put = { operationId: 'put', responses: { 200: { description: 'ok' } }, ...body }
      return toDocument(body, {
        paths: { '/others': { put } },
        schemas: { [schema]: object({ a: { ...text, maxLength } }) },
      })
    }
    const changes = compareDocuments(await read(document(9, 'Old')), await read(document(8, 'New')))
    expect(changes).toEqual([
      {
        id: 'request.bound',
        level: 'breaking',
        pointer: '/components/schemas/New/properties/a/maxLength',
        previousPointer: '/components/schemas/Old/properties/a/maxLength',
        message: 'A bound in the request became stricter, so some valid values became invalid. (maxLength 8)',
        operations: ['POST /things/{id}', 'PUT /others'],
      },
    ])
  })
})
