import { readFileSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import { Problem } from '../../../src/domain/problem.ts'
import { SWAGGER } from '../../fixtures/swagger-document.ts'
import { readSpecification } from '../../../src/governance/specification.ts'

const RESPONSES = { 200: { description: 'ok' } }
const minimal = (more: object = {}, operation: object = {}): Record<string, unknown> => ({
  openapi: '3.0.3',
  info: { title: 'Payments API', version: '2.4.1' },
  paths: { '/payments/{id}': { get: { responses: RESPONSES, ...operation } } },
  ...more,
})

const read = (document: unknown) =>
  readSpecification(typeof document === 'string' ? Buffer.from(document) : Buffer.from(JSON.stringify(document)))

/** Returns the faults as `pointer detail`. */
async function faultsOf(document: unknown): Promise<string[]> {
  const problem = await read(document).then(
    () => new Error('it was taken'),
    (cause: unknown) => cause,
  )
  if (!(problem instanceof Problem) || problem.code !== 'specification_invalid') throw problem
  expect(problem.status).toBe(400)
  return problem.errors.map(({ pointer, detail }) => `${pointer} ${detail}`)
}

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
    ['a version of two parts', minimal({ info: { title: 'a', version: '1.0' } }), '/info/version'],
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

  it.each([
    ['bytes that are not UTF-8', Buffer.from([0x7b, 0xff, 0x7d]), 'not encoded in UTF-8'],
    ['too many bytes', Buffer.alloc(16 * 1024 * 1024 + 1, 32), 'more than'],
    ['too many bytes of YAML', Buffer.from(`a: ${'b'.repeat(3_000_000)}`), 'send a larger one as JSON'],
    [
      'duplicate keys in JSON',
      Buffer.from('{"openapi":"3.0.0",\n "openapi":"3.1.0"}'),
      'two members of the same name (line 2, column 2)',
    ],
    [
      'duplicate keys in YAML',
      Buffer.from('openapi: 3.0.0\ninfo:\n  a: 1\n  a: 2'),
      'occurs twice in one map (line 4, column 3)',
    ],
    ['keys that differ only as YAML', Buffer.from('200: a\n"200": b'), 'occurs twice'],
    ['an anchor with an alias of itself', Buffer.from('a: &a [*a]'), 'contains an alias of itself'],
    [
      'an alias bomb',
      Buffer.from(
        [
          'a0: &a0 [x,x,x,x,x,x,x,x,x]',
          ...Array.from(
            { length: 9 },
            (_, index) => `a${index + 1}: &a${index + 1} [${Array(9).fill(`*a${index}`).join(',')}]`,
          ),
        ].join('\n'),
      ),
      'cannot be read',
    ],
    ['very many aliases', Buffer.from(`a: &a 1\nb: [${Array(1_001).fill('*a').join(',')}]`), 'more than 1000 aliases'],
    ['deep JSON', Buffer.from('['.repeat(1_000_000)), 'levels deep'],
    ['deep YAML', Buffer.from(`a: ${'['.repeat(20_000)}${']'.repeat(20_000)}`), 'does not parse'],
    ['YAML of 300 levels', Buffer.from(`a: ${'['.repeat(300)}${']'.repeat(300)}`), 'levels deep'],
    ['two documents', Buffer.from('a: 1\n---\nb: 2'), 'does not parse'],
    ['keys that are not text', Buffer.from('? [a, b]\n: 1'), 'does not parse'],
  ])('with %s is refused', async (_, bytes, why) => {
    await expect(readSpecification(bytes)).rejects.toMatchObject({
      code: 'specification_invalid',
      errors: [{ pointer: '', detail: expect.stringContaining(why) as string }],
    })
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
    const { operations } = await readSpecification(
      readFileSync('node_modules/@octokit/openapi/generated/api.github.com.json'),
    )
    expect(operations.length).toBeGreaterThan(1_000)
  })
})
