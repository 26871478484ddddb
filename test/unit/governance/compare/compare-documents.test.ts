import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { compareDocuments } from '../../../../src/governance/compare/compare-documents.ts'
import { RULES, type RuleId } from '../../../../src/governance/compare/change.ts'
import { resolvePointer } from '../../../../src/json/references.ts'
import { readSpecification, type Specification } from '../../../../src/governance/specification.ts'
import { createRandom } from '../../../random.ts'

type Json = Record<string, unknown>

const NOW_MS = Date.UTC(2027, 0, 15)

const schemes = {
  oauth: { type: 'oauth2', flows: { clientCredentials: { tokenUrl: '/t', scopes: { a: 'a', b: 'b' } } } },
  other: { type: 'openIdConnect', openIdConnectUrl: 'https://idp.example' },
  key: { type: 'apiKey', in: 'header', name: 'x-api-key' },
}
const json = (schema: unknown) => ({ 'application/json': { schema } })

/** A document with one operation at `/things/{id}`, and more where a test adds some. */
function toDocument(operation: Json = {}, more: Json = {}): Json {
  const id = { name: 'id', in: 'path', required: true, schema: { type: 'string' } }
  const { parameters = [], ...fields } = operation
  const post = {
    operationId: 'change',
    parameters: [id, ...(parameters as unknown[])],
    responses: { 200: { description: 'done' } },
    ...fields,
  }
  return {
    openapi: '3.1.0',
    info: { title: 'Things', version: '1.0.0' },
    paths: { '/things/{id}': { post }, ...(more['paths'] as Json) },
    components: { securitySchemes: schemes, schemas: more['schemas'] ?? {} },
    ...(more['security'] !== undefined && { security: more['security'] }),
  }
}

const read = (document: unknown): Promise<Specification> => readSpecification(Buffer.from(JSON.stringify(document)))

async function idsOf(before: unknown, after: unknown): Promise<string[]> {
  return compareDocuments(await read(before), await read(after), NOW_MS).map(({ id }) => id)
}

const sent = (schema: unknown, required = false) => toDocument({ requestBody: { required, content: json(schema) } })
const got = (schema: unknown) => toDocument({ responses: { 200: { description: 'ok', content: json(schema) } } })
const asked = (...parameters: Json[]) => toDocument({ parameters })
const secured = (security: unknown) => toDocument({ security })
const query = (more: Json = {}) => ({ name: 'q', in: 'query', schema: { type: 'string' }, ...more })
const other = { get: { operationId: 'other', responses: { 200: { description: 'ok' } } } }
const two = toDocument({}, { paths: { '/others': other } })
const one = toDocument()
const object = (properties: Json, required: string[] = [], more: Json = {}) => ({
  type: 'object',
  properties,
  required,
  ...more,
})
const text = { type: 'string' }
const answered = (headers: Json) => toDocument({ responses: { 200: { description: 'ok', headers } } })
const ending = (sunset: string) =>
  toDocument({}, { paths: { '/others': { get: { ...other.get, deprecated: true, 'x-sunset': sunset } } } })

