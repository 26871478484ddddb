import { describe, expect, it } from 'vitest'
import { Bundler, type Bundle } from '../../../../../src/interfaces/cli/bundle/bundle.ts'
import { loadFiles, type Loaded } from '../../../../../src/interfaces/cli/bundle/load-files.ts'

type Files = Readonly<Record<string, unknown>>

const toLoaded = (value: unknown): Loaded =>
  value === undefined ? { fault: 'There is no such file.' } : { value, isJson: true, bytes: new Uint8Array(1) }

async function bundle(files: Files): Promise<Bundle> {
  const loaded = await loadFiles('api.json', toLoaded(files['api.json']), async (file) => toLoaded(files[file]))
  return new Bundler('api.json', loaded).bundle()
}

const schemaAt = (reference: unknown, more: object = {}): object => ({
  openapi: '3.0.0',
  paths: { '/a': { get: { responses: { 200: { content: { 'application/json': { schema: reference } } } } } } },
  ...more,
})
const refs = (document: unknown): string[] =>
  [...JSON.stringify(document).matchAll(/"\$ref":"([^"]*)"/g)].map(([, reference]) => reference ?? '')

describe('a document in several files', () => {
  it('becomes one document: referenced parts are components with names of their own', async () => {
    const { document, origins, faults } = await bundle({
      'api.json': schemaAt({ $ref: 'pets/pet.json' }, { components: { schemas: { pet: { type: 'null' } } } }),
      'pets/pet.json': {
        properties: {
          self: { $ref: '#' },
          toy: { $ref: '../toys.json#/toys/Ball%20game' },
          own: { $ref: '../api.json#/components/schemas/pet' },
        },
      },
      'toys.json': { toys: { 'Ball game': { type: 'string' } } },
    })
    expect(document).toMatchObject({
      components: {
        schemas: {
          pet: { type: 'null' },
          'pet-2': {
            properties: {
              self: { $ref: '#/components/schemas/pet-2' },
              toy: { $ref: '#/components/schemas/Ball-game' },
              own: { $ref: '#/components/schemas/pet' },
            },
          },
          'Ball-game': { type: 'string' },
        },
      },
    })
    expect([...faults]).toEqual([])
    expect([...origins]).toEqual([
      ['/components/schemas/pet-2', { file: 'pets/pet.json', pointer: '' }],
      ['/components/schemas/Ball-game', { file: 'toys.json', pointer: '/toys/Ball game' }],
    ])
  })

  it('puts each kind of part into its section, and copies parts that have none', async () => {
    const { document } = await bundle({
      'api.json': { openapi: '3.0.0', paths: { $ref: 'paths.json' } },
      'paths.json': { '/a': { $ref: 'item.json' } },
      'item.json': {
        post: {
          parameters: [{ $ref: 'parts.json#/limit' }],
          requestBody: { $ref: 'parts.json#/body' },
          responses: { 404: { $ref: 'parts.json#/missing' } },
        },
      },
      'parts.json': {
        limit: { name: 'limit', in: 'query', schema: { $ref: '#/number' } },
        number: { type: 'integer' },
        body: { content: { 'text/plain': { examples: { one: { $ref: '#/one' } } } } },
        one: { value: 1 },
        missing: { headers: { age: { $ref: '#/age' } } },
        age: { schema: { type: 'integer' } },
      },
    })
    expect(Object.keys((document as { components: object }).components).toSorted()).toEqual(
      ['examples', 'headers', 'parameters', 'requestBodies', 'responses', 'schemas'].toSorted(),
    )
    expect(document).toMatchObject({
      paths: { '/a': { post: { parameters: [{ $ref: '#/components/parameters/limit' }] } } },
    })
  })

  it('uses the sections of Swagger 2.0 in a Swagger 2.0 document', async () => {
    const responses = { 200: { description: 'ok', schema: { $ref: 'pet.json' } } }
    const { document } = await bundle({
      'api.json': { swagger: '2.0', paths: { '/a': { get: { responses } } } },
      'pet.json': { type: 'object' },
    })
    expect(document).toMatchObject({ definitions: { pet: { type: 'object' } } })
  })

  it('leaves references in data and properties named $ref as they are', async () => {
    const schema = {
      properties: { $ref: { type: 'string' }, a: { $ref: 'a.json' } },
      example: { $ref: 'x.json' },
      'x-more': { $ref: 'y.json' },
    }
    const { document, faults } = await bundle({ 'api.json': schemaAt(schema), 'a.json': {} })
    expect(refs(document)).toEqual(['#/components/schemas/a', 'x.json', 'y.json'])
    expect(faults.size).toBe(0)
  })

  it('follows the mapping of a discriminator', async () => {
    const mapping = { cat: 'cat.json', dog: '#/components/schemas/Dog' }
    const { document } = await bundle({
      'api.json': schemaAt({ $ref: 'pet.json' }),
      'pet.json': { oneOf: [{ $ref: 'cat.json' }], discriminator: { propertyName: 'kind', mapping } },
      'cat.json': { type: 'object' },
    })
    expect(document).toMatchObject({
      components: {
        schemas: { cat: {}, pet: { discriminator: { mapping: { ...mapping, cat: '#/components/schemas/cat' } } } },
      },
    })
  })
})

