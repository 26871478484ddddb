/** The same verdict on a document wherever it is judged: by the command line tool, the API, a programme and a deployment. */

import { expect, it } from 'vitest'
import { lint } from '../../src/documents/governance/lint/lint.ts'
import { base64, openProgrammes } from '../fixtures/test-programmes.ts'

type Json = Record<string, unknown>

const BASIC = { type: 'http', scheme: 'basic' }
const KEY = { type: 'apiKey', in: 'header', name: 'x-key' }

function cards({
  schema = { type: 'string' },
  schemes = { key: KEY },
  security = [{ key: [] }],
  ...more
}: Json): string {
  const operation = {
    operationId: 'createCard',
    requestBody: { content: { 'application/json': { schema } } },
    responses: { 200: { description: 'ok' } },
  }
  const document = {
    openapi: '3.1.0',
    info: { title: 'Cards', version: '1.0.0' },
    servers: [{ url: 'https://cards.example' }],
    security,
    paths: { '/cards': { post: operation } },
    components: { securitySchemes: schemes },
    ...more,
  }
  return JSON.stringify(document, null, 2)
}

const AT = '/paths/~1cards/post/requestBody/content/application~1json/schema'

it.each<[string, Json, string]>([
  ['HTTP basic only', { schemes: { basic: BASIC }, security: [{ basic: [] }] }, '/components/securitySchemes/basic'],
  ['an ignored scheme only', { schemes: { key: { ...KEY, 'x-tollgate-security': 'ignore' } } }, '/security'],
  ['a scheme that it does not declare', { security: [{ typo: [] }] }, '/security/0/typo'],
  [
    'a schema that the metaschema refuses',
    { schema: { properties: { a: { minLength: -1 } } } },
    `${AT}/properties/a/minLength`,
  ],
  ['a pattern that needs look-ahead', { schema: { type: 'string', pattern: '(?=a)' } }, `${AT}/pattern`],
  ['a reference without a target', { schema: { $ref: '#/components/schemas/None' } }, `${AT}/$ref`],
  ['a type that does not exist', { schema: { items: { type: 'strin' } } }, `${AT}/items/type`],
])(
  'a document with %s has one fault with the same place everywhere',
  { timeout: 60_000 },
  async (_, changes, pointer) => {
    const text = cards(changes)
    const { platform, token, start, settled } = await openProgrammes()
    const { findings, isServable } = await lint(Buffer.from(text))
    expect(isServable).toBe(false)
    expect(findings.map((finding) => finding.pointer)).toEqual([pointer])
    const { line = 0, column = 0, message: detail = '' } = findings[0] ?? {}
    const name = pointer.slice(pointer.lastIndexOf('/') + 1)
    expect(text.split('\n')[line - 1]?.slice(column - 1)).toMatch(new RegExp(`^"${name.replace('$', '\\$')}"|^\\{`))

    const specification = base64(text)
    const validated = await platform.send('POST', '/v1/programmes/validate', { token, body: { specification } })
    expect(validated.body).toMatchObject({
      score: 0,
      compliance: { servable: false },
      findings: [{ pointer, line, column }],
    })
    const { status, steps } = await settled(await start({ specification }))
    expect([status, steps[0]?.errors]).toMatchObject(['failed', [{ pointer, detail, line, column }]])
    const staged = await platform.send('POST', '/v1/proxies', { token, body: { api: 'cards-v1', specification } })
    expect(staged).toMatchObject({
      status: 400,
      body: { code: 'specification_invalid', errors: [{ pointer, detail }] },
    })
  },
)

it.each<[string, Json, string]>([
  ['a date for a version', { info: { title: 'Cards', version: '2020-08-27' } }, '/info/version'],
  ['a title in another script', { info: { title: 'カード', version: '1.0.0' } }, '/info/title'],
])(
  'a document with %s is judged; a programme stops at its first step',
  { timeout: 60_000 },
  async (_, changes, pointer) => {
    const { platform, token, start, settled } = await openProgrammes()
    const specification = base64(cards(changes))
    const { body } = await platform.send('POST', '/v1/programmes/validate', { token, body: { specification } })
    expect(body).toMatchObject({ compliance: { servable: true } })
    expect(body['findings']).toContainEqual(expect.objectContaining({ pointer }) as unknown)
    const { status, steps } = await settled(await start({ specification }))
    expect([status, steps[0]?.errors]).toMatchObject(['failed', [{ pointer, line: expect.any(Number) as number }]])
  },
)

it(
  'a document that states its name and version, with an ignored scheme beside another, is deployed',
  { timeout: 60_000 },
  async () => {
    const { platform, token } = await openProgrammes()
    const info = { title: 'カード', version: '2020-08-27', 'x-tollgate-name': 'cards', 'x-tollgate-version': '1.0.0' }
    const schemes = { key: KEY, basic: { ...BASIC, 'x-tollgate-security': 'ignore' } }
    const specification = base64(cards({ info, schemes, security: [{ basic: [] }, { key: [] }] }))
    const body = { api: 'cards-v1', specification, backend: { url: 'https://cards.example' } }
    const staged = await platform.send('POST', '/v1/proxies', { token, body })
    expect(staged.status).toBe(201)
    const activated = await platform.send('POST', `/v1/proxies/${String(staged.body['id'])}/activate`, { token })
    expect(activated).toMatchObject({ status: 200 })
    const { body: api } = await platform.send('GET', '/v1/apis/cards-v1', { token })
    expect(api).toMatchObject({ version: '1.0.0', title: 'カード' })
  },
)
