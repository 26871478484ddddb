import { describe, expect, it } from 'vitest'
import { KNOWN_RULES } from '../../../../../src/documents/governance/spectral/known-rules.ts'
import {
  AT,
  CUSTOM_RULE,
  faultPointers,
  findingsOf,
  INFO,
  lintJson,
  OWN,
  responding,
  type Json,
} from '../../../../fixtures/spectral-documents.ts'

describe('Spectral’s rules', () => {
  it('run together with the built-in rules, and each finding has its line in the text', async () => {
    const { findings, coverage } = await lintJson(responding({ type: 'object', required: ['total'] }, {}))

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

  it('report a finding in a referenced schema at the schema, not at the reference', async () => {
    const components = { schemas: { Card: { type: 'string', enum: ['a', 'a'] } } }
    const document = responding({ $ref: '#/components/schemas/Card' }, 'a', { components })

    expect(await findingsOf(document)).toEqual(['duplicated-entry-in-enum warning /components/schemas/Card/enum'])
  })

  it('can be switched on or off and get another severity, one by one or by extending a Spectral ruleset', async () => {
    const document = responding({ type: 'string', enum: ['a', 'a'] }, 'a')
    const rule = 'duplicated-entry-in-enum'
    expect(await findingsOf(document, { rules: { [rule]: 'off' } })).toEqual([])
    expect(await findingsOf(document, { rules: { [rule]: 'error' } })).toEqual([`${rule} error ${AT}/schema/enum`])
    expect(await findingsOf(document, { rules: { [rule]: 'off', 'info-license': true } })).toEqual([
      'info-license warning /info',
    ])
    const owasp = await findingsOf(document, { extends: [['spectral:owasp', 'all']], rules: {} })
    expect(owasp.filter((text) => text.startsWith('owasp:')).length).toBeGreaterThan(2)
    expect(await findingsOf(document, { extends: [['spectral:owasp', 'off']], rules: {} })).toEqual(
      await findingsOf(document),
    )
  })

  it('have a reason if they are left out, and it names a built-in rule if that finds the same', () => {
    const reasons = KNOWN_RULES.flatMap(({ leftOut }) => (leftOut === null ? [] : [leftOut]))
    expect(reasons.length).toBeGreaterThan(20)
    for (const reason of reasons) {
      const name = /^`([^`]+)` finds it\.$/.exec(reason)?.[1]
      expect(name === undefined || name === 'valid' || OWN.has(name), reason).toBe(true)
    }
    expect(KNOWN_RULES.filter(({ id }) => OWN.has(id))).toEqual([])
  })
})

describe('a custom rule', () => {
  it('reports findings with its name, message and severity', async () => {
    const { findings } = await lintJson(responding({}, 1), { rules: { owner: CUSTOM_RULE } })
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
    const complying = responding({}, 1, { info: { ...INFO, 'x-owner': 'ada' } })
    expect(await findingsOf(complying, { rules: { owner: CUSTOM_RULE } })).toEqual([])
    expect(await findingsOf(responding({}, 1), { rules: { owner: { ...CUSTOM_RULE, severity: 'off' } } })).toEqual([])
    expect(await findingsOf(responding({}, 1), { rules: { owner: { ...CUSTOM_RULE, formats: ['oas3_0'] } } })).toEqual(
      [],
    )
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
  ])('can use %s', async (_, rule, place) => {
    const aliases = { Answers: ["$.paths..responses['200']"] }
    expect(faultPointers({ aliases, rules: { mine: rule } })).toEqual([])
    const places = await findingsOf(responding({}, 1), { aliases, rules: { mine: rule } })
    expect(places).toContain(`mine warning /paths/~1cards/get/responses${place}`)
  })

  it('is reported by name if it throws on a document, and the other rules still run', async () => {
    const throwing = { given: '$..[?(@.type.length > 3)]', then: { function: 'truthy' } }
    const { findings, coverage } = await lintJson(responding({}, 1), { rules: { owner: CUSTOM_RULE, throwing } })

    // A rule that throws counts as violated, so that no document passes by causing the error.
    expect(findings).toMatchObject([
      { rule: 'owner' },
      { rule: 'throwing', severity: 'warning', pointer: '', message: expect.stringMatching(/^The rule could not/) },
    ])
    expect(coverage?.failed).toMatchObject([{ rule: 'throwing', detail: expect.any(String) as string }])
  })
})
