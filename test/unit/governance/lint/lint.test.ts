import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { lint, OWN_RULES } from '../../../../src/governance/lint/lint.ts'
import { createRandom } from '../../../random.ts'
import { RULES_FILE, rulesTable } from './rules-table.ts'

type Json = Record<string, unknown>

const PROBLEM = { description: 'no', content: { 'application/problem+json': { schema: { type: 'object' } } } }

/** A document without a finding. */
function clean(
  changes: { operation?: Json; root?: Json; components?: Json; path?: string; method?: string } = {},
): Json {
  const { operation = {}, root = {}, components = {}, path = '/gift-cards/{id}', method = 'get' } = changes
  const id = { name: 'id', in: 'path', required: true, schema: { type: 'string', format: 'uuid' } }
  return {
    openapi: '3.1.0',
    info: { title: 'Cards', version: '1.0.0', description: 'Gift cards.', contact: { email: 'cards@example.com' } },
    servers: [{ url: 'https://cards.example' }],
    security: [{ oauth: ['cards:read'] }],
    tags: [{ name: 'cards' }],
    paths: {
      [path]: {
        [method]: {
          operationId: 'readCard',
          tags: ['cards'],
          summary: 'Reads a card.',
          ...(path.includes('{id}') && { parameters: [id] }),
          responses: { 200: { description: 'ok' }, default: PROBLEM },
          ...operation,
        },
      },
    },
    components: {
      securitySchemes: {
        oauth: { type: 'oauth2', flows: { clientCredentials: { tokenUrl: '/t', scopes: { 'cards:read': 'read' } } } },
      },
      ...components,
    },
    ...root,
  }
}

const bytesOf = (document: unknown): Buffer => Buffer.from(JSON.stringify(document, null, 2))
const rulesOf = async (document: unknown): Promise<string[]> =>
  (await lint(bytesOf(document))).findings.map(({ rule, pointer }) => `${rule} ${pointer}`)

const AT = '/paths/~1gift-cards~1{id}/get'
const json = (schema: object, example: unknown = {}) => ({ content: { 'application/json': { schema, example } } })
const query = (name: string, schema: object, more: Json = {}) => ({
  name,
  in: 'query',
  description: 'd',
  schema,
  ...more,
})

describe('a document', () => {
  it('whose references lead in circles is judged', async () => {
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
    ['no explanation', clean({ operation: { summary: undefined } }), [`operation-summary ${AT}`]],
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
        root: { security: [{ oauth: [] }] },
        operation: { responses: { 200: { description: 'ok' }, default: PROBLEM } },
        components: { securitySchemes: { oauth: { type: 'http', scheme: 'basic' } } },
      }),
      ['security-weak-scheme /components/securitySchemes/oauth'],
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
    ['plain http at home', clean({ root: { servers: [{ url: 'http://127.0.0.1:8080' }] } }), []],
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
      ['security-mass-assignment /components/schemas/Card', 'security-declared /paths/~1gift-cards~1{id}/put'].slice(
        0,
        1,
      ),
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
  ])('with %s', async (_, document, expected) => {
    // Schemes are replaced where a case gives its own.
    if (document['components'] !== undefined && (document['components'] as Json)['securitySchemes'] === undefined) {
      ;(document['components'] as Json)['securitySchemes'] = (clean()['components'] as Json)['securitySchemes']
    }
    expect(await rulesOf(document)).toEqual(expected)
  })

  it('shows each finding at its line, in JSON and in YAML, with advice', async () => {
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
    const [inJson] = (await lint(bytesOf(clean({ path: '/gift_cards' })))).findings
    expect(inJson).toMatchObject({ rule: 'path-spelling', pointer: '/paths/~1gift_cards' })
    expect(JSON.stringify(clean({ path: '/gift_cards' }), null, 2).split('\n')[(inJson?.line ?? 0) - 1]).toContain(
      '"/gift_cards"',
    )
  })

  it.each([
    ['nothing', ''],
    ['a page of HTML', '<!doctype html><title>x</title>'],
    ['Swagger 2.0', '{"swagger":"2.0","info":{"title":"a","version":"1.0.0"},"paths":{}}'],
    ['tabs', 'openapi: 3.0.0\n\tinfo: x'],
    ['UTF-16', '\ufeffo\u0000p\u0000'],
    ['a key twice', 'openapi: 3.1.0\nopenapi: 3.1.0'],
    [
      'a reference that dangles',
      JSON.stringify(clean({ operation: { responses: { 200: { $ref: '#/components/responses/None' } } } })),
    ],
    [
      'a reference to the network',
      JSON.stringify(clean({ operation: { responses: { 200: { $ref: 'https://evil.example/a.json' } } } })),
    ],
    ['a reference to a file', JSON.stringify(clean({ operation: { responses: { 200: { $ref: '/etc/passwd' } } } }))],
    [
      'a bomb of aliases',
      `a: &a [x]\n${'bcdefghij'
        .split('')
        .map((to, at) => `${to}: &${to} [${Array(9).fill(`*${'abcdefghij'[at]}`).join()}]`)
        .join('\n')}`,
    ],
    ['300 levels', '['.repeat(300) + ']'.repeat(300)],
  ])('that is %s scores 0, and says why', async (_, text) => {
    const { score, findings, isServable } = await lint(Buffer.from(text))

    expect([score, isServable]).toEqual([0, false])
    expect(findings[0]).toMatchObject({ category: 'validity', severity: 'error' })
    expect(findings[0]?.message).not.toBe('')
  })

  it.each([
    ['tabs', 'openapi: 3.0.0\n\tinfo: x', 2, 1],
    ['a key twice in YAML', 'a: 1\nb:\n  c: 1\n  c: 2', 4, 3],
    ['a member twice in JSON', '{\n "a": 1,\n "a": 2}', 3, 2],
    ['an anchor that holds itself', 'a: &a\n  b: *a', 2, 6],
    ['too many levels', `{"a":\n${'['.repeat(300)}${']'.repeat(300)}}`, 2, 256],
  ])('that does not parse for %s says where', async (_, text, line, column) => {
    expect((await lint(Buffer.from(text))).findings).toMatchObject([{ rule: 'valid', line, column }])
  })

  it('may refer to itself', async () => {
    const Node = { type: 'object', maxProperties: 9, properties: { next: { $ref: '#/components/schemas/Node' } } }
    const components = { ...(clean()['components'] as Json), schemas: { Node } }

    expect(
      await rulesOf(
        clean({ components, method: 'put', operation: { requestBody: json({ $ref: '#/components/schemas/Node' }) } }),
      ),
    ).toEqual([])
  })
})

