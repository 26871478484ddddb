import { readFileSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import { compileRoutePlan } from '../../../src/publishing/compile-route-plan.ts'
import type { RoutePlan } from '../../../src/plan/route-plan.ts'
import { Problem } from '../../../src/domain/problem.ts'
import { readSpecification } from '../../../src/governance/specification.ts'
import { compileValidators } from '../../../src/gateway/validation/validate.ts'

const RESPONSES = { 200: { description: 'ok' } }
const SCHEMES = {
  oauth: { type: 'oauth2', flows: { clientCredentials: { tokenUrl: 'https://x.example', scopes: { r: '', w: '' } } } },
  bearer: { type: 'http', scheme: 'Bearer' },
  basic: { type: 'http', scheme: 'basic' },
  key: { type: 'apiKey', in: 'header', name: 'x-api-key' },
}

async function compileBytes(bytes: Uint8Array): Promise<RoutePlan> {
  return compileRoutePlan({
    specification: await readSpecification(bytes),
    tenant: 'acme',
    revision: 3,
    state: 'Active',
    backend: null,
    allowedScopes: ['r'],
    memberOfProductIds: ['product_1'],
  })
}

function compile(paths: object, more: object = {}, schemas: object = {}, openapi = '3.0.3'): Promise<RoutePlan> {
  const document = {
    openapi,
    info: { title: 'Shop', version: '1.0.0' },
    paths,
    components: { securitySchemes: SCHEMES, schemas },
    ...more,
  }
  return compileBytes(Buffer.from(JSON.stringify(document)))
}

const get = (more: object) => ({ '/a': { get: { responses: RESPONSES, ...more } } })
const json = (schema: unknown) => ({ requestBody: { content: { 'application/json': { schema } } } })
const post = (schema: unknown, more: object = {}) => ({
  '/a': { post: { responses: RESPONSES, ...json(schema), ...more } },
})

async function faultsOf(plan: Promise<RoutePlan>): Promise<string[]> {
  const problem = await plan.then(
    () => new Error('it was taken'),
    (cause: unknown) => cause,
  )
  if (!(problem instanceof Problem)) throw problem
  return problem.errors.map(({ pointer, detail }) => `${pointer} ${detail}`)
}

describe('the security of an operation', () => {
  const securityOf = async (security: unknown, document: object = {}) => {
    const { operations } = await compile(get(security === undefined ? {} : { security }), document)
    return operations[0]?.security
  }
  const token = (...tokenScopes: string[]) => ({ tokenScopes, apiKey: false, keyScopes: [] })
  const key = (...keyScopes: string[]) => ({ tokenScopes: null, apiKey: true, keyScopes })

  it('falls back on the scopes of the technical name where the document declares none', async () => {
    const { operations } = await compile({
      '/a': {
        get: { responses: RESPONSES },
        head: { responses: RESPONSES },
        options: { responses: RESPONSES },
        put: { responses: RESPONSES },
      },
    })
    const read = [token('shop-v1:read'), key('shop-v1:read')]
    const write = [token('shop-v1:write'), key('shop-v1:write')]
    expect(Object.fromEntries(operations.map(({ method, security }) => [method, security]))).toEqual({
      GET: read,
      HEAD: read,
      OPTIONS: read,
      PUT: write,
    })
  })

  it('is its own before that of the document', async () => {
    const document = { security: [{ oauth: ['r'] }] }
    expect(await securityOf(undefined, document)).toEqual([token('r')])
    expect(await securityOf([{ bearer: [] }], document)).toEqual([token()])
    expect(await securityOf([], document)).toEqual([])
    expect(await securityOf([{ oauth: ['r'] }, {}], document)).toEqual([])
  })

  it('asks of a key what it asks of a token, by alternatives', async () => {
    expect(await securityOf([{ key: [] }])).toEqual([key()])
    expect(await securityOf([{ key: [] }, { oauth: ['r', 'w'] }])).toEqual([key('r', 'w'), token('r', 'w')])
    expect(await securityOf([{ oauth: ['r'] }, { oauth: ['w'] }, { key: [] }])).toEqual([
      token('r'),
      token('w'),
      key('r'),
      key('w'),
    ])
  })

  it('needs all schemes of one alternative', async () => {
    expect(await securityOf([{ oauth: ['r'], bearer: [], key: [] }])).toEqual([
      { tokenScopes: ['r'], apiKey: true, keyScopes: ['r'] },
    ])
  })

  it('is never opened by what cannot be verified', async () => {
    expect(await securityOf([{ basic: [] }, { oauth: ['r'] }, { oauth: [], basic: [] }])).toEqual([token('r')])
    expect(await faultsOf(compile(get({ security: [{ basic: [] }] })))).toEqual([
      expect.stringMatching(/^\/paths\/~1a\/get\/security The gateway supports OAuth 2.0/),
    ])
    expect(await faultsOf(compile(get({ security: [{ typo: [] }] })))).toContain(
      '/paths/~1a/get/security/0/typo The document does not declare a security scheme of this name.',
    )
  })
})

describe('a route plan', () => {
  it('carries what it was made with', async () => {
    const plan = await compile(get({ operationId: 'a' }))
    expect(plan).toMatchObject({
      api: 'shop-v1',
      tenant: 'acme',
      revision: 3,
      state: 'Active',
      dialect: '3.0',
      allowedScopes: ['r'],
      memberOfProductIds: ['product_1'],
      components: {},
    })
  })

  it('lets parameters of the operation replace those of its path', async () => {
    const shared = [
      { in: 'query', name: 'a', schema: { type: 'string' } },
      { in: 'query', name: 'b', schema: { type: 'string' } },
      { in: 'header', name: 'X-Thing', schema: { type: 'string' } },
    ]
    const parameters = [
      { in: 'query', name: 'a', required: true, schema: { type: 'integer', description: 'dropped', example: 7 } },
      { in: 'header', name: 'x-thing', schema: { type: 'integer' } },
      { in: 'header', name: 'Accept', schema: { type: 'integer' } },
    ]
    const { operations } = await compile({ '/a': { parameters: shared, get: { parameters, responses: RESPONSES } } })
    expect(operations[0]?.parameters).toEqual([
      {
        name: 'a',
        in: 'query',
        required: true,
        style: 'form',
        explode: true,
        schema: { type: 'integer' },
        pointer: '/paths/~1a/get/parameters/0',
      },
      {
        name: 'b',
        in: 'query',
        required: false,
        style: 'form',
        explode: true,
        schema: { type: 'string' },
        pointer: '/paths/~1a/parameters/1',
      },
      {
        name: 'x-thing',
        in: 'header',
        required: false,
        style: 'simple',
        explode: false,
        schema: { type: 'integer' },
        pointer: '/paths/~1a/get/parameters/1',
      },
    ])
  })

  it('holds of the components only what its schemas reach, each once, also in circles', async () => {
    const schemas = {
      A: { type: 'object', properties: { b: { $ref: '#/components/schemas/B' } } },
      B: { type: 'array', items: { $ref: '#/components/schemas/A' } },
      Unused: { type: 'string' },
      Self: { $ref: '#/components/schemas/Self' },
    }
    const { components } = await compile(post({ $ref: '#/components/schemas/A' }), {}, schemas)
    expect(Object.keys(components['schemas'] as object).sort()).toEqual(['A', 'B'])
  })

  it('follows references to wherever in the document they lead', async () => {
    const paths = {
      ...post({ type: 'object', properties: { 'a/b': { type: 'integer' } } }),
      '/b': {
        post: {
          responses: RESPONSES,
          ...json({ $ref: '#/paths/~1a/post/requestBody/content/application~1json/schema/properties/a~1b' }),
        },
      },
    }
    const plan = await compile(paths)
    const schema = plan.operations[1]?.body?.content['application/json']
    expect(schema).toEqual({ $ref: '#/components/schemas/$0' })
    expect(plan.components).toEqual({ schemas: { $0: { type: 'integer' } } })
    await expect(compileValidators(plan)).resolves.toHaveLength(2)
  })

  it('bounds a body that is validated, as the operation says', async () => {
    const bytesMax = async (value?: unknown) => {
      const plan = await compile(
        post({ type: 'object' }, value === undefined ? {} : { 'x-tollgate-max-body-bytes': value }),
      )
      return plan.operations[0]?.body?.bytesMax
    }
    expect(await bytesMax()).toBe(1024 * 1024)
    expect(await bytesMax(5_000_000)).toBe(5_000_000)
    for (const value of [0, -1, 1.5, '10', null, 2 ** 40]) {
      await expect(bytesMax(value)).rejects.toMatchObject({
        errors: [{ pointer: '/paths/~1a/post/x-tollgate-max-body-bytes' }],
      })
    }
  })

  it.each(['^(?=a)', '(a)\\1', '(?<!x)y', '[', 'a{1,5000}'])(
    'refuses a pattern that cannot be matched in linear time: %s',
    async (pattern) => {
      const schemas = { Word: { type: 'string', pattern } }
      expect(await faultsOf(compile(post({ $ref: '#/components/schemas/Word' }), {}, schemas, '3.1.0'))).toEqual([
        expect.stringMatching(/^\/components\/schemas\/Word\/pattern The pattern cannot/),
      ])
      const named = post({ type: 'object', patternProperties: { [pattern]: { type: 'string' } } })
      expect(await faultsOf(compile(named, {}, {}, '3.1.0'))).toEqual([
        expect.stringMatching(
          /^\/paths\/~1a\/post\/requestBody\/content\/application~1json\/schema\/patternProperties/,
        ),
      ])
    },
  )

  it('takes the patterns that people write', async () => {
    const patterns = [
      '^[\\w.-]+@[\\w-]+\\.\\w{2,}$',
      '^\\d{4}-\\d{2}$',
      '\\u0041\\/',
      '^\\p{L}+$',
      '(?<year>\\d+)',
      '^[^/]*$',
    ]
    const plan = await compile(post({ allOf: patterns.map((pattern) => ({ pattern })) }))
    await expect(compileValidators(plan)).resolves.toHaveLength(1)
  })

  it('refuses a schema that would hold a thread while it is compiled', async () => {
    const wide = (count: number) => ({
      type: 'object',
      properties: Object.fromEntries(Array.from({ length: count }, (_, index) => [`p${index}`, { maxLength: 1 }])),
    })
    expect(await faultsOf(compile(post(wide(1_000))))).toEqual([
      expect.stringMatching(/must not contain more than 1000 schemas/),
    ])
    await expect(compileValidators(await compile(post(wide(999))))).resolves.toHaveLength(1)
  })

  it('compiles a long chain of schemas link by link', async () => {
    const links = Array.from({ length: 2_000 }, (_, index) => [
      `S${index}`,
      index === 1_999 ? { type: 'object' } : { properties: { next: { $ref: `#/components/schemas/S${index + 1}` } } },
    ])
    const plan = await compile(post({ $ref: '#/components/schemas/S0' }), {}, Object.fromEntries(links) as object)
    await expect(compileValidators(plan)).resolves.toHaveLength(1)
  })

  it('does not take a property called pattern for one', async () => {
    await expect(compile(post({ type: 'object', properties: { pattern: { type: 'string' } } }))).resolves.toBeDefined()
  })

  it('of a very large document stays small, and every one of its schemas compiles', async () => {
    const bytes = readFileSync('node_modules/@octokit/openapi/generated/api.github.com.json')
    const plan = await compileBytes(bytes)
    const { responses, responseComponents, ...ofRequests } = plan
    expect(JSON.stringify(ofRequests).length).toBeLessThan(bytes.length / 8)
    expect(JSON.stringify([responses, responseComponents]).length).toBeLessThan(bytes.length / 20)
    await expect(compileValidators(plan)).resolves.toHaveLength(plan.operations.length)
  })
})

describe('the members of a document for the gateway', () => {
  it('are compiled: the minimum read rate of the API, the headers that an operation lets through', async () => {
    const plan = await compile(get({ 'x-tollgate-pass-headers': ['X-HTTP-Method'] }), {
      'x-tollgate-min-read-bytes-per-second': 1_000,
      'x-tollgate-pass-headers': ['X-Original-URL'],
    })
    expect(plan.readBytesPerSecondMin).toBe(1_000)
    expect(plan.operations[0]?.passHeaders).toEqual(['x-http-method'])
    const other = await compile(get({}), { 'x-tollgate-pass-headers': ['X-Original-URL'] })
    expect([other.readBytesPerSecondMin, other.operations[0]?.passHeaders]).toEqual([undefined, ['x-original-url']])
  })

  it.each([0, -1, 1.5, '100', null, 1_000_001])('are refused at their place: a read rate of %j', async (value) => {
    const pointer = '/x-tollgate-min-read-bytes-per-second'
    await expect(compile(get({}), { [pointer.slice(1)]: value })).rejects.toMatchObject({ errors: [{ pointer }] })
  })

  it.each([['X-Consumer-Id'], 'x-http-method', [['x-http-method']], [1], {}].map((value) => ({ value })))(
    'are refused at their place: headers $value',
    async ({ value }) => {
      const errors = [{ pointer: '/x-tollgate-pass-headers' }]
      await expect(compile(get({}), { 'x-tollgate-pass-headers': value })).rejects.toMatchObject({ errors })
    },
  )
})
