import { describe, expect, it } from 'vitest'
import {
  answered,
  asked,
  idsOf,
  json,
  list,
  object,
  one,
  query,
  replying,
  text,
  toDocument,
  type Json,
} from './small-documents.ts'

const bodyOf = (content: Json) => toDocument({ requestBody: { content } })
const answerOf = (responses: Json) => toDocument({ responses })
const ok = (content: Json) => ({ description: 'ok', content })
const limited = (maxLength: number) => ({ ...text, maxLength })
const header = (more: Json) => query({ in: 'header', name: 'X-Region', ...more })
const content = (schema: Json, mediaType = 'application/json') => ({
  name: 'q',
  in: 'query',
  content: { [mediaType]: { schema } },
})
const cookie = query({ in: 'cookie', name: 'Q' })

/** What is reported there and back. */
type Case = readonly [what: string, before: unknown, after: unknown, there: readonly string[], back: readonly string[]]

const PARAMETERS: readonly Case[] = [
  ['a stricter schema of a header', asked(header({})), asked(header({ schema: limited(3) })), ['request.bound'], []],
  [
    'a header that becomes required',
    asked(header({})),
    asked(header({ required: true })),
    ['parameter.made.required'],
    [],
  ],
  [
    'a header that is added',
    one,
    asked(header({ required: true })),
    ['parameter.added.required'],
    ['parameter.removed'],
  ],
  [
    'the schema of a content parameter',
    asked(content(object({}))),
    asked(content(object({ a: text }, ['a']))),
    ['request.property.required'],
    ['request.property.removed'],
  ],
  [
    'the media type of a content parameter',
    asked(content({})),
    asked(content({}, 'text/plain')),
    ['parameter.serialization'],
    ['parameter.serialization'],
  ],
  ['a content parameter of another case', asked(content({})), asked(content({}, 'Application/JSON')), [], []],
  [
    'the style of a list',
    asked(list()),
    asked(list({ style: 'spaceDelimited' })),
    ['parameter.serialization'],
    ['parameter.serialization'],
  ],
  [
    'explode of an object',
    asked(query({ schema: object({}) })),
    asked(query({ schema: object({}), explode: false })),
    ['parameter.serialization'],
    ['parameter.serialization'],
  ],
  [
    'allowReserved',
    asked(query()),
    asked(query({ allowReserved: true })),
    ['parameter.reserved'],
    ['parameter.reserved'],
  ],
  [
    'a parameter that moves to a header',
    asked(query()),
    asked(query({ in: 'header' })),
    ['parameter.moved'],
    ['parameter.moved'],
  ],
  ['a parameter that moves to a cookie', asked(query()), asked(cookie), ['parameter.moved'], ['parameter.moved']],
]

const BODIES: readonly Case[] = [
  ['a charset', bodyOf(json(text)), bodyOf({ 'application/json; charset=utf-8': { schema: text } }), [], []],
  ['the case of a media type', bodyOf(json(text)), bodyOf({ 'APPLICATION/Json': { schema: text } }), [], []],
  [
    'a stricter schema of a range',
    bodyOf({ 'application/*': { schema: text } }),
    bodyOf({ 'application/*': { schema: limited(3) } }),
    ['request.bound'],
    [],
  ],
  [
    'a type within a range that has a stricter schema',
    bodyOf({ 'application/*': { schema: text } }),
    bodyOf({ 'application/*': { schema: text }, ...json(limited(3)) }),
    ['request.bound'],
    [],
  ],
  [
    'a range that becomes one type',
    bodyOf({ 'application/*': { schema: text } }),
    bodyOf(json(text)),
    ['request.mediaType.removed'],
    [],
  ],
  [
    'any type that becomes a range',
    bodyOf({ '*/*': { schema: text } }),
    bodyOf({ 'application/*': { schema: text } }),
    ['request.mediaType.removed'],
    [],
  ],
]

const RESPONSES: readonly Case[] = [
  [
    'a wider schema of a header',
    answered({ 'X-A': { schema: limited(3) } }),
    answered({ 'X-A': { schema: text } }),
    ['response.bound'],
    [],
  ],
  [
    'a number in a header that becomes a text',
    answered({ 'X-A': { schema: { type: 'integer' } } }),
    answered({ 'X-A': { schema: text } }),
    ['response.type'],
    [],
  ],
  [
    'the content of a header',
    answered({ 'X-A': { content: json(limited(3)) } }),
    answered({ 'x-a': { content: json(text) } }),
    ['response.bound'],
    [],
  ],
  ['a described Content-Type', answered({ 'Content-Type': { schema: text } }), answered({}), [], []],
  [
    'a wider body of 2XX',
    answerOf({ '2XX': ok(json(limited(3))) }),
    answerOf({ '2XX': ok(json(text)) }),
    ['response.bound'],
    [],
  ],
  [
    'a status that 2XX described',
    answerOf({ '2XX': ok(json(limited(3))) }),
    answerOf({ 200: ok(json(text)) }),
    ['response.bound'],
    ['response.status.added'],
  ],
  [
    'a status that the default described',
    answerOf({ default: ok(json(limited(3))) }),
    answerOf({ 200: ok(json(text)) }),
    ['response.bound'],
    ['response.status.added'],
  ],
  [
    'a wider default',
    answerOf({ default: ok(json(limited(3))) }),
    answerOf({ default: ok(json(text)) }),
    ['response.bound'],
    [],
  ],
  ['a range that becomes single statuses', replying('2XX'), replying('200', '201'), [], ['response.status.added']],
  [
    'a range that is removed',
    replying('200', '3XX', '2XX'),
    replying('3XX'),
    ['response.success.removed', 'response.success.removed'],
    ['response.status.added', 'response.status.added'],
  ],
]

describe.each([
  ['parameter', PARAMETERS],
  ['body', BODIES],
  ['response', RESPONSES],
])('A change of a %s', (_, cases) => {
  it.each(cases)('%s', async (__, before, after, there, back) => {
    expect(await idsOf(before, after)).toEqual(there)
    expect(await idsOf(after, before)).toEqual(back)
  })
})