describe('the score', () => {
  it('never rises with one more finding, and what it costs adds up', async () => {
    for (let seed = 1; seed <= 30; seed++) {
      const random = createRandom(seed)
      let last = 100
      const operation: Json = {}
      const parameters: Json[] = []
      for (let step = 0; step < 8; step++) {
        const before = JSON.stringify(operation)
        if (random.below(2) === 0)
          parameters.push(query(`p${step}`, { type: ['string', 'integer', 'array'][random.below(3)] }))
        else
          Object.assign(
            operation,
            [
              { summary: undefined },
              { operationId: undefined },
              { security: [] },
              { description: `${'ghp'}_${'a'.repeat(36)}` },
            ][random.below(4)],
          )
        operation['parameters'] = parameters
        const { score, costs } = await lint(bytesOf(clean({ path: '/cards', method: 'post', operation })))
        expect(score, `seed ${seed}: ${before}`).toBeLessThanOrEqual(last)
        expect(Math.abs(costs.reduce((sum, { cost }) => sum + cost, 0) - (100 - score))).toBeLessThan(0.1)
        last = score
      }
    }
  })

  it('is not gamed by size: operations without findings change nothing', async () => {
    const bad = clean({ operation: { summary: undefined } })
    const paths = bad['paths'] as Json
    const good = (clean()['paths'] as Json)['/gift-cards/{id}'] as Json
    const padded = {
      ...bad,
      paths: {
        ...paths,
        ...Object.fromEntries(
          Array.from({ length: 50 }, (_, index) => [
            `/pads-${index}/{id}`,
            { get: { ...(good['get'] as Json), operationId: `pad${index}` } },
          ]),
        ),
      },
    }

    expect((await lint(bytesOf(padded))).score).toBe((await lint(bytesOf(bad))).score)
  })

  it('of real documents is as it was', async () => {
    const root = join(import.meta.dirname, '../../../..')
    const of = async (path: string) => {
      const { score, byCategory, costs, omitted } = await lint(readFileSync(join(root, path)))
      return { score, byCategory, costs: costs.map(({ rule, count }) => `${rule} ${count}`), omitted }
    }
    expect(await of('src/sample/payments.openapi.yaml')).toMatchSnapshot('sample')
    expect(await of('node_modules/@octokit/openapi/generated/api.github.com.json')).toMatchSnapshot('github')
  })
})

it('every rule has a name, a category and advice of its own', () => {
  expect(new Set(OWN_RULES.map(({ id }) => id)).size).toBe(OWN_RULES.length)
  for (const { advice, message } of OWN_RULES)
    expect([advice.endsWith('.'), message.endsWith('.') || message.endsWith(').')]).toEqual([true, true])
})

it('the rules in the docs are those of the code', () => {
  const words = (text: string) => text.replaceAll(/[\s|:-]+/g, ' ')
  expect(words(readFileSync(RULES_FILE, 'utf8'))).toBe(words(rulesTable()))
})
