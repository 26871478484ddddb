import { describe, expect, it } from 'vitest'
import { compareDocuments } from '../../../../../src/documents/governance/compare/compare-documents.ts'
import { openGateway, type Response } from './gateway-verdict.ts'
import {
  answered,
  answering,
  json,
  NOW_MS,
  one,
  read,
  replying,
  text,
  toDocument,
  type Json,
} from './small-documents.ts'

const limited = { ...text, maxLength: 3 }
const ok = (content: Json) => ({ description: 'ok', content })
const answerOf = (responses: Json) => toDocument({ responses })
const csv = { type: 'text/csv', body: 'a' }

async function compare(before: unknown, after: unknown): Promise<readonly string[]> {
  const changes = compareDocuments(await read(before), await read(after), NOW_MS)
  return changes.map(({ level, id }) => `${level} ${id}`)
}

/** Each with a response that the former contract does not allow, and the new one does. */
const NEW: readonly (readonly [what: string, before: unknown, after: unknown, Response, rule: string])[] = [
  ['a success status', replying('200'), replying('200', '201'), { status: 201 }, 'response.status.added'],
  ['a redirection', replying('200'), replying('200', '303'), { status: 303 }, 'response.status.added'],
  ['2XX in place of 200', replying('200'), replying('2XX'), { status: 201 }, 'response.status.added'],
  ['default in place of 200', replying('200'), replying('default'), { status: 201 }, 'response.status.added'],
  ['a media type', answerOf({ 200: ok(json(text)) }), answering('text/csv'), csv, 'response.mediaType.added'],
  ['a range of media types', answerOf({ 200: ok(json(text)) }), answering('text/*'), csv, 'response.mediaType.added'],
  ['any content', answerOf({ 200: ok(json(text)) }), one, csv, 'response.content.removed'],
  [
    'a wider body of 2XX',
    answerOf({ '2XX': ok(json(limited)) }),
    answerOf({ '2XX': ok(json(text)) }),
    { status: 201, body: 'abcd' },
    'response.bound',
  ],
  [
    'a wider body of a status that 2XX described',
    answerOf({ '2XX': ok(json(limited)) }),
    answerOf({ 201: ok(json(text)) }),
    { status: 201, body: 'abcd' },
    'response.bound',
  ],
  [
    'a wider body of a status that the default described',
    answerOf({ default: ok(json(limited)) }),
    answerOf({ 201: ok(json(text)) }),
    { status: 201, body: 'abcd' },
    'response.bound',
  ],
  [
    'a wider body of an error',
    answerOf({ 200: ok({}), 404: ok(json(limited)) }),
    answerOf({ 200: ok({}), 404: ok(json(text)) }),
    { status: 404, body: 'abcd' },
    'response.bound',
  ],
  [
    'a wider body of a range of media types',
    answerOf({ 200: ok({ 'application/*': { schema: limited } }) }),
    answerOf({ 200: ok({ 'application/*': { schema: text } }) }),
    { body: 'abcd' },
    'response.bound',
  ],
]

describe('A response that can occur now and that the former contract did not allow is breaking', () => {
  it.each(NEW)('%s', async (_, before, after, response, rule) => {
    const gateways = [await openGateway(before), await openGateway(after)]
    expect(gateways.map((gateway) => gateway.allows(response))).toEqual([false, true])
    expect(await compare(before, after)).toContain(`breaking ${rule}`)
  })

  it('if no success status is left that callers expect', async () => {
    expect(await compare(replying('200'), replying('201'))).toEqual([
      'breaking response.success.removed',
      'breaking response.status.added',
    ])
  })

  it.each([
    ['removed', answered({ ETag: { schema: text } }), answered({}), 'response.header.removed'],
    [
      'optional',
      answered({ ETag: { required: true, schema: text } }),
      answered({ ETag: { schema: text } }),
      'response.header.optional',
    ],
    ['wider', answered({ ETag: { schema: limited } }), answered({ etag: { schema: text } }), 'response.bound'],
  ])('also a header that is %s, which the gateway does not check', async (_, before, after, rule) => {
    expect(await compare(before, after)).toEqual([`breaking ${rule}`])
    expect((await compare(after, before)).filter((each) => each.startsWith('breaking'))).toEqual([])
  })
})

describe('A change after which all responses were allowed before is not breaking', () => {
  it.each([
    ['a status less', replying('200', '202'), replying('200'), ['warning response.status.removed']],
    [
      'a media type less',
      answering('text/csv'),
      answerOf({ 200: ok(json(text)) }),
      ['warning response.mediaType.removed'],
    ],
    ['single statuses of a former 2XX', replying('2XX'), replying('200', '202'), []],
    ['single types of a former range', answering('text/*'), answering('text/csv'), []],
    ['a status that the default described', replying('default'), replying('200', 'default'), []],
    ['content of a response without any', one, answerOf({ 200: ok(json(text)) }), []],
    ['a parameter of a media type', answering('text/csv'), answering('text/csv; charset=utf-8'), []],
    ['the case of a media type', answering('text/csv'), answering('Text/CSV'), []],
    [
      'the schema of a media type that the gateway does not check',
      answering('text/csv', limited),
      answering('text/csv', text),
      ['warning response.unwatched'],
    ],
  ])('%s', async (_, before, after, expected) => {
    expect(await compare(before, after)).toEqual(expected)
  })

  it('nor is an error status, which the gateway also answers undeclared', async () => {
    expect(await compare(replying('200'), replying('200', '404'))).toEqual(['info response.error.added'])
    expect(await compare(replying('200', '5XX'), replying('200'))).toEqual(['info response.error.removed'])
    expect(await compare(replying('200'), replying('200', 'default'))).toEqual(['info response.error.added'])
  })
})