/** Rule by rule: what makes it, there and back. */
const CASES: readonly (readonly [RuleId | null, RuleId | null, string, unknown, unknown])[] = [
  ['operation.removed', 'operation.added', 'an operation', two, one],
  ['operation.renamed', 'operation.renamed', 'an id', one, toDocument({ operationId: 'alter' })],
  ['parameter.removed', null, 'an optional parameter', asked(query()), one],
  ['parameter.removed', 'parameter.added.required', 'a required parameter', asked(query({ required: true })), one],
  ['parameter.made.required', null, 'a parameter', asked(query()), asked(query({ required: true }))],
  ['request.type', null, 'a parameter’s type', asked(query({ schema: {} })), asked(query())],
  ['body.removed', 'body.added.required', 'a required body', sent(text, true), one],
  ['body.removed', null, 'an optional body', sent(text), one],
  ['body.made.required', null, 'a body', sent(text), sent(text, true)],
  [
    'request.mediaType.removed',
    null,
    'a media type',
    toDocument({ requestBody: { content: { ...json(text), 'text/plain': {} } } }),
    sent(text),
  ],
  [
    'response.status.removed',
    null,
    'a success',
    toDocument({ responses: { 200: { description: 'a' }, 202: { description: 'b' } } }),
    one,
  ],
  [null, null, 'an error', toDocument({ responses: { 200: { description: 'a' }, 404: { description: 'b' } } }), one],
  ['response.mediaType.removed', null, 'what is answered', got(text), one],
  ['request.type', null, 'a type that is sent', sent({ type: ['string', 'null'] }), sent(text)],
  ['request.type', null, 'a number that is sent', sent({ type: 'number' }), sent({ type: 'integer' })],
  [null, 'response.type', 'a type that is received', got({ type: ['string', 'null'] }), got(text)],
  [null, 'response.type', 'a number that is received', got({ type: 'number' }), got({ type: 'integer' })],
  ['request.enum.removed', null, 'a value that is sent', sent({ enum: ['a', 'b'] }), sent({ enum: ['a'] })],
  ['request.enum.removed', null, 'all values but one', sent(text), sent({ ...text, const: 'a' })],
  [null, 'response.enum.added', 'a value that is received', got({ enum: ['a', 'b'] }), got({ enum: ['a'] })],
  [
    'request.property.required',
    null,
    'a property that is sent',
    sent(object({ a: text })),
    sent(object({ a: text }, ['a'])),
  ],
  ['request.property.removed', null, 'a property that is sent', sent(object({ a: text })), sent(object({}))],
  [
    'request.property.refused',
    null,
    'a property of a closed object',
    sent(object({ a: text }, [], { additionalProperties: false })),
    sent(object({}, [], { additionalProperties: false })),
  ],
  ['request.closed', null, 'an open object', sent(object({})), sent(object({}, [], { additionalProperties: false }))],
  ['response.property.removed', null, 'a property that is received', got(object({ a: text })), got(object({}))],
  [
    'response.property.optional',
    null,
    'a property that is always received',
    got(object({ a: text }, ['a'])),
    got(object({ a: text })),
  ],
  ['request.bound', null, 'a length', sent({ ...text, maxLength: 9 }), sent({ ...text, maxLength: 8 })],
  ['request.bound', null, 'a new bound', sent({ type: 'number' }), sent({ type: 'number', minimum: 1 })],
  ['request.pattern', null, 'a pattern', sent(text), sent({ ...text, pattern: '^a' })],
  [
    'request.alternative.removed',
    null,
    'a form that is sent',
    sent({ oneOf: [text, { type: 'number' }] }),
    sent({ oneOf: [text] }),
  ],
  [
    null,
    'response.alternative.added',
    'a form that is received',
    got({ oneOf: [text, { type: 'number' }] }),
    got({ oneOf: [text] }),
  ],
  ['security.narrowed', null, 'a public operation', secured([]), secured([{ oauth: ['a'] }])],
  ['security.narrowed', null, 'a scope', secured([{ oauth: ['a'] }]), secured([{ oauth: ['a', 'b'] }])],
  ['security.narrowed', null, 'an alternative', secured([{ oauth: ['a'] }, { key: [] }]), secured([{ oauth: ['a'] }])],
  [null, null, 'a scheme by another name', secured([{ oauth: ['a'] }]), secured([{ other: ['a'] }])],
  ['request.format', null, 'a format that is sent', sent(text), sent({ ...text, format: 'uuid' })],
  [
    'request.format',
    'request.format',
    'one format for another',
    sent({ ...text, format: 'date' }),
    sent({ ...text, format: 'uuid' }),
  ],
  ['response.format', null, 'a format that is received', got({ ...text, format: 'uuid' }), got(text)],
  ['request.default', null, 'a default', asked(query({ schema: { ...text, default: 'a' } })), asked(query())],
  [
    'request.default',
    'request.default',
    'one default for another',
    asked(query({ schema: { ...text, default: 'a' } })),
    asked(query({ schema: { ...text, default: 'b' } })),
  ],
  [
    'discriminator.changed',
    null,
    'a discriminator',
    got({ oneOf: [object({}), object({})], discriminator: { propertyName: 'kind' } }),
    got({ oneOf: [object({}), object({})] }),
  ],
  ['response.header.removed', null, 'a header', answered({ ETag: { schema: text } }), answered({})],
  [null, null, 'the case of a header', answered({ ETag: { schema: text } }), answered({ etag: { schema: text } })],
  ['operation.deprecated', null, 'what is to go', one, toDocument({ deprecated: true })],
  ['operation.sunset', 'operation.added', 'an operation whose sunset has come', ending('2027-01-15T00:00:00Z'), one],
  ['operation.removed', 'operation.added', 'an operation whose sunset is to come', ending('2027-01-15T00:00:01Z'), one],
  [
    'request.property.required',
    null,
    'what allOf adds',
    sent({ allOf: [object({ a: text })] }),
    sent({ allOf: [object({ a: text }), { required: ['a'] }] }),
  ],
]

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
    expect(Object.keys(RULES).filter((id) => !shown.has(id as RuleId))).toEqual([])
  })
})

