import { describe, expect, it } from 'vitest'
import { SWAGGER } from '../../../fixtures/swagger-document.ts'
import { readSpecification } from '../../../../src/documents/governance/specification.ts'
import { faultsOf, minimal, read, RESPONSES } from './small-specifications.ts'
import { readGithubDocument } from '../../../fixtures/real-documents.ts'

describe('a specification', () => {
  it('yields the technical name, the version and the operations', async () => {
    const specification = await read(
      minimal({ servers: [{ url: 'https://{host}/v2', variables: { host: { default: 'payments.example' } } }] }),
    )
    expect(specification).toMatchObject({
      technicalName: 'payments-api-v2',
      title: 'Payments API',
      version: '2.4.1',
      major: 2,
      dialect: '3.0',
      mediaType: 'application/json',
      serverUrl: 'https://payments.example/v2',
      operations: [{ operationId: 'get_/payments/{id}', method: 'GET', path: '/payments/{id}' }],
      declaredScopes: [],
    })
  })

  it('of OpenAPI 3.2 is accepted, with its new members that do not change what the gateway serves', async () => {
    const components = {
      mediaTypes: { Card: { schema: { type: 'string' } } },
      securitySchemes: {
        device: {
          type: 'oauth2',
          flows: {
            deviceAuthorization: { deviceAuthorizationUrl: '/d', tokenUrl: '/t', scopes: { 'a:read': 'reads' } },
          },
        },
      },
    }
    const tags = [
      { name: 'cards', kind: 'nav' },
      { name: 'gifts', parent: 'cards' },
    ]
    expect(await read(minimal({ openapi: '3.2.0', tags, components }))).toMatchObject({
      dialect: '3.1',
      declaredScopes: ['a:read'],
    })
  })

  it.each<[string, object, object, string]>([
    ['the method QUERY', { query: { responses: RESPONSES } }, {}, '/query'],
    ['additional methods', { additionalOperations: { COPY: { responses: RESPONSES } } }, {}, '/additionalOperations'],
    [
      'a query string as a whole',
      { parameters: [{ in: 'querystring', name: 'q', content: { 'application/json': {} } }] },
      {},
      '/parameters/0',
    ],
    [
      'a cookie in a style of its own',
      {},
      { parameters: [{ in: 'cookie', name: 'c', style: 'cookie', schema: {} }] },
      '/get/parameters/0',
    ],
    [
      'items of a stream',
      {},
      { requestBody: { content: { 'application/jsonl': { itemSchema: { type: 'object' } } } } },
      '/get/requestBody/content/application~1jsonl',
    ],
    [
      'a media type by reference',
      {},
      { responses: { 200: { description: 'ok', content: { 'a/b': { $ref: '#/components/mediaTypes/M' } } } } },
      '/get/responses/200/content/a~1b',
    ],
  ])(
    'of OpenAPI 3.2 with %s is refused, because the gateway does not support it',
    async (_, item, operation, place) => {
      const paths = { '/payments/{id}': { get: { responses: RESPONSES, ...operation }, ...item } }
      const components = { mediaTypes: { M: { schema: {} } } }
      const faults = await faultsOf(minimal({ openapi: '3.2.0', paths, components }))
      expect(faults.map((text) => text.split(' ')[0])).toEqual([`/paths/~1payments~1{id}${place}`])
    },
  )

  it('may be YAML, and has the position of a syntax error', async () => {
    const yaml = [
      'openapi: 3.1.0',
      'info:',
      '  title: "  Zahlungen & Co. "',
      '  version: 0.1.0-beta.1',
      'paths:',
      '  /a:',
      '    get:',
      '      operationId: a',
      '      responses: {200: {description: ok}}',
      '',
    ].join('\n')
    expect(await read(yaml)).toMatchObject({
      technicalName: 'zahlungen-co-v0',
      dialect: '3.1',
      mediaType: 'application/yaml',
    })
    expect(await faultsOf('openapi: 3.0.0\ninfo: [')).toEqual([
      expect.stringMatching(/does not parse: .*line 2, column 8/),
    ])
    expect(await faultsOf('{"openapi": "3.0.0",\n "info": ]}')).toEqual([
      expect.stringMatching(/does not parse: .*line 2/),
    ])
  })

  it('yields the scopes of its schemes and of its operations', async () => {
    const { declaredScopes } = await read(
      minimal(
        {
          components: {
            securitySchemes: {
              oauth: {
                type: 'oauth2',
                flows: {
                  clientCredentials: { tokenUrl: 'https://x.example', scopes: { 'p:read': '', 'p:admin': '' } },
                },
              },
              oidc: { type: 'openIdConnect', openIdConnectUrl: 'https://x.example' },
            },
          },
        },
        { security: [{ oidc: ['p:write'] }, { oauth: ['p:read'] }] },
      ),
    )
    expect(declaredScopes).toEqual(['p:admin', 'p:read', 'p:write'])
  })

  it.each([
    ['no document', 'just words', '/openapi'],
    ['empty text', '', '/openapi'],
    ['a list', '[]', '/openapi'],
    ['Swagger 1.2', { ...minimal(), openapi: undefined, swagger: '1.2' }, '/openapi'],
    ['an unknown version', minimal({ openapi: '4.0.0' }), '/openapi'],
    ['no info', minimal({ info: undefined }), ''],
    ['no operations', minimal({ paths: {} }), '/paths'],
    ['only extensions for operations', minimal({ paths: { 'x-a': { get: { responses: RESPONSES } } } }), '/paths'],
    ['a title without a name', minimal({ info: { title: '!!!', version: '1.0.0' } }), '/info/title'],
    ['a title that is too long', minimal({ info: { title: 'a'.repeat(101), version: '1.0.0' } }), '/info/title'],
    ['a date for a version', minimal({ info: { title: 'a', version: '2020-08-27' } }), '/info/version'],
    [
      'webhooks only',
      { openapi: '3.1.0', info: { title: 'a', version: '1.0.0' }, webhooks: { a: { post: { responses: RESPONSES } } } },
      '/webhooks',
    ],
    ['a stated version that is not semantic', minimal({ 'x-tollgate-version': '1' }), '/x-tollgate-version'],
    ['a stated name with capitals', minimal({ 'x-tollgate-name': 'Cards' }), '/x-tollgate-name'],
    ['a version with trailing text', minimal({ info: { title: 'a', version: '1.0.0; DROP' } }), '/info/version'],
    ['the operation id *', minimal({}, { operationId: '*' }), '/paths/~1payments~1{id}/get/operationId'],
    [
      'a path with an empty segment',
      minimal({ paths: { '/a//b': { get: { responses: RESPONSES } } } }),
      '/paths/~1a~1~1b/get',
    ],
    ['a path with dots', minimal({ paths: { '/a/../b': { get: { responses: RESPONSES } } } }), '/paths/~1a~1..~1b/get'],
    ['a path with a query', minimal({ paths: { '/a?b': { get: { responses: RESPONSES } } } }), '/paths/~1a?b/get'],
    [
      'two parameters side by side',
      minimal({ paths: { '/{a}{b}': { get: { responses: RESPONSES } } } }),
      '/paths/~1{a}{b}/get',
    ],
    ['an open brace', minimal({ paths: { '/{a': { get: { responses: RESPONSES } } } }), '/paths/~1{a/get'],
    [
      'a scope that ends a quoted string',
      minimal({}, { security: [{ s: ['a"b'] }] }),
      '/paths/~1payments~1{id}/get/security/0/s',
    ],
  ])('with %s is refused with a pointer', async (_, document, pointer) => {
    const faults = await faultsOf(document)
    expect(
      faults.some((fault) => fault.startsWith(`${pointer} `)),
      faults.join('\n'),
    ).toBe(true)
  })

  it('is refused if two operations have the same id, or paths that differ in parameter names only', async () => {
    const operation = { operationId: 'same', responses: RESPONSES }
    expect(await faultsOf(minimal({ paths: { '/a': { get: operation, post: operation } } }))).toEqual([
      '/paths/~1a/post/operationId Another operation has the same `operationId`.',
    ])
    const paths = { '/a/{x}': { get: { responses: RESPONSES } }, '/a/{y}': { get: { responses: RESPONSES } } }
    expect(await faultsOf(minimal({ paths }))).toEqual([
      expect.stringMatching(/^\/paths\/~1a~1\{y\}\/get Another path/),
    ])
  })

  it.each(['https://evil.example/schema.json', 'file:///etc/passwd', './other.yaml', '#anchor', '', 'other.yaml#/a'])(
    'with a reference to another document (%s) is refused, and nothing is fetched',
    async ($ref) => {
      const content = { 'application/json': { schema: { properties: { example: { $ref } } } } }
      expect(await faultsOf(minimal({}, { requestBody: { content } }))).toEqual([
        expect.stringMatching(/properties\/example\/\$ref A reference must begin with #\//),
      ])
    },
  )

  it('with a dangling reference is refused; data that only looks like a reference is not', async () => {
    const schema = { properties: { a: { $ref: '#/components/schemas/Missing' }, $ref: { type: 'string' } } }
    const content = { 'application/json': { schema, example: { $ref: 'https://elsewhere.example' } } }
    expect(await faultsOf(minimal({}, { requestBody: { content } }))).toEqual([
      expect.stringMatching(/properties\/a\/\$ref The document has no value at #\/components\/schemas\/Missing/),
    ])
  })

  it('may have a property named $ref, and data that looks like references and identifiers', async () => {
    const data = { $ref: 'https://elsewhere.example/a', $id: 'same', $anchor: 'same', $dynamicRef: '#nowhere' }
    const schema = {
      type: 'object',
      properties: { $ref: { type: 'string' }, a: { type: 'string', enum: ['x'], example: data } },
      default: data,
      example: { nested: [data, data] },
      'x-data': data,
    }
    const content = { 'application/json': { schema, examples: { a: { value: data }, b: { value: data } } } }
    await read(minimal({ 'x-data': data }, { requestBody: { content }, 'x-data': data }))
    const later = { ...schema, enum: [data], const: data, examples: [data] }
    const body = { requestBody: { content: { 'application/json': { schema: later } } } }
    await read(minimal({ openapi: '3.1.0' }, body))
  })

  it('has all of its faults at once', async () => {
    const parameters = [{ name: 'a' }, { $ref: '#/components/parameters/Missing' }]
    const document = minimal({ tags: [{}], 'x-tollgate-name': '-' }, { operationId: '*', parameters })
    expect((await faultsOf(document)).map((fault) => fault.split(' ')[0]).sort()).toEqual([
      '/paths/~1payments~1{id}/get/operationId',
      '/paths/~1payments~1{id}/get/parameters/0',
      '/paths/~1payments~1{id}/get/parameters/0',
      '/paths/~1payments~1{id}/get/parameters/1/$ref',
      '/tags/0',
      '/x-tollgate-name',
    ])
  })

  it('follows a path item that is a reference', async () => {
    const { operations } = await read(
      minimal({
        openapi: '3.1.0',
        paths: { '/a': { $ref: '#/components/pathItems/A' } },
        components: { pathItems: { A: { parameters: [], post: { operationId: 'a', responses: RESPONSES } } } },
      }),
    )
    expect(operations).toMatchObject([
      { operationId: 'a', method: 'POST', path: '/a', pointer: '/components/pathItems/A/post' },
    ])
  })

  it('may be Swagger 2.0, which is converted, and whose faults point to it', async () => {
    const { document, swagger, technicalName, operations } = await read(SWAGGER)
    expect([technicalName, document['openapi'], swagger?.['swagger']]).toEqual(['stock-v1', '3.0.4', '2.0'])
    expect(operations.map(({ operationId }) => operationId)).toEqual(['putCount', 'postCount'])

    const broken = (from: string, to: string) => faultsOf(SWAGGER.replace(from, to))
    expect(await broken('operationId: postCount', 'operationId: putCount')).toEqual([
      '/paths/~1counts~1{id}/post/operationId Another operation has the same `operationId`.',
    ])
    expect(await broken("schema: { $ref: '#/definitions/Count' }", "schema: { $ref: '#/definitions/None' }")).toEqual([
      '/parameters/Count/schema/$ref The document has no value at #/definitions/None.',
    ])
  })

  it('may be very large', async () => {
    const { operations } = await readSpecification(readGithubDocument())
    expect(operations.length).toBeGreaterThan(1_000)
  })
})
