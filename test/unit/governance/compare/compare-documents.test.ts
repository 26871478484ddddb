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
const list = (more: Json = {}) => query({ schema: { type: 'array', items: text }, ...more })
const named = (more: Json) => object({}, [], more)
const spelt = (pattern: string) => ({ ...text, pattern })
const mapped = (mapping: Json) => ({ oneOf: [object({})], discriminator: { propertyName: 'kind', mapping } })
const served = (url: string) => ({ ...one, servers: [{ url }] })
const hooked = (webhooks: Json) => ({ ...one, webhooks })
const called = (callbacks: Json) => toDocument({ callbacks })
const item = { post: { responses: { 200: { description: 'ok' } } } }
const typed = (mediaType: string) => toDocument({ requestBody: { content: { [mediaType]: { schema: object({}) } } } })
const answering = (mediaType: string) =>
  toDocument({ responses: { 200: { description: 'ok', content: { ...json(text), [mediaType]: {} } } } })
const replying = (...statuses: string[]) =>
  toDocument({ responses: Object.fromEntries(statuses.map((status) => [status, { description: 'ok' }])) })
const ending = (sunset: string) =>
  toDocument({}, { paths: { '/others': { get: { ...other.get, deprecated: true, 'x-sunset': sunset } } } })

/** Rule by rule: what makes it, there and back. */
const CASES: readonly (readonly [RuleId | null, RuleId | null, string, unknown, unknown])[] = [
  ['operation.removed', 'operation.added', 'an operation', two, one],
  ['operation.renamed', 'operation.renamed', 'an id', one, toDocument({ operationId: 'alter' })],
  ['parameter.removed', 'parameter.added', 'an optional parameter', asked(query()), one],
  ['parameter.removed', 'parameter.added.required', 'a required parameter', asked(query({ required: true })), one],
  ['parameter.made.required', null, 'a parameter', asked(query()), asked(query({ required: true }))],
  ['request.type', null, 'a parameter’s type', asked(query()), asked(query({ schema: { type: 'integer' } }))],
  [null, null, 'a parameter without a type', asked(query({ schema: {} })), asked(query())],
  ['parameter.moved', 'parameter.moved', 'a location', asked(query()), asked(query({ in: 'header' }))],
  [
    'parameter.serialization',
    'parameter.serialization',
    'a list in the query',
    asked(list()),
    asked(list({ explode: false })),
  ],
  [
    'parameter.serialization',
    'parameter.serialization',
    'a delimiter',
    asked(list()),
    asked(list({ style: 'pipeDelimited' })),
  ],
  [
    'parameter.serialization',
    'parameter.serialization',
    'reserved characters',
    asked(query()),
    asked(query({ allowReserved: true })),
  ],
  [
    'parameter.serialization',
    'parameter.serialization',
    'content of a parameter',
    asked(query()),
    asked({ name: 'q', in: 'query', content: json(text) }),
  ],
  [null, null, 'explode of a text', asked(query()), asked(query({ explode: false }))],
  [
    null,
    null,
    'the case of a header parameter',
    asked(query({ in: 'header', name: 'X-A' })),
    asked(query({ in: 'header', name: 'x-a' })),
  ],
  ['body.removed', 'body.added.required', 'a required body', sent(text, true), one],
  ['body.removed', 'body.added', 'an optional body', sent(text), one],
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
    'response.status.added',
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
  [
    'request.property.removed',
    'request.property.added',
    'a property that is sent',
    sent(object({ a: text })),
    sent(object({})),
  ],
  [
    'request.property.refused',
    'request.property.added',
    'a property of a closed object',
    sent(object({ a: text }, [], { additionalProperties: false })),
    sent(object({}, [], { additionalProperties: false })),
  ],
  ['request.closed', null, 'an open object', sent(object({})), sent(object({}, [], { additionalProperties: false }))],
  [
    'response.property.removed',
    'response.property.added',
    'a property that is received',
    got(object({ a: text })),
    got(object({})),
  ],
  [
    'response.property.undeclared',
    'response.property.added',
    'an optional property of a closed response',
    got(object({ a: text }, [], { additionalProperties: false })),
    got(object({}, [], { additionalProperties: false })),
  ],
  [
    null,
    'response.opened',
    'a response that is open',
    got(object({})),
    got(object({}, [], { additionalProperties: false })),
  ],
  [null, 'response.bound', 'a length that is received', got({ ...text, maxLength: 9 }), got({ ...text, maxLength: 8 })],
  [null, 'response.pattern', 'a pattern that is received', got(text), got({ ...text, pattern: '^a' })],
  [
    null,
    'response.widened',
    'names that are received',
    got(named({})),
    got(named({ propertyNames: { maxLength: 3 } })),
  ],
  ['request.narrowed', null, 'names that are sent', sent(named({})), sent(named({ propertyNames: { maxLength: 3 } }))],
  [
    'request.undecided',
    'request.undecided',
    'the spelling of a pattern that is sent',
    sent(spelt('^a+$')),
    sent(spelt('^a*a$')),
  ],
  [
    'response.undecided',
    'response.undecided',
    'the spelling of a pattern that is received',
    got(spelt('^a+$')),
    got(spelt('^a*a$')),
  ],
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
  ['security.narrowed', 'security.removed', 'a public operation', secured([]), secured([{ oauth: ['a'] }])],
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
  [
    'discriminator.changed',
    'discriminator.changed',
    'the mapping of a discriminator',
    got(mapped({ a: '#/components/schemas/A' })),
    got(mapped({ a: '#/components/schemas/B' })),
  ],
  ['security.narrowed', 'security.narrowed', 'a scheme', secured([{ oauth: ['a'] }]), secured([{ key: [] }])],
  [
    null,
    'security.narrowed',
    'an alternative beside others',
    secured([{ key: [] }]),
    secured([{ key: [] }, { oauth: [] }]),
  ],
  ['server.path', 'server.path', 'a base path', served('/v1'), served('/v2')],
  [null, null, 'the host of a server', served('https://a.example/v1'), served('https://b.example/v1/')],
  ['webhook.removed', 'webhook.added', 'a webhook', hooked({ a: item }), hooked({})],
  ['webhook.changed', 'webhook.changed', 'the content of a webhook', hooked({ a: item }), hooked({ a: {} })],
  ['callback.removed', 'callback.added', 'a callback', called({ a: { '{$request.body}': item } }), called({})],
  [
    'callback.changed',
    'callback.changed',
    'the content of a callback',
    called({ a: { '{$request.body}': item } }),
    called({ a: {} }),
  ],
  [
    'response.mediaType.added',
    'response.mediaType.removed',
    'a media type that is answered',
    got(text),
    answering('text/csv'),
  ],
  [
    null,
    null,
    'the case and the parameters of a media type',
    typed('application/json'),
    typed('Application/JSON; charset=utf-8'),
  ],
  [null, 'request.mediaType.removed', 'the range of a media type', typed('application/json'), typed('application/*')],
  [null, null, 'statuses by their range', replying('2XX'), replying('200', '2XX')],
  [
    'response.header.optional',
    null,
    'a header that is always received',
    answered({ ETag: { required: true, schema: text } }),
    answered({ ETag: { schema: text } }),
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

describe('A change of a keyword that the gateway enforces', () => {
  const array = (more: Json) => ({ type: 'array', items: text, ...more })
  const number = (more: Json) => ({ type: 'number', ...more })
  const open = (more: Json) => ({ type: 'object', ...more })
  const kind = (name: string) => object({ kind: { const: name } }, ['kind'])
  const NARROWING: readonly (readonly [what: string, before: unknown, after: unknown])[] = [
    ['an added multipleOf', number({}), number({ multipleOf: 2 })],
    ['a stricter multipleOf', number({ multipleOf: 2 }), number({ multipleOf: 4 })],
    ['an added minimum: 0', number({}), number({ minimum: 0 })],
    ['an added exclusiveMinimum', number({ minimum: 0 }), number({ exclusiveMinimum: 0 })],
    ['an added maximum', number({}), number({ maximum: 10 })],
    ['an added pattern', text, { ...text, pattern: '^[a-z]+$' }],
    ['an added format', text, { ...text, format: 'email' }],
    ['an added uniqueItems', array({}), array({ uniqueItems: true })],
    ['a narrower items', array({ items: {} }), array({})],
    ['an added prefixItems', array({ items: {} }), array({ items: {}, prefixItems: [text] })],
    ['an added contains', array({}), array({ contains: { const: 'a' } })],
    ['an added maxContains', array({ contains: text }), array({ contains: text, maxContains: 1 })],
    [
      'an added unevaluatedItems',
      array({ items: undefined }),
      { type: 'array', prefixItems: [{}], unevaluatedItems: false },
    ],
    ['an additionalProperties with a schema', open({}), open({ additionalProperties: text })],
    ['an added patternProperties', open({}), open({ patternProperties: { '^x-': text } })],
    ['an added propertyNames', open({}), open({ propertyNames: { pattern: '^[a-z]+$' } })],
    ['an added dependentRequired', open({}), open({ dependentRequired: { a: ['b'] } })],
    ['an added dependentSchemas', open({}), open({ dependentSchemas: { a: { required: ['b'] } } })],
    ['an added unevaluatedProperties', object({ a: text }), object({ a: text }, [], { unevaluatedProperties: false })],
    ['a boolean schema', object({ a: text }), object({ a: false })],
    ['an added not', text, { ...text, not: { const: '' } }],
    ['an added if', open({}), open({ if: { required: ['a'] }, then: { required: ['b'] } })],
    ['an added sibling of allOf', { allOf: [text] }, { allOf: [text], maxLength: 3 }],
    ['a removed branch of anyOf', { anyOf: [text, { type: 'null' }] }, { anyOf: [text] }],
    ['a removed branch of oneOf', { oneOf: [kind('a'), kind('b')] }, { oneOf: [kind('b')] }],
    ['a property that becomes required', object({ a: text }), object({ a: text }, ['a'])],
    ['a value removed from an enum', { enum: ['a', 'b'] }, { const: 'a' }],
  ]
  it.each(NARROWING)('%s is breaking in a request, and its removal is not', async (_, before, after) => {
    const levels = async (one: unknown, other: unknown) =>
      compareDocuments(await read(one), await read(other), NOW_MS).map(({ level, id }) => `${level} ${id}`)
    const there = await levels(sent(before), sent(after))
    expect(there.filter((each) => each.startsWith('breaking') && !each.endsWith('undecided'))).not.toEqual([])
    expect((await levels(sent(after), sent(before))).filter((each) => each.startsWith('breaking'))).toEqual([])
  })

  it.each(NARROWING)('%s is compatible in a response, and its removal is breaking', async (_, before, after) => {
    const breaking = async (one: unknown, other: unknown) =>
      compareDocuments(await read(one), await read(other), NOW_MS).filter(({ level }) => level === 'breaking')
    expect(await breaking(got(before), got(after))).toEqual([])
    expect(await breaking(got(after), got(before))).not.toEqual([])
  })

  const HARMLESS: readonly (readonly [what: string, before: unknown, after: unknown])[] = [
    ['enum with one value and const', { enum: ['a'] }, { const: 'a' }],
    ['the order of branches', { oneOf: [kind('a'), kind('b')] }, { oneOf: [kind('b'), kind('a')] }],
    ['an allOf and its merged form', { allOf: [object({ a: text }), { required: ['a'] }] }, object({ a: text }, ['a'])],
    ['the spellings of nullable', { type: ['string', 'null'] }, { anyOf: [{ type: 'null' }, text] }],
    [
      'a minimum: 0 that an exclusiveMinimum implies',
      number({ exclusiveMinimum: 0 }),
      number({ exclusiveMinimum: 0, minimum: 0 }),
    ],
    ['an alternative that another one contains', text, { anyOf: [text, { const: 'a' }] }],
    ['a condition that always holds', text, { if: true, then: text }],
    ['an integer and a multiple of one', { type: 'integer' }, number({ multipleOf: 1 })],
  ]
  it.each(HARMLESS)('another form is no change: %s', async (_, before, after) => {
    for (const place of [sent, got]) {
      expect(await idsOf(place(before), place(after))).toEqual([])
      expect(await idsOf(place(after), place(before))).toEqual([])
    }
  })

  it('is compared across the spellings of 3.0 and 3.1', async () => {
    const old = { type: 'number', minimum: 0, exclusiveMinimum: true, nullable: true }
    const before = { ...sent(old), openapi: '3.0.3' }
    const after = sent({ type: ['number', 'null'], exclusiveMinimum: 0 })
    expect(await idsOf(before, after)).toEqual([])
    expect(await idsOf(after, before)).toEqual([])
  })

  it('is compared beside a reference', async () => {
    const schemas = { S: text }
    const referring = (more: Json) =>
      toDocument({ requestBody: { content: json({ $ref: '#/components/schemas/S', ...more }) } }, { schemas })
    expect(await idsOf(referring({}), referring({ maxLength: 3 }))).toEqual(['request.bound'])
  })

  it('ignores readOnly properties in requests and writeOnly ones in responses', async () => {
    const required = (more: Json) => object({ id: { ...text, ...more } }, ['id'])
    expect(await idsOf(sent(object({ id: { ...text, readOnly: true } })), sent(required({ readOnly: true })))).toEqual(
      [],
    )
    expect(await idsOf(got(required({ writeOnly: true })), got(object({ id: { ...text, writeOnly: true } })))).toEqual(
      [],
    )
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
