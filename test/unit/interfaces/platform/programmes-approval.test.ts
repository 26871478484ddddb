import { describe, expect, it } from 'vitest'
import { base64, openProgrammes, version } from '../../../fixtures/test-programmes.ts'

describe('a programme', () => {
  it('waits for approval by another caller if the policy requires it, and then continues', async () => {
    const { platform, token, start, read, settled, decide, strict } = await openProgrammes()
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

  it('fails when it is rejected, and waits for an amendment when one is required', async () => {
    const { platform, token, start, settled, decide, strict } = await openProgrammes()
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

  it('requests the approval again when it is retried after a rejection', async () => {
    const { platform, token, start, read, settled, decide, strict } = await openProgrammes()
    await strict()
    const id = await start()
    await settled(id)
    const rejected = (await platform.send('GET', `/v1/programmes/${id}`, { token })).body['approvalFlow']
    await decide(id, 'Rejected')
    expect(await settled(id)).toMatchObject({ status: 'failed' })

    expect((await platform.send('POST', `/v1/programmes/${id}/retry`, { token })).status).toBe(202)
    const progress = await settled(id)
    expect(progress).toMatchObject({ status: 'waiting', currentStep: 5 })
    expect(progress.steps[4]).toMatchObject({ status: 'waiting', errors: [] })
    expect((await read('/v1/approvals')).body['items']).toMatchObject([
      { id: expect.not.stringMatching(String(rejected)) as string, programme: id, state: 'InProgress' },
    ])
    expect((await decide(id, 'Approved')).status).toBe(200)
    expect(await settled(id)).toMatchObject({ status: 'succeeded' })
  })

  it('continues without a decision when it is retried after the policy has been relaxed', async () => {
    const { platform, token, start, settled, decide, strict } = await openProgrammes()
    await strict()
    const id = await start()
    await settled(id)
    await decide(id, 'Rejected')
    await settled(id)
    const approval = { minScore: 0, allowErrors: true, allowBreaking: true, exposures: ['Internal'] }
    await platform.send('PUT', '/v1/policy', { token, body: { approval } })
    await platform.send('POST', `/v1/programmes/${id}/retry`, { token })
    expect(await settled(id)).toMatchObject({ status: 'succeeded' })
  })

  it('waits for approval of a breaking major version if the policy does not allow breaking changes', async () => {
    const { platform, token, start, read, settled } = await openProgrammes()
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

    // Version 4.0.0 is compared with 3.0.0, the highest version below it.
    await platform.send('PUT', '/v1/policy', { token, body: { approval: { ...approval, allowBreaking: true } } })
    const fourth = second.replace('version: 2.0.0', 'version: 4.0.0')
    expect(await settled(await start({ specification: base64(fourth) }))).toMatchObject({ status: 'succeeded' })
  })

  it('lists its reason for waiting among the approvals', async () => {
    const { start, read, settled, strict } = await openProgrammes()
    await strict()
    await settled(await start())

    expect((await read('/v1/approvals')).body['items']).toMatchObject([
      { reason: expect.stringMatching(/^The score is [\d.]+; the policy requires 100\.$/) as string },
    ])
  })
})
