import { describe, expect, it } from 'vitest'
import { compareDocuments } from '../../../../../src/documents/governance/compare/compare-documents.ts'
import { openGateway, type Request } from './gateway-verdict.ts'
import {
  asked,
  json,
  list,
  NOW_MS,
  object,
  one,
  partsOf,
  query,
  read,
  sent,
  sized,
  text,
  toDocument,
  type Json,
} from './small-documents.ts'

const number = { type: 'integer' }
const numbers = (more: Json) => list({ schema: { type: 'array', items: number }, ...more })
const limited = { ...text, maxLength: 3 }
const header = (more: Json = {}) => query({ in: 'header', name: 'X-Region', ...more })
const cookie = (more: Json = {}) => query({ in: 'cookie', ...more })
const content = (schema: Json) => ({ name: 'q', in: 'query', content: json(schema) })
const plain = (schema: Json) => ({ name: 'q', in: 'query', content: { 'text/plain': { schema } } })
const filter = (more: Json) => query({ schema: object({ a: number }, ['a']), required: true, ...more })
const bodyOf = (content: Json, more: Json = {}) => toDocument({ requestBody: { content, ...more } })
const xml = { type: 'application/xml', raw: '<a/>' }

async function compare(before: unknown, after: unknown): Promise<readonly string[]> {
  const changes = compareDocuments(await read(before), await read(after), NOW_MS)
  return changes.map(({ level, id }) => `${level} ${id}`)
}

/** Each with a request that is accepted before and refused after; the other way is not breaking. */
const REFUSED: readonly (readonly [what: string, before: unknown, after: unknown, Request, rule: string])[] = [
  [
    'a narrower content parameter',
    asked(content(object({ a: text }))),
    asked(content(object({ a: text }, ['a']))),
    { query: '?q=%7B%22b%22:1%7D' },
    'request.property.required',
  ],
  [
    'style: form to pipeDelimited',
    asked(numbers({ explode: false })),
    asked(numbers({ explode: false, style: 'pipeDelimited' })),
    { query: '?q=1,2' },
    'parameter.serialization',
  ],
  [
    'style: deepObject to form',
    asked(filter({ style: 'deepObject' })),
    asked(filter({})),
    { query: '?q[a]=1' },
    'parameter.serialization',
  ],
  [
    'explode: false to true',
    asked(numbers({ explode: false })),
    asked(numbers({})),
    { query: '?q=1,2' },
    'parameter.serialization',
  ],
  ['schema to content', asked(query()), asked(content(text)), { query: '?q=a' }, 'parameter.serialization'],
  [
    'a required parameter that moves',
    asked(query({ required: true })),
    asked(header({ name: 'q', required: true })),
    { query: '?q=a' },
    'parameter.moved.required',
  ],
  [
    'a header parameter that becomes required',
    asked(header()),
    asked(header({ required: true })),
    {},
    'parameter.made.required',
  ],
  [
    'a cookie parameter that becomes required',
    asked(cookie()),
    asked(cookie({ required: true })),
    {},
    'parameter.made.required',
  ],
  ['a required header parameter that is added', one, asked(header({ required: true })), {}, 'parameter.added.required'],
  [
    'a narrower header parameter',
    asked(header()),
    asked(header({ schema: limited })),
    { headers: { 'x-region': 'abcd' } },
    'request.bound',
  ],
  [
    'a narrower query parameter',
    asked(query()),
    asked(query({ schema: limited })),
    { query: '?q=abcd' },
    'request.bound',
  ],
  [
    'a narrower cookie parameter',
    asked(cookie()),
    asked(cookie({ schema: limited })),
    { headers: { cookie: 'q=abcd' } },
    'request.bound',
  ],
  ['a text that becomes a number', asked(query()), asked(query({ schema: number })), { query: '?q=a' }, 'request.type'],
  ['a body that becomes required', sent(text), sent(text, true), {}, 'body.made.required'],
  ['a required body that is added', one, sent(text, true), {}, 'body.added.required'],
  ['a lower x-tollgate-max-body-bytes', sized(2_000), sized(1_000), { body: 'a'.repeat(1_500) }, 'body.size'],
  [
    'a media type that is removed',
    bodyOf({ ...json(text), 'application/xml': {} }),
    sent(text),
    xml,
    'request.mediaType.removed',
  ],
  [
    'a range that becomes one type',
    bodyOf({ 'application/*': {} }),
    bodyOf({ 'application/json': {} }),
    xml,
    'request.mediaType.removed',
  ],
  ['any type that becomes a range', bodyOf({ '*/*': {} }), bodyOf({ 'text/*': {} }), xml, 'request.mediaType.removed'],
  [
    'a narrower schema of a range',
    bodyOf({ 'application/*': { schema: text } }),
    bodyOf({ 'application/*': { schema: limited } }),
    { body: 'abcd' },
    'request.bound',
  ],
  [
    'a narrower schema of a form',
    bodyOf({ 'application/x-www-form-urlencoded': { schema: object({ a: text }) } }),
    bodyOf({ 'application/x-www-form-urlencoded': { schema: object({ a: text }, ['a']) } }),
    { type: 'application/x-www-form-urlencoded', raw: 'b=1' },
    'request.property.required',
  ],
  [
    'a schema that is added to a media type',
    bodyOf({ 'application/json': {} }),
    sent(text),
    { body: 1 },
    'request.type',
  ],
  [
    'a schema in place of binary content',
    sent({ ...text, format: 'binary' }),
    sent(text),
    { raw: '{' },
    'request.type',
  ],
]

