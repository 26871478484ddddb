import { describe, expect, it } from 'vitest'
import { compileValidators } from '../../../../../src/gateway/validation/validate.ts'
import { compile, compileBytes, faultsOf, get, json, post, RESPONSES } from './compiled-plans.ts'
import { readGithubDocument } from '../../../../fixtures/real-documents.ts'

describe('a route plan', () => {
  it('contains the options that it was compiled with', async () => {
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

  it('replaces parameters of the path by those of the operation', async () => {
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

  it('contains only the components that its schemas refer to, each once, also in circular references', async () => {
    const schemas = {
      A: { type: 'object', properties: { b: { $ref: '#/components/schemas/B' } } },
      B: { type: 'array', items: { $ref: '#/components/schemas/A' } },
      Unused: { type: 'string' },
      Self: { $ref: '#/components/schemas/Self' },
    }
    const { components } = await compile(post({ $ref: '#/components/schemas/A' }), {}, schemas)
    expect(Object.keys(components['schemas'] as object).sort()).toEqual(['A', 'B'])
  })

  it('resolves references to any part of the document', async () => {
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

  it('limits a validated body to the size that the operation declares', async () => {
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
        expect.stringMatching(/^\/components\/schemas\/Word\/pattern The pattern is not valid ECMA-262, or cannot/),
      ])
      const named = post({ type: 'object', patternProperties: { [pattern]: { type: 'string' } } })
      expect(await faultsOf(compile(named, {}, {}, '3.1.0'))).toEqual([
        expect.stringMatching(
          /^\/paths\/~1a\/post\/requestBody\/content\/application~1json\/schema\/patternProperties/,
        ),
      ])
    },
  )

  it('accepts common patterns', async () => {
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

  it('refuses a schema that is too large to compile without blocking a thread', async () => {
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

  it('accepts a property with the name `pattern`', async () => {
    await expect(compile(post({ type: 'object', properties: { pattern: { type: 'string' } } }))).resolves.toBeDefined()
  })

  it('stays small for a very large document, all of whose schemas compile', async () => {
    const bytes = readGithubDocument()
    const plan = await compileBytes(bytes)
    const { responses, responseComponents, ...ofRequests } = plan
    expect(JSON.stringify(ofRequests).length).toBeLessThan(bytes.length / 8)
    expect(JSON.stringify([responses, responseComponents]).length).toBeLessThan(bytes.length / 20)
    await expect(compileValidators(plan)).resolves.toHaveLength(plan.operations.length)
  })
})

describe('the gateway extensions of a document', () => {
  it('set the minimum read rate of the API and the override headers that an operation forwards', async () => {
    const plan = await compile(get({ 'x-tollgate-pass-headers': ['X-HTTP-Method'] }), {
      'x-tollgate-min-read-bytes-per-second': 1_000,
      'x-tollgate-pass-headers': ['X-Original-URL'],
    })
    expect(plan.readBytesPerSecondMin).toBe(1_000)
    expect(plan.operations[0]?.passHeaders).toEqual(['x-http-method'])
    const other = await compile(get({}), { 'x-tollgate-pass-headers': ['X-Original-URL'] })
    expect([other.readBytesPerSecondMin, other.operations[0]?.passHeaders]).toEqual([undefined, ['x-original-url']])
  })

  it.each([0, -1, 1.5, '100', null, 1_000_001])('refuse a minimum read rate of %j, with a pointer', async (value) => {
    const pointer = '/x-tollgate-min-read-bytes-per-second'
    await expect(compile(get({}), { [pointer.slice(1)]: value })).rejects.toMatchObject({ errors: [{ pointer }] })
  })

  it.each([['X-Consumer-Id'], 'x-http-method', [['x-http-method']], [1], {}].map((value) => ({ value })))(
    'refuse the override headers $value, with a pointer',
    async ({ value }) => {
      const errors = [{ pointer: '/x-tollgate-pass-headers' }]
      await expect(compile(get({}), { 'x-tollgate-pass-headers': value })).rejects.toMatchObject({ errors })
    },
  )
})
