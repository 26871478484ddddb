import { describe, expect, it } from 'vitest'
import { PAYMENTS } from '../../../fixtures/test-platform.ts'
import { base64, openProgrammes } from '../../../fixtures/test-programmes.ts'

describe('the policy of a tenant', () => {
  it('has default values until it is changed, and applies to one tenant', async () => {
    const { platform, read, strict } = await openProgrammes()
    const exposures = ['Internal', 'Partner', 'Public']
    const standard = {
      approval: { minScore: 80, allowErrors: false, allowBreaking: true, exposures },
      ruleset: null,
      secondFactor: 'off',
    }
    expect((await read('/v1/policy')).body).toEqual(standard)
    await strict()
    expect((await read('/v1/policy')).body).toMatchObject({ approval: { minScore: 100 } })
    expect((await platform.send('GET', '/v1/policy', { token: platform.token('rival') })).body).toEqual(standard)
  })
})

describe('a ruleset', () => {
  it('applies to the documents of its tenant once the policy names it, and to no others', async () => {
    const { platform, token, read } = await openProgrammes()
    const rules = { 'path-spelling': 'off', example: { severity: 'error' } }
    const made = await platform.send('POST', '/v1/rulesets', { token, body: { extends: 'spectral:oas', rules } })
    expect(made).toMatchObject({ status: 201, body: { rules } })
    const validate = async (of = token) =>
      (await platform.send('POST', '/v1/programmes/validate', { token: of, body: { specification: base64(PAYMENTS) } }))
        .body as unknown as {
        findings: readonly { rule: string; severity: string; principle: string | null; fingerprint: string }[]
      }
    const before = await validate()
    expect(before.findings.map(({ rule }) => rule)).not.toEqual([])
    const { body: policy } = await read('/v1/policy')
    const rival = platform.token('rival')
    expect(
      (await platform.send('PUT', '/v1/policy', { token: rival, body: { ...policy, ruleset: made.body['id'] } }))
        .status,
    ).toBe(400)
    expect(
      (await platform.send('PUT', '/v1/policy', { token, body: { ...policy, ruleset: made.body['id'] } })).status,
    ).toBe(200)
    await platform.send('POST', '/v1/principles', {
      token,
      body: { name: 'Show, do not tell', statement: 'Examples.', rationale: 'People copy.', rules: ['example'] },
    })

    const after = await validate()
    expect(
      after.findings.every(
        ({ rule, severity, principle }) =>
          rule !== 'example' || (severity === 'error' && principle === 'Show, do not tell'),
      ),
    ).toBe(true)
    expect(after.findings.map(({ fingerprint }) => fingerprint)).toEqual(
      expect.arrayContaining(
        before.findings.filter(({ rule }) => rule === 'example').map(({ fingerprint }) => fingerprint),
      ),
    )
    expect(await validate(rival)).toEqual(before)
  })

  it('may consist of `extends` alone', async () => {
    const { platform, token } = await openProgrammes()
    const body = { extends: ['spectral:oas'], formats: ['oas3'] }
    expect(await platform.send('POST', '/v1/rulesets', { token, body })).toMatchObject({
      status: 201,
      body: { ...body, rules: {} },
    })
  })

  it('may define custom rules, which can stop a programme', async () => {
    const { platform, token, start, read, settled } = await openProgrammes()
    const given = "$.paths[*][?(@property === 'post')].responses"
    const rules = {
      accepted: {
        description: 'An operation that takes long responds with 202.',
        message: 'Respond with 202',
        given,
        severity: 'error',
        then: { field: '202', function: 'truthy' },
      },
    }
    const document = { aliases: { Info: ['$.info'] }, extends: [['spectral:owasp', 'off']], rules }
    const made = await platform.send('POST', '/v1/rulesets', { token, body: document })
    expect(made).toMatchObject({ status: 201, body: document })
    expect((await read(`/v1/rulesets/${String(made.body['id'])}`)).body).toEqual(made.body)
    const rival = platform.token('rival')
    expect((await platform.send('GET', `/v1/rulesets/${String(made.body['id'])}`, { token: rival })).status).toBe(404)
    const { body: policy } = await read('/v1/policy')
    await platform.send('PUT', '/v1/policy', { token, body: { ...policy, ruleset: made.body['id'] } })
    const answer = await platform.send('POST', '/v1/programmes/validate', {
      token,
      body: { specification: base64(PAYMENTS) },
    })
    const { findings } = answer.body as unknown as { findings: readonly Record<string, unknown>[] }
    expect(findings[0]).toMatchObject({
      rule: 'accepted',
      severity: 'error',
      message: 'Respond with 202',
      advice: 'An operation that takes long responds with 202.',
      pointer: expect.stringMatching(/^\/paths\/.*\/post\/responses$/) as string,
    })

    expect(await settled(await start())).toMatchObject({ status: 'waiting', currentStep: 5 })
    expect((await read('/v1/approvals')).body['items']).toMatchObject([
      { reason: expect.stringMatching(/Errors found: \d+\./) as string },
    ])
  })

  it.each([
    [{ rules: { 'no-such-rule': 'error' } }, '/rules/no-such-rule'],
    [{ rules: { example: 'loud' } }, '/rules/example'],
    [{ rules: { mine: { given: '$..[?(@.constructor)]', then: { function: 'truthy' } } } }, '/rules/mine/given'],
    [{ rules: { constructor: 'off' } }, '/rules/constructor'],
    [{}, '/rules'],
  ])('is rejected if it is %j', async (body, pointer) => {
    const { platform, token } = await openProgrammes()

    expect(await platform.send('POST', '/v1/rulesets', { token, body })).toMatchObject({
      status: 400,
      body: { errors: [{ pointer }] },
    })
  })
})