/** Each with a request that both versions accept; neither way is breaking. */
const ACCEPTED: readonly (readonly [what: string, before: unknown, after: unknown, Request])[] = [
  ['the schema of content that is not JSON', asked(plain(text)), asked(plain(limited)), { query: '?q=abcd' }],
  ['an optional parameter that is added', one, asked(query({ schema: limited })), { query: '?q=abc' }],
  [
    'an optional parameter that moves',
    asked(query()),
    asked(query({ in: 'header' })),
    { query: '?q=a', headers: { q: 'a' } },
  ],
  ['allowReserved', asked(query()), asked(query({ allowReserved: true })), { query: '?q=a/b%2Fc' }],
  ['explode of a text', asked(query()), asked(query({ explode: false })), { query: '?q=a,b' }],
  ['the style of a text', asked(query()), asked(query({ style: 'pipeDelimited' })), { query: '?q=a|b' }],
  [
    'the case of a header parameter',
    asked(header()),
    asked(header({ name: 'x-region' })),
    { headers: { 'x-region': 'a' } },
  ],
  ['an optional property that is added', sent(object({})), sent(object({ a: text })), { body: { a: 'a' } }],
  ['a charset', bodyOf(json(text)), bodyOf({ 'application/json; charset=utf-8': { schema: text } }), { body: 'a' }],
  ['the case of a media type', bodyOf(json(text)), bodyOf({ 'Application/JSON': { schema: text } }), { body: 'a' }],
  [
    'a body of several parts',
    partsOf(object({ a: text })),
    partsOf(object({ a: text }, ['a'])),
    { type: 'multipart/form-data', raw: '' },
  ],
  [
    'the schema of text',
    bodyOf({ 'text/plain': { schema: text } }),
    bodyOf({ 'text/plain': { schema: limited } }),
    { type: 'text/plain', raw: 'abcd' },
  ],
]

/** Breaking, because the backend would read another value, or by agreement. */
const AGREED: readonly (readonly [what: string, before: unknown, after: unknown, rule: string])[] = [
  [
    'style',
    asked(numbers({ explode: false })),
    asked(numbers({ explode: false, style: 'pipeDelimited' })),
    'parameter.serialization',
  ],
  ['explode: false to true', asked(numbers({ explode: false })), asked(numbers({})), 'parameter.serialization'],
  ['explode: true to false', asked(numbers({})), asked(numbers({ explode: false })), 'parameter.serialization'],
  ['style: deepObject', asked(filter({ style: 'deepObject' })), asked(filter({})), 'parameter.serialization'],
  [
    'content instead of schema',
    asked(query()),
    asked({ name: 'q', in: 'query', content: json(text) }),
    'parameter.serialization',
  ],
  [
    'the media type of content',
    asked({ name: 'q', in: 'query', content: json(text) }),
    asked({ name: 'q', in: 'query', content: { 'text/plain': { schema: text } } }),
    'parameter.serialization',
  ],
  [
    'a required parameter that moves',
    asked(query({ required: true })),
    asked(header({ name: 'q', required: true })),
    'parameter.moved.required',
  ],
]

/** Callers of either version send what the other one does not read. */
const BOTH_WAYS = ['breaking parameter.serialization', 'breaking parameter.moved.required']

describe('A request that the gateway accepted and now refuses is breaking, and the other way is not', () => {
  it.each(REFUSED)('%s', async (_, before, after, request, rule) => {
    const gateways = [await openGateway(before), await openGateway(after)]
    expect(gateways.map((gateway) => gateway.accepts(request))).toEqual([true, false])
    expect(await compare(before, after)).toEqual([`breaking ${rule}`])
    const back = (await compare(after, before)).filter((each) => each.startsWith('breaking'))
    expect(back.filter((each) => !BOTH_WAYS.includes(each))).toEqual([])
  })
})

describe('A change after which the gateway accepts the same requests is not breaking', () => {
  it.each(ACCEPTED)('%s', async (_, before, after, request) => {
    const gateways = [await openGateway(before), await openGateway(after)]
    expect(gateways.map((gateway) => gateway.accepts(request))).toEqual([true, true])
    expect((await compare(before, after)).filter((each) => each.startsWith('breaking'))).toEqual([])
  })
})

describe('A change of the contract of a request is breaking', () => {
  it.each(AGREED)('%s, both ways', async (_, before, after, rule) => {
    expect(await compare(before, after)).toContain(`breaking ${rule}`)
    expect(await compare(after, before)).toContain(`breaking ${rule}`)
  })
})
