import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { hostname } from 'node:os'
import { describe, expect, it, onTestFinished } from 'vitest'
import { lint, OWN_RULES } from '../../../../src/governance/lint/lint.ts'
import { readOperations } from '../../../../src/governance/operations.ts'
import { faultsOfRuleset, judgeBySpectral } from '../../../../src/governance/spectral/engine.ts'
import { KNOWN_RULES } from '../../../../src/governance/spectral/known-rules.ts'
import type { RulesetDocument } from '../../../../src/governance/ruleset-document.ts'

type Json = Record<string, unknown>

const OWN: ReadonlySet<string> = new Set(OWN_RULES.map(({ id }) => id))
const vet = (ruleset: object): readonly string[] =>
  faultsOfRuleset(ruleset as RulesetDocument, OWN).map(({ pointer }) => pointer)

const INFO = { title: 'Cards', version: '1.0.0', description: 'd', contact: { name: 'Ada' } }

/** A document whose answer has the given schema and example. */
function answering(schema: unknown, example: unknown, more: Json = {}): Json {
  const content = { 'application/json': { schema, ...(example !== undefined && { example }) } }
  return {
    openapi: '3.1.0',
    info: INFO,
    tags: [{ name: 'cards' }],
    security: [],
    paths: {
      '/cards': { get: operation('listCards', { 200: { description: 'ok', content }, '4XX': { description: 'no' } }) },
    },
    ...more,
  }
}

function operation(operationId: string, responses: Json): Json {
  return { operationId, summary: 's', tags: ['cards'], responses }
}

async function judge(document: unknown, ruleset: object = { rules: {} }) {
  return lint(Buffer.from(JSON.stringify(document, null, 1)), ruleset as RulesetDocument)
}

const found = async (document: unknown, ruleset?: object): Promise<readonly string[]> =>
  (await judge(document, ruleset)).findings.map(({ rule, severity, pointer }) => `${rule} ${severity} ${pointer}`)

const AT = '/paths/~1cards/get/responses/200/content/application~1json'

