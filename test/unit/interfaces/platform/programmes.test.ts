import { describe, expect, it } from 'vitest'
import { STEPS } from '../../../../src/control/programmes/programme-machine.ts'
import { PAYMENTS, PAYMENTS_SLA } from '../../../fixtures/test-platform.ts'
import { SWAGGER } from '../../../fixtures/swagger-document.ts'
import { base64, openProgrammes, statuses, version } from '../../../fixtures/test-programmes.ts'

const TARGET = { url: 'https://a.example' }
const UNUSABLE_BACKENDS = [
  {},
  { url: TARGET.url, targets: [TARGET] },
  { url: TARGET.url, balance: 'leastBusy' },
  { targets: [] },
  { targets: [TARGET, TARGET] },
  { targets: [{ ...TARGET, weight: 0 }] },
  { targets: [{ ...TARGET, weight: 1_001 }] },
  { targets: [{ ...TARGET, weight: 1.5 }] },
  { targets: [{ ...TARGET, surprise: 1 }] },
  { targets: [TARGET], balance: 'random' },
  { targets: Array.from({ length: 33 }, (_, index) => ({ url: `https://a${index}.example` })) },
]

describe('a programme', () => {
  it('publishes a document in eight steps as an active API with a subscription', async () => {
    const { platform, token, start, read, settled } = await openProgrammes()
    const id = await start({ openSla: base64(PAYMENTS_SLA) })
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

  it('publishes an API with several targets, which its proxy shows as they were given', async () => {
    const { start, read, settled } = await openProgrammes()
    const backend = { targets: [{ url: 'https://a.example', weight: 2 }, { url: 'https://b.example' }], timeoutMs: 900 }
    const id = await start({ backend })
    expect(await settled(id)).toMatchObject({ status: 'succeeded' })
    const { body } = await read(`/v1/programmes/${id}`)
    expect((await read(`/v1/proxies/${String(body['proxy'])}`)).body['backend']).toEqual(backend)
  })

  it('stops with the errors of a document that cannot be served', async () => {
    const { start, settled } = await openProgrammes()
    const progress = await settled(await start({ specification: base64('swagger: "1.2"') }))

    expect(progress).toMatchObject({ status: 'failed', currentStep: 1 })
    expect(progress.steps[0]).toMatchObject({ status: 'failed', errors: [{ pointer: '/openapi', line: 1 }] })
    expect(statuses(progress)).toBe(['failed', ...Array<string>(7).fill('pending')].join(' '))
  })

  it('publishes a Swagger 2.0 document in its converted form', async () => {
    const { platform, token, start, read, settled } = await openProgrammes()
    const approval = { minScore: 0, allowErrors: true, allowBreaking: false, exposures: ['Internal'] }
    await platform.send('PUT', '/v1/policy', { token, body: { approval } })
    expect(await settled(await start({ specification: base64(SWAGGER) }))).toMatchObject({ status: 'succeeded' })
    expect((await read('/v1/apis/stock-v1')).body).toMatchObject({ state: 'Active', version: '1.2.3' })
  })

  it('fails if another tenant uses the name of its API', async () => {
    const { platform, start, settled } = await openProgrammes()
    const rival = platform.token('rival')
    await platform.send('POST', '/v1/proxies', {
      token: rival,
      body: { api: 'payments-v1', specification: base64(PAYMENTS) },
    })
    const progress = await settled(await start())

    expect(progress.steps[0]?.errors).toMatchObject([
      { detail: expect.stringMatching(/^The name payments-v1 is taken .*`payments-[0-9a-z]{5}-v1` is free\.$/) },
    ])
  })

  it('accepts a minor version, and refuses a breaking one or another name', async () => {
    const { platform, token, start, read, settled } = await openProgrammes()
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

  it('resumes at the failed step when it is retried', async () => {
    const { platform, token, start, settled } = await openProgrammes()
    platform.beforePrepare = () => Promise.reject(new Error('a thread has stopped'))
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
    ...UNUSABLE_BACKENDS.map((backend) => ({ name: 'x', specification: 'YQ==', backend })),
    { name: 'x', specification: 'YQ==', surprise: 1 },
  ])('is rejected if its body is %j', async (body) => {
    const { platform, token } = await openProgrammes()

    expect((await platform.send('POST', '/v1/programmes', { token, body })).status).toBe(400)
  })
})
