import { expect, it } from 'vitest'
import { findMisledReferences } from '../../../../src/documents/governance/reference-kinds.ts'
import { REAL_DOCUMENTS, readRealDocument } from '../../../fixtures/real-documents.ts'
import { parseDocumentBytes } from '../../../../src/documents/governance/parse-document.ts'

const pointersOf = (document: object) => findMisledReferences(document).map(({ pointer }) => pointer)

it('reports one reference of a circle, and the one that makes a chain too long', () => {
  const chain = Array.from({ length: 20 }, (_, index) => [
    `p${index}`,
    { $ref: `#/components/parameters/p${index + 1}` },
  ])
  const parameters = {
    ...Object.fromEntries(chain),
    p20: { name: 'a', in: 'query' },
    a: { $ref: '#/components/parameters/b' },
    b: { $ref: '#/components/parameters/a' },
  }
  expect(pointersOf({ components: { parameters } })).toEqual([
    '/components/parameters/p3/$ref',
    '/components/parameters/a/$ref',
  ])
})

it('accepts a reference to an object of unknown kind, and in data', () => {
  const schema = { type: 'object', properties: { $ref: { type: 'string' } }, example: { $ref: '#/info' } }
  const document = {
    info: { title: 'A' },
    'x-shared': { a: { name: 'a', in: 'query' } },
    paths: { '/a': { get: { parameters: [{ $ref: '#/x-shared/a' }] } } },
    components: {
      schemas: {
        A: schema,
        B: { $ref: '#/components/schemas/A/properties/$ref' },
        C: true,
        D: { $ref: '#/components/schemas/C' },
      },
    },
  }
  expect(pointersOf(document)).toEqual([])
})

it('accepts a reference to a callback', () => {
  const callbacks = { done: { '{$url}': { post: { responses: {} } } } }
  const paths = { '/a': { put: { callbacks: { finished: { $ref: '#/components/callbacks/done' } } } } }
  expect(pointersOf({ paths, components: { callbacks } })).toEqual([])
  expect(pointersOf({ components: { callbacks }, paths })).toEqual([])
})

it('does not check the schemas of responses', () => {
  const content = { 'text/plain': { schema: { $ref: '#/info' } } }
  expect(pointersOf({ info: {}, components: { responses: { A: { content } } } })).toEqual([])
  expect(pointersOf({ info: {}, components: { requestBodies: { A: { content } } } })).toHaveLength(1)
})

it('follows callbacks, headers of encodings, and lists of schemas', () => {
  const broken = { $ref: '#/info' }
  const operation = {
    callbacks: { done: { '{$url}': { post: { parameters: [broken] } } } },
    requestBody: { content: { a: { encoding: { b: { headers: { c: broken } } }, schema: { allOf: [broken] } } } },
  }
  expect(pointersOf({ info: {}, paths: { '/a': { put: operation } } })).toEqual([
    '/paths/~1a/put/requestBody/content/a/schema/allOf/0/$ref',
    '/paths/~1a/put/requestBody/content/a/encoding/b/headers/c/$ref',
    '/paths/~1a/put/callbacks/done/{$url}/post/parameters/0/$ref',
  ])
})

it.each(REAL_DOCUMENTS.slice(0, 12))('finds no fault in the document of $name', (real) => {
  const parsed = parseDocumentBytes(readRealDocument(real))
  expect('value' in parsed && findMisledReferences(parsed.value)).toEqual([])
})