describe('Spectral’s rules', () => {
  it('are applied beside ours, each finding at its place in the text', async () => {
    const { findings, coverage } = await judge(answering({ type: 'object', required: ['total'] }, {}))

    expect(findings).toMatchObject([
      {
        rule: 'oas3-valid-media-example',
        category: 'documentation',
        severity: 'warning',
        message: '"example" property must have required property "total"',
        advice: 'Examples must be valid against their defined schema.',
        pointer: `${AT}/example`,
        line: expect.any(Number) as number,
      },
    ])
    expect(findings[0]?.line).toBeGreaterThan(1)
    expect(coverage).toEqual({ operations: 1, of: 1, failed: [] })
  })

  it('find what is referred to where it stands', async () => {
    const components = { schemas: { Card: { type: 'string', enum: ['a', 'a'] } } }
    const document = answering({ $ref: '#/components/schemas/Card' }, 'a', { components })

    expect(await found(document)).toEqual(['duplicated-entry-in-enum warning /components/schemas/Card/enum'])
  })

  it('are switched off, on and to another severity by a ruleset, one by one or by extending theirs', async () => {
    const document = answering({ type: 'string', enum: ['a', 'a'] }, 'a')
    const rule = 'duplicated-entry-in-enum'
    expect(await found(document, { rules: { [rule]: 'off' } })).toEqual([])
    expect(await found(document, { rules: { [rule]: 'error' } })).toEqual([`${rule} error ${AT}/schema/enum`])
    expect(await found(document, { rules: { [rule]: 'off', 'info-license': true } })).toEqual([
      'info-license warning /info',
    ])
    const owasp = await found(document, { extends: [['spectral:owasp', 'all']], rules: {} })
    expect(owasp.filter((text) => text.startsWith('owasp:')).length).toBeGreaterThan(2)
    expect(await found(document, { extends: [['spectral:owasp', 'off']], rules: {} })).toEqual(await found(document))
  })

  it('that stay out by themselves say why, and those that are covered name a rule of ours', () => {
    const reasons = KNOWN_RULES.flatMap(({ leftOut }) => (leftOut === null ? [] : [leftOut]))
    expect(reasons.length).toBeGreaterThan(20)
    for (const reason of reasons) {
      const name = /^`([^`]+)` finds it\.$/.exec(reason)?.[1]
      expect(name === undefined || name === 'valid' || OWN.has(name), reason).toBe(true)
    }
    expect(KNOWN_RULES.filter(({ id }) => OWN.has(id))).toEqual([])
  })
})

describe('a rule of one’s own', () => {
  const owner = {
    description: 'Say who answers for it.',
    message: '{{property}} is missing',
    given: '$.info',
    severity: 'error',
    then: { field: 'x-owner', function: 'truthy' },
  }

  it('is applied, with its name, words and severity', async () => {
    const { findings } = await judge(answering({}, 1), { rules: { owner } })
    expect(findings).toMatchObject([
      {
        rule: 'owner',
        category: 'design',
        severity: 'error',
        message: 'info.x-owner is missing',
        advice: 'Say who answers for it.',
        pointer: '/info',
      },
    ])
    const kept = answering({}, 1, { info: { ...INFO, 'x-owner': 'ada' } })
    expect(await found(kept, { rules: { owner } })).toEqual([])
    expect(await found(answering({}, 1), { rules: { owner: { ...owner, severity: 'off' } } })).toEqual([])
    expect(await found(answering({}, 1), { rules: { owner: { ...owner, formats: ['oas3_0'] } } })).toEqual([])
  })

  it.each<[string, Json, string]>([
    ['an alias', { given: '#Answers', then: { field: 'x-cost', function: 'defined' } }, '/200'],
    [
      'a filter',
      {
        given: "$.paths[*][*].responses[?(@property.match(/^4/) && @.description == 'no')]",
        then: { function: 'falsy' },
      },
      '/4XX',
    ],
    [
      'a pattern on the linear engine',
      {
        given: '$.paths.*.*.responses[*].description',
        then: { function: 'pattern', functionOptions: { match: '^n' } },
      },
      '/200/description',
    ],
    [
      'keys',
      { given: '$.paths[*][*].responses', then: { field: '@key', function: 'length', functionOptions: { min: 4 } } },
      '/200',
    ],
  ])('may speak of %s', async (_, rule, place) => {
    const aliases = { Answers: ["$.paths..responses['200']"] }
    expect(vet({ aliases, rules: { mine: rule } })).toEqual([])
    const places = await found(answering({}, 1), { aliases, rules: { mine: rule } })
    expect(places).toContain(`mine warning /paths/~1cards/get/responses${place}`)
  })

  it('that throws on a document is named, and takes no other with it', async () => {
    const throwing = { given: '$..[?(@.type.length > 3)]', then: { function: 'truthy' } }
    const { findings, coverage } = await judge(answering({}, 1), { rules: { owner, throwing } })

    // It has not been kept: a document does not pass by what a rule trips over.
    expect(findings).toMatchObject([
      { rule: 'owner' },
      { rule: 'throwing', severity: 'warning', pointer: '', message: expect.stringMatching(/^The rule could not/) },
    ])
    expect(coverage?.failed).toMatchObject([{ rule: 'throwing', detail: expect.any(String) as string }])
  })

  const given = (path: string): object => ({ rules: { mine: { given: path, then: { function: 'truthy' } } } })
  it.each([
    '$',
    '$.info',
    '$..responses',
    '$.paths.*[get,put]',
    "$.paths[*]['x-y'].a",
    '$.a[0:2].b[-1]^',
    '$.paths~',
    '#OperationObject.parameters[?(@ && @.in)]',
    "$..[?(@property === 'a' || (@.b != null && !@.c['d e'][0]))]",
    '$..[?(@.example !== void 0 && @.x.length >= 2)]',
    '$.paths[?(!@property.match(/^\\/v[0-9]+$/i))]',
  ])('may begin at %s', async (path) => {
    expect(vet(given(path))).toEqual([])
    expect((await judge(answering({}, 1), given(path))).coverage?.failed.map(({ rule }) => rule)).toEqual(
      // A member of nothing cannot be read: that is the rule's to ask for.
      path.includes('.x.length') ? ['mine'] : [],
    )
  })

  it.each([
    '',
    'paths',
    '$.',
    '$[',
    '$..[?(@.constructor)]',
    "$..[?(@['constructor']['constructor']('return process')())]",
    "$..[?(@['const' + 'ructor'])]",
    '$..[?(@.__proto__.polluted = 1)]',
    "$['__proto__']",
    '$.constructor',
    '$..[?(@.a = 1)]',
    '$..[?(process.exit())]',
    '$..[?(@.toString())]',
    "$..[?(@.match('x'))]",
    '$..[?(@property.match(/(a+)+$/))]',
    '$..[?(@property.match(/(?=a)/))]',
    '$..[?(@property.match(/a/g))]',
    '$..[?(`${1}`)]',
    '$..[?(globalThis)]',
    '$..[?(@ in @root)]',
    "$..[?(@.a == 'b\\u0027')]",
    '$..[(@.length-1)]',
    '$..[?(@.a == 1)',
    '$..[?(@.a == 1)] || 1',
    '#Nowhere',
    `$.${'a.'.repeat(300)}b`,
  ])('may not begin at %s', (path) => {
    expect(vet(given(path))).toEqual(['/rules/mine/given'])
  })

  const then = { function: 'truthy' }
  it.each<[string, object, readonly string[]]>([
    ['a name that is taken', { rules: { 'typed-enum': owner } }, ['/rules/typed-enum']],
    ['a name of ours', { rules: { pagination: owner } }, ['/rules/pagination']],
    ['a name that is none', { rules: { __proto__x: owner } }, ['/rules/__proto__x']],
    ['a name that every object has', { rules: { toString: owner } }, ['/rules/toString']],
    ['the name of the prototype', JSON.parse('{"rules":{"__proto__":{"given":"$"}}}') as object, ['/rules/__proto__']],
    ['a message that calculates', { rules: { a: { ...owner, message: '#{{1+1}}' } } }, ['/rules/a/message']],
    ['a function of nobody', { rules: { a: { given: '$', then: { function: 'eval' } } } }, ['/rules/a/then/function']],
    ['no function', { rules: { a: { given: '$' } } }, ['/rules/a/then']],
    [
      'a field that is a path',
      { rules: { a: { given: '$', then: { ...then, field: '$..x' } } } },
      ['/rules/a/then/field'],
    ],
    [
      'a field of the constructor',
      { rules: { a: { given: '$', then: { ...then, field: 'a.constructor' } } } },
      ['/rules/a/then/field'],
    ],
    [
      'options that the function does not take',
      { rules: { a: { given: '$', then: { function: 'length', functionOptions: { most: 1 } } } } },
      ['/rules/a/then/functionOptions/most'],
    ],
    [
      'a pattern that goes back',
      { rules: { a: { given: '$', then: { function: 'pattern', functionOptions: { match: '(a)\\1' } } } } },
      ['/rules/a/then/functionOptions/match'],
    ],
    [
      'options that calculate',
      {
        rules: {
          a: { given: '$', then: { function: 'enumeration', functionOptions: { values: ['#{{1+1}}'] } } },
          b: { given: '$', then: { function: 'pattern', functionOptions: { match: '#{{1+1}}' } } },
        },
      },
      ['/rules/a/then/functionOptions', '/rules/b/then/functionOptions'],
    ],
    ['a member that rules do not have', { rules: { a: { ...owner, eval: 1 } } }, ['/rules/a/eval']],
    ['a severity that is none', { rules: { a: { ...owner, severity: 'loud' } } }, ['/rules/a/severity']],
    ['a format that is none', { rules: { a: { ...owner, formats: ['oas2'] } } }, ['/rules/a/formats']],
    ['an address to fetch', { extends: 'https://evil.example/ruleset.js', rules: {} }, ['/extends']],
    ['a file to read', { extends: ['spectral:oas', './ruleset.js'], rules: {} }, ['/extends/1']],
    ['an alias of itself', { aliases: { A: ['#A.b'] }, rules: {} }, ['/aliases/A/0']],
    ['an alias by targets', { aliases: { A: { targets: [] } }, rules: {} }, ['/aliases/A']],
    [
      'more than 200 rules',
      { rules: Object.fromEntries(Array.from({ length: 201 }, (_, i) => [`r${i}`, owner])) },
      ['/rules'],
    ],
  ])('is refused with %s', (_, ruleset, pointers) => {
    expect(vet(ruleset)).toEqual(pointers)
  })
})

describe('a document of a stranger', () => {
  it('has none of its expressions evaluated, wherever they get into a message', async () => {
    const evil = '#{{ concat("hit", "s") }}'
    const { findings } = await judge(answering({ type: 'object', required: [evil], enum: [evil] }, { [evil]: 1 }))
    const messages = JSON.stringify(findings.map(({ message }) => message))

    expect(findings.map(({ rule }) => rule)).toContain('typed-enum')
    expect(messages).toContain('#')
    expect(messages).not.toContain('hits')
    const pathed = answering({}, 1, {
      paths: { [`/${evil}`]: { get: operation('a', { 200: { description: 'ok' }, '4XX': { description: 'no' } }) } },
    })
    expect((await judge(pathed)).findings.map(({ pointer }) => pointer)).not.toContain('')
  })

  it('has its patterns run on the linear engine where its examples are checked', async () => {
    const text = `${'a'.repeat(40)}!`
    const slow = { type: 'string', pattern: '^(a+)+$' }
    expect(await found(answering(slow, text))).toEqual([`oas3-valid-media-example warning ${AT}/example`])
    // Each pattern for itself; of what that engine cannot run nothing is said.
    const both = {
      type: 'object',
      properties: { a: { pattern: '^a$' }, b: { pattern: '^b$' }, c: { pattern: '(?=x)x' } },
    }
    expect(await found(answering(both, { a: 'a', b: 'b', c: 'y' }))).toEqual([])
    expect(await found(answering(both, { a: 'b', b: 'b' }))).toEqual([
      `oas3-valid-media-example warning ${AT}/example/a`,
    ])
  })

  it('has nothing fetched for it, wherever it refers to', async () => {
    let asked = 0
    const server = createServer((_, response) => {
      asked++
      response.end('{}')
    })
    await once(server.listen(0, '127.0.0.1'), 'listening')
    onTestFinished(() => void server.close())
    const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/a.json`
    const evil = [
      { $ref: url },
      { $ref: '/etc/hostname' },
      { $ref: 'file:///etc/hostname' },
      { $ref: './package.json' },
    ]
    const document = answering({ type: 'array', items: {} }, evil, {
      'x-evil': evil,
      info: { ...INFO, 'x-evil': evil },
    })
    expect((await judge(document)).isServable).toBe(false)
    // Even where the validator would let it pass.
    const { findings, failed } = await judgeBySpectral(document, readOperations(document, []), { rules: {} })

    expect([asked, failed]).toEqual([0, []])
    expect(JSON.stringify(findings)).not.toContain(hostname())
  })

  it('that unfolds to a billion values is judged by what fits', async () => {
    const depth = 30
    const link = (at: number): Json => ({ $ref: `#/components/schemas/S${at}` })
    const schemas = Object.fromEntries(
      Array.from({ length: depth }, (_, at) => [
        `S${at}`,
        at === depth - 1 ? { type: 'object' } : { type: 'object', properties: { a: link(at + 1), b: link(at + 1) } },
      ]),
    )
    const plain = { 200: { description: 'ok' }, '4XX': { description: 'no' } }
    const { coverage, findings } = await judge(
      answering(link(0), undefined, {
        components: { schemas },
        paths: {
          ...(answering(link(0), undefined)['paths'] as Json),
          '/plain': { get: operation('plain', plain) },
        },
      }),
    )

    expect(coverage).toEqual({ operations: 1, of: 2, failed: [] })
    expect(findings.map(({ rule }) => rule)).toContain('rules-in-part')
  })

  it('that is large is judged by the same operations in every run, wherever they stand', async () => {
    const responses = {
      200: {
        description: 'ok',
        content: { 'application/json': { schema: { type: 'string', enum: [...'abcdefghijklmnopqrstuvwxyza'] } } },
      },
      '4XX': { description: 'no' },
    }
    const paths = Array.from(
      { length: 4_900 },
      (_, at) => [`/p${at}`, { get: operation(`p${at}`, responses) }] as const,
    )
    const first = await judge(answering({}, 1, { paths: Object.fromEntries(paths) }))
    const reversed = await judge(answering({}, 1, { paths: Object.fromEntries(paths.toReversed()) }))

    expect(first.coverage?.of).toBe(4_900)
    expect(first.coverage?.operations).toBeGreaterThan(500)
    expect(first.coverage?.operations).toBeLessThan(4_900)
    expect(reversed.coverage).toEqual(first.coverage)
    expect(reversed.score).toBe(first.score)
    expect(new Set(reversed.findings.map(({ fingerprint }) => fingerprint))).toEqual(
      new Set(first.findings.map(({ fingerprint }) => fingerprint)),
    )
  })
})
