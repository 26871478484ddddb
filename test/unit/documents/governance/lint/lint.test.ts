import { describe, expect, it } from 'vitest'
import { lint } from '../../../../../src/documents/governance/lint/lint.ts'
import { AT, bytesOf, clean, json, PROBLEM, query, type Json } from './clean-document.ts'

const rulesOf = async (document: unknown): Promise<string[]> =>
  (await lint(bytesOf(document))).findings.map(({ rule, pointer }) => `${rule} ${pointer}`)

describe('a document', () => {
  it('with circular references is linted', async () => {
    const ref = (name: string) => ({ $ref: `#/components/schemas/${name}` })
    const schemas = { A: ref('B'), B: ref('A'), C: ref('C') }
    const document = clean({ operation: { requestBody: json(ref('A')) }, components: { schemas } })
    expect((await lint(bytesOf(document))).findings.length).toBeGreaterThan(0)
  })

  it('without a finding scores 100', async () => {
    expect(await lint(bytesOf(clean()))).toMatchObject({
      score: 100,
      findings: [],
      omitted: 0,
      costs: [],
      isServable: true,
    })
  })

  it.each<[string, Json, readonly string[]]>([
    ['a path with capitals', clean({ path: '/GiftCards' }), ['path-spelling /paths/~1GiftCards']],
    ['a path with underscores', clean({ path: '/gift_cards' }), ['path-spelling /paths/~1gift_cards']],
    [
      'paths in two spellings',
      clean({ path: '/gift-cards/{id}/openOrders' }),
      ['path-spelling /paths/~1gift-cards~1{id}~1openOrders'],
    ],
    ['a path in camel case alone', clean({ path: '/giftCards/{id}' }), []],
    ['a path that ends with a slash', clean({ path: '/cards/' }), ['path-trailing-slash /paths/~1cards~1']],
    ['a path that is an action', clean({ path: '/create-card' }), ['path-verb /paths/~1create-card']],
    ['no id', clean({ operation: { operationId: undefined } }), [`operation-id ${AT}`]],
    [
      'an id of another spelling',
      clean({ operation: { operationId: 'Read_Card' } }),
      [`operation-id-spelling ${AT}/operationId`],
    ],
    [
      'no success',
      clean({ operation: { responses: { '4XX': { description: 'no' } } } }),
      [`success-response ${AT}/responses`],
    ],
    [
      'a list as a whole',
      clean({
        operation: {
          responses: {
            200: { description: 'ok', ...json({ type: 'array', items: {} }, []) },
            default: { description: 'no' },
          },
        },
      }),
      [`pagination ${AT}`],
    ],
    [
      'a list that is bounded',
      clean({
        operation: {
          responses: {
            200: { description: 'ok', ...json({ type: 'array', maxItems: 10, items: {} }, []) },
            default: { description: 'no' },
          },
        },
      }),
      [],
    ],
    [
      'an error in a format of its own',
      clean({
        operation: {
          responses: { 200: { description: 'ok' }, default: { description: 'no', ...json({ type: 'object' }) } },
        },
      }),
      [`problem-details ${AT}/responses/default`],
    ],
    [
      'a body of a GET',
      clean({ operation: { requestBody: json({ type: 'object' }) } }),
      [`body-of-get ${AT}/requestBody`],
    ],
    [
      'no description',
      clean({ root: { info: { title: 'Cards', version: '1.0.0', contact: { name: 'Ada' } } } }),
      ['info-description /info'],
    ],
    [
      'no contact',
      clean({ root: { info: { title: 'Cards', version: '1.0.0', description: 'd' } } }),
      ['info-contact /info'],
    ],
    ['no summary', clean({ operation: { summary: undefined } }), [`operation-summary ${AT}`]],
    [
      'a parameter without explanation',
      clean({
        operation: { parameters: [query('q', { type: 'boolean' }, { description: undefined })] },
        path: '/cards',
      }),
      ['parameter-description /paths/~1cards/get/parameters/0'],
    ],
    [
      'a body without an example',
      clean({
        method: 'put',
        operation: { requestBody: { content: { 'application/json': { schema: { type: 'object' } } } } },
      }),
      ['example /paths/~1gift-cards~1{id}/put/requestBody/content/application~1json'],
    ],
    ['no security', clean({ root: { security: undefined } }), [`security-declared ${AT}`]],
    [
      'a write for everybody',
      clean({ method: 'delete', operation: { security: [] } }),
      ['security-public-write /paths/~1gift-cards~1{id}/delete/security'],
    ],
    [
      'a weak scheme',
      clean({
        root: { security: [{ basic: [] }, { key: [] }] },
        operation: { responses: { 200: { description: 'ok' }, default: PROBLEM } },
        components: {
          securitySchemes: {
            basic: { type: 'http', scheme: 'basic' },
            key: { type: 'apiKey', in: 'header', name: 'x-key' },
          },
        },
      }),
      [
        'security-weak-scheme /components/securitySchemes/basic',
        'security-scheme-unsupported /components/securitySchemes/basic',
      ],
    ],
    [
      'a key in the address',
      clean({ operation: { parameters: [query('access_token', { type: 'string', maxLength: 9 })] }, path: '/cards' }),
      ['security-key-in-url /paths/~1cards/get/parameters/0'],
    ],
    [
      'plain http',
      clean({ root: { servers: [{ url: 'http://cards.example' }] } }),
      ['security-plain-http /servers/0/url'],
    ],
    ['plain http to a loopback address', clean({ root: { servers: [{ url: 'http://127.0.0.1:8080' }] } }), []],
    [
      'a secret in an example',
      clean({ operation: { description: `like ${'AKIA'}IOSFODNN7EXAMPLE` } }),
      [`security-secret ${AT}/description`],
    ],
    [
      'an id to be guessed',
      clean({
        operation: {
          parameters: [{ name: 'id', in: 'path', required: true, schema: { type: 'integer', format: 'int32' } }],
        },
      }),
      [`security-guessable-id ${AT}/parameters/0`],
    ],
    [
      'unbounded values that callers send',
      clean({
        operation: {
          parameters: [query('a', { type: 'string' }), query('b', { type: 'array', items: { type: 'integer' } })],
        },
        path: '/cards',
      }),
      [
        'security-unbounded-array /paths/~1cards/get/parameters/1/schema',
        'security-unbounded-number /paths/~1cards/get/parameters/1/schema/items',
        'security-unbounded-string /paths/~1cards/get/parameters/0/schema',
      ],
    ],
    [
      'unbounded values that callers receive',
      clean({
        operation: {
          responses: { 200: { description: 'ok', ...json({ type: 'string' }, 'x') }, default: { description: 'no' } },
        },
      }),
      [],
    ],
    [
      'members of any name',
      clean({
        method: 'put',
        operation: { requestBody: json({ $ref: '#/components/schemas/Card' }) },
        components: { schemas: { Card: { type: 'object', additionalProperties: true } } },
      }),
      ['security-mass-assignment /components/schemas/Card'],
    ],
    [
      'refusals that are not declared',
      clean({ operation: { responses: { 200: { description: 'ok' } } } }),
      [
        `security-missing-400 ${AT}/responses`,
        `security-missing-401 ${AT}/responses`,
        `security-missing-403 ${AT}/responses`,
        `security-missing-429 ${AT}/responses`,
      ],
    ],
    [
      'no scope asked for, and so no refusal for want of one',
      clean({
        root: { security: [{ oauth: [] }] },
        operation: {
          responses: { 200: { description: 'ok' }, 400: PROBLEM, 401: PROBLEM, 429: PROBLEM },
        },
      }),
      [],
    ],
  ])('with %s has the expected findings', async (_, document, expected) => {
    // A case that replaces the components keeps the schemes.
    if (document['components'] !== undefined && (document['components'] as Json)['securitySchemes'] === undefined) {
      ;(document['components'] as Json)['securitySchemes'] = (clean()['components'] as Json)['securitySchemes']
    }
    expect(await rulesOf(document)).toEqual(expected)
  })

  it('has findings with line, column and advice, in JSON and in YAML', async () => {
    const yaml = `openapi: 3.1.0
info: { title: A, version: 1.0.0, description: d, contact: { name: n } }
security: [{ key: [] }]
components: { securitySchemes: { key: { type: apiKey, in: header, name: k } } }
paths:
  /Aa:
    get:
      operationId: a
      summary: s
      responses: { '200': { description: ok }, default: { description: no } }
`
    const [inYaml] = (await lint(Buffer.from(yaml))).findings
    expect(inYaml).toMatchObject({ rule: 'path-spelling', line: 6, column: 3, advice: expect.any(String) as string })
    expect(await rulesOf(clean({ path: '/.well-known/Est_Coap' }))).toEqual([])
    const [inJson] = (await lint(bytesOf(clean({ path: '/gift_cards' })))).findings
    expect(inJson).toMatchObject({ rule: 'path-spelling', pointer: '/paths/~1gift_cards' })
    expect(JSON.stringify(clean({ path: '/gift_cards' }), null, 2).split('\n')[(inJson?.line ?? 0) - 1]).toContain(
      '"/gift_cards"',
    )
  })

  it.each([
    ['empty', ''],
    ['a page of HTML', '<!doctype html><title>x</title>'],
    ['Swagger 2.0', '{"swagger":"2.0","info":{"title":"a","version":"1.0.0"},"paths":{}}'],
    ['indented with tabs', 'openapi: 3.0.0\n\tinfo: x'],
    ['encoded in UTF-16', '\ufeffo\u0000p\u0000'],
    ['YAML with a duplicate key', 'openapi: 3.1.0\nopenapi: 3.1.0'],
    [
      'one with a dangling reference',
      JSON.stringify(clean({ operation: { responses: { 200: { $ref: '#/components/responses/None' } } } })),
    ],
    [
      'one with a reference to the network',
      JSON.stringify(clean({ operation: { responses: { 200: { $ref: 'https://evil.example/a.json' } } } })),
    ],
    [
      'one with a reference to a file',
      JSON.stringify(clean({ operation: { responses: { 200: { $ref: '/etc/passwd' } } } })),
    ],
    [
      'one with an alias bomb',
      `a: &a [x]\n${'bcdefghij'
        .split('')
        .map((to, at) => `${to}: &${to} [${Array(9).fill(`*${'abcdefghij'[at]}`).join()}]`)
        .join('\n')}`,
    ],
    ['nested in 300 levels', '['.repeat(300) + ']'.repeat(300)],
  ])('that is %s scores 0, with the reason', async (_, text) => {
    const { score, findings, isServable } = await lint(Buffer.from(text))

    expect([score, isServable]).toEqual([0, false])
    expect(findings[0]).toMatchObject({ category: 'validity', severity: 'error' })
    expect(findings[0]?.message).not.toBe('')
  })

  it.each([
    ['tabs', 'openapi: 3.0.0\n\tinfo: x', 2, 1],
    ['a duplicate key in YAML', 'a: 1\nb:\n  c: 1\n  c: 2', 4, 3],
    ['a duplicate member in JSON', '{\n "a": 1,\n "a": 2}', 3, 2],
    ['an anchor that contains itself', 'a: &a\n  b: *a', 2, 6],
    ['too many levels', `{"a":\n${'['.repeat(300)}${']'.repeat(300)}}`, 2, 256],
  ])('that does not parse because of %s has the position of the fault', async (_, text, line, column) => {
    expect((await lint(Buffer.from(text))).findings).toMatchObject([{ rule: 'valid', line, column }])
  })

  it('may have a schema that refers to itself', async () => {
    const Node = { type: 'object', maxProperties: 9, properties: { next: { $ref: '#/components/schemas/Node' } } }
    const components = { ...(clean()['components'] as Json), schemas: { Node } }

    expect(
      await rulesOf(
        clean({ components, method: 'put', operation: { requestBody: json({ $ref: '#/components/schemas/Node' }) } }),
      ),
    ).toEqual([])
  })
})
