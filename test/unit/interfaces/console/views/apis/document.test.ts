import { describe, expect, it } from 'vitest'
import { readApiDocument } from '../../../../../../src/interfaces/console/views/apis/document.ts'
import { exampleOf } from '../../../../../../src/interfaces/console/views/apis/schema-example.ts'

const operationsOf = (paths: unknown, more: object = {}) => readApiDocument({ paths, ...more }).operations

describe('the operations of a document', () => {
  it('have their parameters, bodies and responses, with references followed', () => {
    const schema = { type: 'string' }
    const components = {
      parameters: { page: { name: 'page', in: 'query', schema: { $ref: '#/components/schemas/A~1b~0c' } } },
      schemas: { 'A/b~c': schema },
    }
    const get = {
      operationId: 'list',
      parameters: [{ $ref: '#/components/parameters/page' }, { name: 'id', in: 'path', required: true, example: 7 }],
      responses: { 200: { description: 'ok', content: { 'text/plain': { schema, example: 'a' } } } },
    }
    const parameters = [
      { name: 'page', in: 'query', description: 'of the path, replaced' },
      { name: 'x-shop', in: 'header' },
    ]
    const [operation] = operationsOf({ '/a/{id}': { parameters, get } }, { components })
    expect(operation).toMatchObject({
      ...{ key: 'list', method: 'GET', path: '/a/{id}', body: null },
      parameters: [
        { name: 'page', place: 'query', isRequired: false, description: '', schema },
        { name: 'id', place: 'path', isRequired: true, example: 7 },
        { name: 'x-shop', place: 'header' },
      ],
      responses: [{ status: '200', contents: [{ mediaType: 'text/plain', schema, example: 'a' }] }],
    })
  })

  it('are named by method and path without an id', () => {
    expect(operationsOf({ '/a': { post: {} } })).toMatchObject([{ key: 'POST /a' }])
  })

  it.each<{ readonly paths: unknown }>([
    { paths: null },
    { paths: [] },
    { paths: 'text' },
    { paths: { '/a': null } },
    { paths: { '/a': { get: null, post: 5, parameters: 'x' } } },
    {
      paths: {
        '/a': { get: { parameters: [null, 5, {}], tags: [{}], responses: [], requestBody: null, summary: {} } },
      },
    },
    { paths: { '/a': { $ref: '#/paths/~1a' } } },
    { paths: { '/a': { $ref: 'https://evil.example/' } } },
    {
      paths: {
        '/a': { get: { parameters: [{ $ref: '#/__proto__/constructor' }], responses: { 200: { $ref: '#/paths' } } } },
      },
    },
    { paths: { 'x-a': { get: {} }, constructor: { get: {} } } },
  ])('may be anything: %j', ({ paths }) => {
    for (const { key, summary, tag, parameters } of operationsOf(paths)) {
      expect([typeof key, typeof summary, typeof tag]).toEqual(['string', 'string', 'string'])
      expect(parameters).toEqual([])
    }
  })
})

describe('an example of a schema', () => {
  it('ends for a schema that contains itself', () => {
    const { resolve } = readApiDocument({
      components: {
        schemas: { Tree: { properties: { left: { $ref: '#/components/schemas/Tree' }, name: { type: 'string' } } } },
      },
    })
    const text = JSON.stringify(exampleOf({ $ref: '#/components/schemas/Tree' }, resolve))
    expect(text.length).toBeLessThan(1_000)
    expect(text).toContain('"name":"text"')
  })

  it('stays small for a schema in which every level contains the next one many times', () => {
    const wide = (next: string) =>
      Object.fromEntries(
        Array.from({ length: 40 }, (_, number) => [`p${number}`, { $ref: `#/components/schemas/${next}` }]),
      )
    const levels = Array.from(
      { length: 7 },
      (_, level) => [`S${level}`, { properties: wide(`S${level + 1}`) }] as const,
    )
    const { resolve } = readApiDocument({ components: { schemas: Object.fromEntries(levels) } })
    expect(JSON.stringify(exampleOf({ $ref: '#/components/schemas/S0' }, resolve)).length).toBeLessThan(100_000)
  })

  it('prefers the values that the schema gives', () => {
    const { resolve } = readApiDocument({})
    const schema = {
      required: ['a'],
      properties: {
        a: { type: 'string', example: 'given' },
        b: { enum: ['first', 'second'] },
        c: { type: ['null', 'integer'], minimum: 3 },
        d: { const: false },
        e: { type: 'array', items: { type: 'string', format: 'date' } },
        f: { oneOf: [{ type: 'boolean' }] },
        g: { type: 'string', readOnly: true },
      },
    }
    expect(exampleOf(schema, resolve)).toEqual({ a: 'given', b: 'first', c: 3, d: false, e: ['2026-01-31'], f: true })
  })
})

describe('the description of a document', () => {
  it.each([
    ['a text that was\nwrapped\n\nand a paragraph', 'a text that was wrapped\n\nand a paragraph'],
    ['a list:\n- one\n- two\n1. first', 'a list:\n- one\n- two\n1. first'],
    ['code:\n```\na\nb\n```', 'code:\n```\na\nb\n```'],
  ])('%j has its lines joined where Markdown joins them', (description, shown) => {
    expect(readApiDocument({ info: { description } }).description).toBe(shown)
  })
})