describe('a reference that cannot be followed', () => {
  it.each([
    ['https://example.com/a.json', 'References to the network are not followed'],
    ['//example.com/a.json', 'References to the network are not followed'],
    ['file:///etc/passwd', 'References to the network are not followed'],
    ['../a.json', 'The reference leaves the folder of the document'],
    ['a/../../b.json', 'The reference leaves the folder of the document'],
    ['%2e%2e/a.json', 'The reference leaves the folder of the document'],
    ['/etc/passwd', 'The reference leaves the folder of the document'],
    ['missing.json', 'There is no such file.'],
    ['a.json#/none', 'a.json has no value at #/none.'],
    ['a.json#/__proto__', 'a.json has no value at #/__proto__.'],
    ['a.json#name', 'A reference must end with a pointer'],
    ['%ff.json', 'The reference is not a valid URI reference.'],
  ])('as %s stays and has a fault', async (reference, why) => {
    const { document, faults } = await bundle({ 'api.json': schemaAt({ $ref: reference }), 'a.json': {} })
    expect(refs(document)).toEqual([reference])
    expect([...faults]).toEqual([
      ['/paths/~1a/get/responses/200/content/application~1json/schema/$ref', expect.stringContaining(why) as string],
    ])
  })

  it('because of a cycle of copies has a fault', async () => {
    const { faults } = await bundle({
      'api.json': { openapi: '3.0.0', paths: { '/a': { $ref: 'a.json' } } },
      'a.json': { $ref: 'b.json' },
      'b.json': { $ref: 'a.json' },
    })
    expect([...faults.values()]).toEqual(['The references form a cycle or a long chain.'])
  })
})

describe('hostile files', () => {
  it('are refused if their copies would be too large', async () => {
    const big = Array.from({ length: 2_000 }, () => ({ type: 'string' }))
    const parts = Object.fromEntries(Array.from({ length: 2_000 }, (_, index) => [`p${index}`, { $ref: 'b.json' }]))
    const paths = Object.fromEntries(Object.keys(parts).map((name) => [`/${name}`, { $ref: 'b.json' }]))
    await expect(bundle({ 'api.json': { openapi: '3.0.0', paths }, 'b.json': { parameters: big } })).rejects.toThrow(
      'the document has more than 1000000 values',
    )
  })

  it('cannot choose a name that changes prototypes', async () => {
    const { document } = await bundle({
      'api.json': schemaAt({ $ref: 'a.json#/__proto__' }),
      'a.json': JSON.parse('{"__proto__": {"type": "object"}}') as object,
    })
    expect(refs(document)).toEqual(['#/components/schemas/__proto__-2'])
  })

  it('of the same name become components with different names', async () => {
    const names = Array.from({ length: 4_000 }, (_, index) => `f${index}/part.json`)
    const properties = Object.fromEntries(names.map((name) => [name, { $ref: name }]))
    const files = Object.fromEntries(names.map((name) => [name, {}]))
    const { origins } = await bundle({ 'api.json': schemaAt({ properties }), ...files })
    expect([...origins.keys()].at(-1)).toBe('/components/schemas/part-4000')
  })
})