describe('what is no change', () => {
  it('is another name of a parameter in the path', async () => {
    const renamed = JSON.parse(JSON.stringify(one).replace('{id}', '{key}').replace('"name":"id"', '"name":"key"'))
    expect(await idsOf(one, renamed)).toEqual([])
  })

  it('is a schema that is now referred to', async () => {
    const schema = object({ a: object({ b: text }, ['b']) }, ['a'])
    const referring = toDocument(
      { requestBody: { content: json({ $ref: '#/components/schemas/S' }) } },
      { schemas: { S: schema } },
    )
    expect(await idsOf(sent(schema), referring)).toEqual([])
  })

  it('is a schema that contains itself', async () => {
    const schemas = { Node: object({ next: { $ref: '#/components/schemas/Node' }, name: text }) }
    const tree = toDocument({ requestBody: { content: json({ $ref: '#/components/schemas/Node' }) } }, { schemas })
    expect(await idsOf(tree, structuredClone(tree))).toEqual([])
    const deeper = structuredClone(tree) as { components: { schemas: { Node: Json } } }
    deeper.components.schemas.Node['required'] = ['name']
    expect(await idsOf(tree, deeper)).toEqual(['request.property.required'])
  })

  it('is what stands in the place of a reference, and how the text is laid out', async () => {
    const bytes = readFileSync(join(import.meta.dirname, '../../../../src/sample/payments.openapi.yaml'))
    const specification = await readSpecification(bytes)
    const inlined = await read(inline(specification.document, specification.document, []))
    const laidOut = await readSpecification(Buffer.from(JSON.stringify(specification.document, null, 7)))
    for (const other of [inlined, laidOut]) {
      expect(compareDocuments(specification, other)).toEqual([])
      expect(compareDocuments(other, specification)).toEqual([])
    }
  })

  it.each(['payments.openapi.yaml'])('is the order of anything in %s', async (file) => {
    const bytes = readFileSync(join(import.meta.dirname, '../../../../src/sample', file))
    const specification = await readSpecification(bytes)
    for (let seed = 1; seed <= 5; seed++) {
      const shuffled = await read(shuffle(specification.document, createRandom(seed)))
      expect(compareDocuments(specification, shuffled), `seed ${seed}`).toEqual([])
      expect(compareDocuments(shuffled, specification), `seed ${seed}`).toEqual([])
    }
  })
})

it('finds what was taken from a very large document, and nothing where nothing was', async () => {
  const path = join(import.meta.dirname, '../../../../node_modules/@octokit/openapi/generated/api.github.com.json')
  const document = JSON.parse(readFileSync(path, 'utf8')) as { paths: Record<string, unknown> }
  const before = await read(document)
  expect(compareDocuments(before, await read(structuredClone(document)))).toEqual([])
  const after = structuredClone(document)
  delete after.paths['/emojis']
  expect(compareDocuments(before, await read(after))).toMatchObject([
    { id: 'operation.removed', level: 'breaking', pointer: '/paths/~1emojis/get' },
  ])
})

/** The same members in another order; lists keep theirs. */
function shuffle(value: unknown, random: ReturnType<typeof createRandom>): unknown {
  if (Array.isArray(value)) return value.map((each) => shuffle(each, random))
  if (typeof value !== 'object' || value === null) return value
  const entries = Object.entries(value).map(([key, inner]) => [random.next(), key, shuffle(inner, random)] as const)
  return Object.fromEntries(entries.sort(([a], [b]) => a - b).map(([, key, inner]) => [key, inner]))
}

/** The value with references replaced by what they lead to, where that does not hold itself. */
function inline(document: unknown, value: unknown, within: readonly string[]): unknown {
  if (Array.isArray(value)) return value.map((item) => inline(document, item, within))
  if (typeof value !== 'object' || value === null) return value
  const reference = (value as Json)['$ref']
  if (typeof reference === 'string' && !within.includes(reference)) {
    return inline(document, resolvePointer(document, reference), [...within, reference])
  }
  return Object.fromEntries(Object.entries(value).map(([key, inner]) => [key, inline(document, inner, within)]))
}

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
