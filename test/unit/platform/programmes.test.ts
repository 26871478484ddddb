import { readFileSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import { STEPS } from '../../../src/programmes/programme-machine.ts'
import type { Caller } from '../../../src/plan/caller.ts'
import { openTestPlatform, type TestPlatform } from '../../fixtures/test-platform.ts'

const PAYMENTS = readFileSync(new URL('../../../src/sample/payments.openapi.yaml', import.meta.url))
const SLA = readFileSync(new URL('../../../src/sample/payments.opensla.yaml', import.meta.url))
const base64 = (bytes: Buffer | string): string => Buffer.from(bytes).toString('base64')

type Answer = Awaited<ReturnType<TestPlatform['send']>>
interface Shown {
  readonly status: string
  readonly currentStep: number
  readonly steps: readonly {
    readonly name: string
    readonly status: string
    readonly errors: readonly { detail: string }[]
  }[]
}

async function open() {
  const platform = await openTestPlatform()
  const token = platform.token('acme')
  const other = platform.token('acme')
  const { body: made } = await platform.send('POST', '/v1/consumers', {
    token,
    body: { name: 'CI', kind: 'application' },
  })
  const as = (of: string, consumer: string) => {
    const caller = platform.callers.get(of) as Caller
    platform.callers.set(of, { ...caller, grant: { ...caller.grant, consumer } })
  }
  as(token, String(made['id']))
  as(other, 'con_boss')
  const start = async (body: object = {}): Promise<string> => {
    const made = await platform.send('POST', '/v1/programmes', {
      token,
      body: { name: 'Payments', specification: base64(PAYMENTS), ...body },
    })
    expect(made).toMatchObject({ status: 202, body: { status: 'running', name: 'Payments' } })
    return String(made.body['id'])
  }
  const read = (path: string): Promise<Answer> => platform.send('GET', path, { token })
  /** The progress when nothing runs any more. */
  const settled = async (id: string): Promise<Shown> => {
    for (;;) {
      const { body } = await read(`/v1/programmes/${id}/progress`)
      if (body['status'] !== 'running') return body as unknown as Shown
      await new Promise((resolve) => setImmediate(resolve))
    }
  }
  const decide = async (id: string, outcome: string, by = other): Promise<Answer> => {
    const { body } = await read(`/v1/programmes/${id}`)
    const path = `/v1/programmes/${id}/approvalFlows/${String(body['approvalFlow'])}/approvals`
    return platform.send('POST', path, { token: by, body: { outcome, comments: 'Because.' } })
  }
  const strict = () =>
    platform.send('PUT', '/v1/policy', {
      token,
      body: { approval: { minScore: 100, allowErrors: false, allowBreaking: false, exposures: ['Internal'] } },
    })
  return { platform, token, other, start, read, settled, decide, strict }
}

const statuses = ({ steps }: Shown) => steps.map(({ status }) => status).join(' ')
const version = (next: string) => PAYMENTS.toString().replace(/^( {2}version: ).*$/m, `$1${next}`)

describe('a programme', () => {
  it('takes a document through eight steps to a running API with a subscription', async () => {
    const { platform, token, start, read, settled } = await open()
    const id = await start({ openSla: base64(SLA) })
    const progress = await settled(id)

    expect(progress).toMatchObject({ status: 'succeeded', currentStep: 8 })
    expect(progress.steps.map(({ name }) => name)).toEqual([...STEPS])
    expect(statuses(progress)).toBe(Array(8).fill('done').join(' '))
    const { body } = await read(`/v1/programmes/${id}`)
    expect(body).toMatchObject({
      api: 'payments-v1',
      status: 'succeeded',
      score: expect.any(Number) as number,
      approvalFlow: null,
    })
    expect((await read('/v1/apis/payments-v1')).body).toMatchObject({ state: 'Active', programme: id })
    expect((await read(`/v1/proxies/${String(body['proxy'])}`)).body).toMatchObject({
      activeRevision: 1,
      stagingRevision: null,
    })
    expect((await read(`/v1/subscriptions/${String(body['subscription'])}`)).body).toMatchObject({
      ApiId: 'payments-v1',
    })
    expect((await read('/v1/openslaspecs?api=payments-v1')).body['items']).toHaveLength(1)
    expect((await platform.send('GET', `/v1/programmes/${id}`, { token: platform.token('rival') })).status).toBe(404)
    expect((await platform.send('GET', `/v1/programmes?state=succeeded`, { token })).body['items']).toMatchObject([
      { id },
    ])
  })

  it('stops with the errors of a document that cannot be served', async () => {
    const { start, settled } = await open()
    const progress = await settled(await start({ specification: base64('swagger: "2.0"') }))

    expect(progress).toMatchObject({ status: 'failed', currentStep: 1 })
    expect(progress.steps[0]).toMatchObject({ status: 'failed', errors: [{ pointer: '/openapi', line: 1 }] })
    expect(statuses(progress)).toBe(['failed', ...Array<string>(7).fill('pending')].join(' '))
  })

  it('fails if the name is taken, and continues after a retry when it is free', async () => {
    const { platform, start, settled } = await open()
    const rival = platform.token('rival')
    await platform.send('POST', '/v1/proxies', {
      token: rival,
      body: { api: 'payments-v1', specification: base64(PAYMENTS) },
    })
    const progress = await settled(await start())

    expect(progress.steps[0]?.errors).toMatchObject([{ detail: 'The name payments-v1 is taken on this gateway.' }])
  })

  it('waits for approval by another caller if the policy requires it, and then continues', async () => {
    const { platform, token, start, read, settled, decide, strict } = await open()
    await strict()
    const id = await start()
    expect(await settled(id)).toMatchObject({ status: 'waiting', currentStep: 5 })
    const waiting = (await read('/v1/approvals')).body['items']
    expect(waiting).toMatchObject([{ kind: 'programme', programme: id, subscription: null, state: 'InProgress' }])
    expect((await read('/v1/apis/payments-v1')).status).toBe(404)

    const own = await decide(id, 'Approved', token)
    expect(own).toMatchObject({ status: 403, body: { code: 'operation_forbidden' } })
    expect(platform.selfApprovals).toHaveLength(1)
    expect((await decide(id, 'Approved')).status).toBe(200)
    expect(await settled(id)).toMatchObject({ status: 'succeeded' })
    expect((await read('/v1/approvals')).body['items']).toEqual([])
  })

  it('ends when it is rejected, and waits for an amendment when one is required', async () => {
    const { platform, token, start, settled, decide, strict } = await open()
    await strict()
    const id = await start()
    await settled(id)
    expect((await decide(id, 'AmendmentRequired')).status).toBe(200)
    expect(await settled(id)).toMatchObject({ status: 'waiting' })
    const amended = await platform.send('PUT', `/v1/programmes/${id}`, {
      token,
      body: { specification: base64(version('1.9.0')) },
    })
    expect(amended.status).toBe(202)
    expect(await settled(id)).toMatchObject({ status: 'waiting', currentStep: 5 })
    expect((await decide(id, 'Rejected')).status).toBe(200)
    const progress = await settled(id)

    expect(progress.status).toBe('failed')
    expect(progress.steps[4]).toMatchObject({ status: 'failed', errors: [{ detail: 'Because.' }] })
  })

  it('accepts a minor version, and refuses a breaking one or another name', async () => {
    const { platform, token, start, read, settled } = await open()
    const id = await start()
    await settled(id)
    const put = (text: string) =>
      platform.send('PUT', `/v1/programmes/${id}`, { token, body: { specification: base64(text) } })

    expect((await put(version('1.9.0'))).status).toBe(202)
    expect(await settled(id)).toMatchObject({ status: 'succeeded' })
    expect((await read('/v1/apis/payments-v1')).body).toMatchObject({ version: '1.9.0' })
    const { body } = await read(`/v1/subscriptions?api=payments-v1`)
    expect(body['items']).toHaveLength(1)
    const breaking = await put(version('1.10.0').replace('  /payments:', '  /pay-ins:'))
    expect(breaking).toMatchObject({ status: 409, body: { code: 'breaking_change' } })
    expect((await put(version('2.0.0'))).status).toBe(400)
    expect((await put('nonsense')).status).toBe(400)
    expect(await settled(id)).toMatchObject({ status: 'succeeded' })
    expect((await platform.send('POST', `/v1/programmes/${id}/retry`, { token })).body).toMatchObject({
      code: 'state_conflict',
      state: 'succeeded',
    })
  })

  it('waits for approval of a breaking major version that the policy does not allow', async () => {
    const { platform, token, start, read, settled } = await open()
    await settled(await start())
    const second = version('2.0.0').replace('  /payments:', '  /pay-ins:')
    const approval = { minScore: 0, allowErrors: true, allowBreaking: false, exposures: ['Internal'] }
    await platform.send('PUT', '/v1/policy', { token, body: { approval } })

    const waits = await start({ specification: base64(second) })
    expect(await settled(waits)).toMatchObject({ status: 'waiting', currentStep: 5 })
    const [flow] = (await read('/v1/approvals')).body['items'] as readonly { reason: string }[]
    expect(flow?.reason).toMatch(/^Changes that break callers of the previous major version: \d+\.$/)
    expect(await settled(await start({ specification: base64(version('3.0.0')) }))).toMatchObject({
      status: 'succeeded',
    })

    // Towards 3.0.0 now, the highest below it.
    await platform.send('PUT', '/v1/policy', { token, body: { approval: { ...approval, allowBreaking: true } } })
    const fourth = second.replace('version: 2.0.0', 'version: 4.0.0')
    expect(await settled(await start({ specification: base64(fourth) }))).toMatchObject({ status: 'succeeded' })
  })

  it('shows the approver why it waits', async () => {
    const { start, read, settled, strict } = await open()
    await strict()
    await settled(await start())

    expect((await read('/v1/approvals')).body['items']).toMatchObject([
      { reason: expect.stringMatching(/^The score is [\d.]+; the policy requires 100\.$/) as string },
    ])
  })

  it('is retried at the failed step', async () => {
    const { platform, token, start, settled } = await open()
    platform.beforePrepare = () => Promise.reject(new Error('a thread is away'))
    const id = await start()
    const failed = await settled(id)
    expect(failed).toMatchObject({ status: 'failed', currentStep: 8 })
    expect(failed.steps[7]?.errors).toEqual([
      { pointer: '', detail: 'The step failed because of an internal error. Retry the programme.' },
    ])
    platform.beforePrepare = async () => {}
    expect((await platform.send('POST', `/v1/programmes/${id}/retry`, { token })).status).toBe(202)

    expect(await settled(id)).toMatchObject({ status: 'succeeded' })
  })

  it.each([
    { name: 'x' },
    { name: '', specification: 'YQ==' },
    { name: 'x', specification: 'not base64!' },
    { name: 'x', specification: 'YQ==', openSla: '*' },
    { name: 'x', specification: 'YQ==', backend: { url: '' } },
    { name: 'x', specification: 'YQ==', surprise: 1 },
  ])('that is asked for as %j is refused', async (body) => {
    const { platform, token } = await open()

    expect((await platform.send('POST', '/v1/programmes', { token, body })).status).toBe(400)
  })
})

describe('the policy of a tenant', () => {
  it('has defaults until it is changed, and applies to one tenant', async () => {
    const { platform, read, strict } = await open()
    const exposures = ['Internal', 'Partner', 'Public']
    const standard = { approval: { minScore: 80, allowErrors: false, allowBreaking: true, exposures }, ruleset: null }
    expect((await read('/v1/policy')).body).toEqual(standard)
    await strict()
    expect((await read('/v1/policy')).body).toMatchObject({ approval: { minScore: 100 } })
    expect((await platform.send('GET', '/v1/policy', { token: platform.token('rival') })).body).toEqual(standard)
  })
})

describe('a ruleset', () => {
  it('applies to the documents of its tenant once the policy names it, and to no others', async () => {
    const { platform, token, read } = await open()
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
    const { platform, token } = await open()
    const body = { extends: ['spectral:oas'], formats: ['oas3'] }
    expect(await platform.send('POST', '/v1/rulesets', { token, body })).toMatchObject({
      status: 201,
      body: { ...body, rules: {} },
    })
  })

  it('may define custom rules, which can stop a programme', async () => {
    const { platform, token, start, read, settled } = await open()
    const given = "$.paths[*][?(@property === 'post')].responses"
    const rules = {
      accepted: {
        description: 'What takes long answers 202.',
        message: 'Say 202',
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
      message: 'Say 202',
      advice: 'What takes long answers 202.',
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
  ])('%j is refused', async (body, pointer) => {
    const { platform, token } = await open()

    expect(await platform.send('POST', '/v1/rulesets', { token, body })).toMatchObject({
      status: 400,
      body: { errors: [{ pointer }] },
    })
  })
})

describe('the validation of a document', () => {
  it('returns score, findings, breaking changes, security and advice, and stores nothing', async () => {
    const { platform, token, read } = await open()
    const body = {
      specification: base64(version('1.9.0').replace('  /payments:', '  /pay-ins:')),
      previous: base64(PAYMENTS),
    }
    const { status, body: result } = await platform.send('POST', '/v1/programmes/validate', { token, body })

    expect(status).toBe(200)
    expect(result).toMatchObject({ score: expect.any(Number) as number, compliance: { servable: true, omitted: 0 } })
    expect(result['breakingChanges']).toContainEqual(
      expect.objectContaining({ id: 'operation.removed', level: 'breaking' }),
    )
    expect((await read('/v1/programmes')).body['items']).toEqual([])
    const html = await platform.send('POST', '/v1/programmes/validate', {
      token,
      body: { specification: base64('<html>') },
    })
    expect(html.body).toMatchObject({ score: 0, findings: [{ category: 'validity' }] })
    expect(
      (await platform.send('POST', '/v1/programmes/validate', { token, body: { specification: '%' } })).status,
    ).toBe(400)
  })
})
