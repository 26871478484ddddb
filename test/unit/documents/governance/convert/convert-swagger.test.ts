import { describe, expect, it } from 'vitest'
import { parse } from 'yaml'
import {
  CONVERTED_FROM,
  convertSwagger,
  isSwagger,
} from '../../../../../src/documents/governance/convert/convert-swagger.ts'
import type { Fields } from '../../../../../src/foundation/json/fields.ts'
import { SWAGGER } from '../../../../fixtures/swagger-document.ts'

async function convert(document: unknown): Promise<Fields> {
  const result = await convertSwagger(document as Fields)
  if ('fault' in result) throw new Error(result.fault)
  return result.document
}

async function faultOf(document: unknown): Promise<string> {
  const result = await convertSwagger(document as Fields)
  return 'fault' in result ? result.fault : 'none'
}

const swaggerOf = (operation: object, more: object = {}): object => ({
  swagger: '2.0',
  info: { title: 'Stock', version: '1.0.0' },
  paths: { '/counts': { post: { responses: { 200: { description: 'ok' } }, ...operation } } },
  ...more,
})

describe('the conversion of Swagger 2.0', () => {
  it('recognises the version with and without quotes, and no OpenAPI 3', () => {
    expect([{ swagger: '2.0' }, { swagger: 2 }, { swagger: '1.2' }, { openapi: '3.0.0' }].map(isSwagger)).toEqual([
      true,
      true,
      false,
      false,
    ])
  })

  it('converts servers, security, bodies, forms, lists, nullable members and discriminators', async () => {
    const given = parse(SWAGGER) as Fields
    const before = structuredClone(given)
    const document = await convert(given)
    expect(given).toEqual(before)
    expect(document).toMatchObject({
      openapi: '3.0.4',
      [CONVERTED_FROM]: 'Swagger 2.0',
      servers: [{ url: 'https://stock.example/v1' }],
      components: {
        schemas: {
          Count: {
            discriminator: { propertyName: 'kind' },
            properties: { amount: { nullable: true }, parent: { $ref: '#/components/schemas/Count' } },
          },
        },
        securitySchemes: { token: { flows: { clientCredentials: { tokenUrl: 'https://stock.example/token' } } } },
      },
      paths: {
        '/counts/{id}': {
          'x-owner': 'stock',
          post: {
            parameters: [{ name: 'tags', style: 'pipeDelimited', explode: false, schema: { type: 'array' } }],
            requestBody: {
              content: {
                'multipart/form-data': {
                  schema: { properties: { file: { type: 'string', format: 'binary' }, note: { type: 'string' } } },
                },
              },
            },
          },
        },
      },
    })
  })

  it('gives a body that all operations of a path share by reference to each of them', async () => {
    const document = await convert(parse(SWAGGER))
    expect(document['paths']).toMatchObject({
      '/counts/{id}': {
        parameters: [{ name: 'id' }],
        put: {
          requestBody: {
            required: true,
            content: { 'application/json': { schema: { $ref: '#/components/schemas/Count' } } },
          },
        },
      },
    })
  })

  it('does not leave a body without a schema if its list of media types is empty', async () => {
    const parameters = [{ name: 'body', in: 'body', schema: { type: 'integer' } }]
    const document = await convert(swaggerOf({ consumes: [], parameters }))
    expect(document['paths']).toMatchObject({
      '/counts': { post: { requestBody: { content: { 'application/json': { schema: { type: 'integer' } } } } } },
    })
  })
})

describe('the conversion of a hostile Swagger 2.0 document', () => {
  it('refuses names that change prototypes, and changes none', async () => {
    const responses = { 200: { description: 'ok', examples: { ['__proto__']: 1 } } }
    const documents = [
      swaggerOf({ responses, produces: ['__proto__'] }),
      swaggerOf({}, JSON.parse('{"x-data": {"__proto__": {"hacked": true}}}') as object),
      swaggerOf({ parameters: [{ name: '__proto__', in: 'formData', type: 'string' }] }),
    ]
    const faults = await Promise.all(documents.map(faultOf))
    expect(faults).toEqual(documents.map(() => expect.stringContaining('must not contain __proto__') as string))
    expect(Object.keys(Object.prototype)).toEqual([])
  })

  it('answers an unexpected form with a fault instead of an error', async () => {
    for (const broken of [
      { paths: { '/counts': { post: { parameters: [{ name: 'a' }], responses: { 200: null } } } } },
      { paths: [] },
      { paths: { '/counts': { get: [] } } },
      { definitions: 'none', securityDefinitions: [null] },
      { produces: 'application/json', responses: { a: { schema: {} } } },
    ]) {
      const result = await convertSwagger({ swagger: '2.0', ...broken } as Fields)
      expect(Object.keys(result)).toHaveLength(1)
    }
    expect(await faultOf({ swagger: '2.0', paths: { '/counts': { post: { parameters: [{ name: 'a' }] } } } })).toBe(
      'The Swagger 2.0 document cannot be converted. Correct it or publish it as OpenAPI 3.0.',
    )
  })

  it('bounds what a body costs that is copied for each media type and operation', async () => {
    const properties = Object.fromEntries(
      Array.from({ length: 2_000 }, (_, index) => [`p${index}`, { type: 'string' }]),
    )
    const types = Array.from({ length: 40 }, (_, index) => `application/x-${index}`)
    const parameters = { Body: { name: 'body', in: 'body', schema: { type: 'object', properties } } }
    const post = { parameters: [{ $ref: '#/parameters/Body' }], responses: { 200: { description: 'ok' } } }
    const paths = Object.fromEntries(Array.from({ length: 500 }, (_, index) => [`/p${index}`, { post }]))
    expect(await faultOf({ swagger: '2.0', consumes: types, parameters, paths })).toContain('more than 1000000 values')
    expect(await faultOf(swaggerOf({ produces: [...types, ...types] }))).toContain('more than 50 media types')
  })

  it('bounds the headers of a response, of an operation and of the document', async () => {
    const headers = Object.fromEntries(Array.from({ length: 101 }, (_, index) => [`x-${index}`, { type: 'string' }]))
    const response = { description: 'ok', headers }
    expect(await faultOf(swaggerOf({ responses: { 200: response } }))).toContain('more than 100 headers')
    expect(await faultOf(swaggerOf({}, { responses: { Shared: response } }))).toContain('more than 100 headers')
  })

  it('bounds the search for the ancestors of schemas', async () => {
    const definitions = Object.fromEntries(
      Array.from({ length: 3_000 }, (_, index) => [
        `S${index}`,
        { 'x-discriminator-value': 'x', allOf: [{ $ref: `#/definitions/S${index - 1}` }] },
      ]),
    )
    expect(await faultOf(swaggerOf({}, { definitions }))).toContain('Too many definitions')
  })
})
