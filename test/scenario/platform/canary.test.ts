/** `POST /v1/proxies/{id}/activate` with callers: what is accepted, what is shown, and what is refused. */

import { describe, expect, it } from 'vitest'
import { openTestPlatform, PAYMENTS } from '../../fixtures/test-platform.ts'

async function openStaged() {
  const platform = await openTestPlatform()
  const token = platform.token('acme')
  const send = (method: string, path: string, body?: unknown, of = token) =>
    platform.send(method, path, { token: of, ...(body !== undefined && { body }) })
  const staged = { api: 'payments-v1', specification: PAYMENTS.toString('base64') }
  const backend = { url: 'https://backend.example' }
  const stage = () => send('POST', '/v1/proxies', { ...staged, backend })
  const path = `/v1/proxies/${String((await stage()).body['id'])}`
  const activate = (body?: unknown) => send('POST', `${path}/activate`, body)
  const enrol = async (of = token): Promise<string> =>
    String((await send('POST', '/v1/consumers', { name: 'Shop', kind: 'application' }, of)).body['id'])
  return { platform, send, stage, path, activate, enrol }
}

describe('The activation of a revision', () => {
  it('without a body or with an empty one is for all callers', async () => {
    const { activate, stage } = await openStaged()
    for (const [body, revision] of [
      [undefined, 1],
      [{}, 2],
    ] as const) {
      expect(await activate(body)).toMatchObject({ status: 200, body: { activeRevision: revision, canary: null } })
      await stage()
    }
  })

  it('for a share or for consumers is shown, listed and audited, and can be changed and ended', async () => {
    const { activate, stage, send, path, enrol } = await openStaged()
    await activate()
    await stage()
    const first = await activate({ percent: 25 })
    expect(first).toMatchObject({
      status: 200,
      body: { activeRevision: 1, stagingRevision: 2, canary: { revision: 2, percent: 25 } },
    })
    const { since } = first.body['canary'] as { since: string }
    const consumers = [await enrol()]
    expect((await activate({ consumers })).body['canary']).toEqual({ revision: 2, consumers, since })
    expect((await send('GET', path)).body['canary']).toEqual({ revision: 2, consumers, since })
    const { body } = await send('GET', `${path}/revisions`)
    expect((body['items'] as { fate: string }[]).map(({ fate }) => fate)).toEqual(['active', 'canary'])
    const allowed = ['activate', 'discard']
    expect(await stage()).toMatchObject({ status: 409, body: { code: 'state_conflict', state: 'canary', allowed } })
    expect(await send('POST', `${path}/discard`)).toMatchObject({ status: 200, body: { canary: null } })
    const audit = await send('GET', `/v1/audit?id=${path.split('/').at(-1)}`)
    expect((audit.body['items'] as { action: string }[]).map(({ action }) => action)).toEqual([
      'proxy.discard',
      'proxy.canary',
      'proxy.canary',
      'proxy.stage',
      'proxy.activate',
      'proxy.stage',
    ])
  })

  it.each<[string, unknown]>([
    ['a share of nothing', { percent: 0 }],
    ['a share of all', { percent: 100 }],
    ['a share that is no whole number', { percent: 0.5 }],
    ['a share that is text', { percent: '10' }],
    ['no consumers', { consumers: [] }],
    ['the same consumer twice', { consumers: ['con_1', 'con_1'] }],
    ['too many consumers', { consumers: Array.from({ length: 1_001 }, (_, index) => `con_${index}`) }],
    ['an unknown consumer', { consumers: ['con_1'] }],
    ['a consumer with control characters', { consumers: ['con_\u0000'] }],
    ['an unknown field', { share: 10 }],
    ['two choices', { percent: 10, consumers: ['con_1'] }],
    ['a list', [10]],
  ])('for %s is refused, and changes nothing', async (_, body) => {
    const { activate, stage, send, path } = await openStaged()
    await activate()
    await stage()
    expect(await activate(body)).toMatchObject({ status: 400, body: { code: 'payload_invalid' } })
    expect((await send('GET', path)).body).toMatchObject({ activeRevision: 1, stagingRevision: 2, canary: null })
  })

  it('for a consumer of another tenant is refused like one for a consumer that does not exist', async () => {
    const { activate, stage, enrol, platform } = await openStaged()
    await activate()
    await stage()
    const foreign = await enrol(platform.token('rival'))
    const refused = async (consumer: string) => {
      const { status, body } = await activate({ consumers: [consumer] })
      return { status, errors: body['errors'] }
    }
    expect(await refused(foreign)).toEqual(await refused('con_unknown'))
    expect((await refused(foreign)).errors).toEqual([
      { pointer: '/consumers/0', detail: 'The consumer does not exist.' },
    ])
  })

  it('for some callers needs an active revision', async () => {
    const { activate } = await openStaged()
    const conflict = { code: 'state_conflict', state: 'staging', allowed: ['activate', 'discard'] }
    expect(await activate({ percent: 10 })).toMatchObject({ status: 409, body: conflict })
  })
})
