/** No answer of the platform, no audit entry, no export and no file has a secret of a backend. */

import { expect, it } from 'vitest'
import type { Answer } from '../../fixtures/test-answer.ts'
import { NOW_MS } from '../../fixtures/test-catalogue.ts'
import { createTestAuthority } from '../../fixtures/test-certificates.ts'
import { PAYMENTS, type TestPlatform } from '../../fixtures/test-platform.ts'
import { PROGRAMME_KIND } from '../../../src/control/programmes/programme-document.ts'
import { openSecrets } from '../../../src/control/publishing/backend-secrets.ts'
import { activeDeployment, PROXY_KIND } from '../../../src/control/publishing/proxy-document.ts'
import { exportedFields } from '../../../src/storage/store/registry.ts'
import { base64, openProgrammes } from '../../fixtures/test-programmes.ts'

const MARKER = 'marker-of-the-secret'
const BACKEND_URL = 'https://backend.example'
const secretHeaders = [{ name: 'Authorization', value: `Basic ${MARKER}` }]

/** All that has been answered, and all that the registry has. */
async function everything(platform: TestPlatform, answers: readonly Answer[]): Promise<string> {
  const { registry } = platform
  const stored: string[] = answers.map(({ text }) => text)
  for (const kind of ['proxy', 'programme', 'openapi', 'compiled', 'api'])
    stored.push(JSON.stringify(await registry.list(kind as never, { limit: 500 })))
  return stored.join('\n')
}

it('keeps the secrets of a backend out of answers, refusals, the audit log, exports and the registry', async () => {
  const authority = createTestAuthority()
  const pair = authority.sign('gateway', 3_650)
  authority.remove()
  const tls = { certificate: pair.cert.toString(), key: pair.key.toString() }
  const { platform, token, start, settled } = await openProgrammes()
  // A certificate is valid from the time at which it is made.
  await platform.clock.advance(Math.max(0, Date.now() - NOW_MS))
  const answers: Answer[] = []
  async function send(method: string, path: string, body?: object, headers = {}): Promise<Answer> {
    const answer = await platform.send(method, path, { token, headers, ...(body !== undefined && { body }) })
    answers.push(answer)
    return answer
  }
  const revision = {
    api: 'payments-v1',
    specification: base64(PAYMENTS),
    backend: { url: BACKEND_URL, tls, secretHeaders },
  }
  const once = { 'idempotency-key': 'stage-1' }
  const staged = await send('POST', '/v1/proxies', revision, once)
  expect(staged).toMatchObject({
    status: 201,
    body: {
      backend: {
        url: BACKEND_URL,
        tls: { certificate: tls.certificate, hasKey: true },
        secretHeaders: [{ name: 'Authorization' }],
      },
      staging: { backend: { secretHeaders: [{ name: 'Authorization' }] } },
      transform: null,
    },
  })
  expect((await send('POST', '/v1/proxies', revision, once)).headers['idempotency-replayed']).toBe('true')
  const path = `/v1/proxies/${String(staged.body['id'])}`
  expect((await send('POST', `${path}/activate`)).status).toBe(200)

  // Refused at each place where a value could be repeated.
  const { backend } = revision
  const refused: readonly [string, object][] = [
    ['/backend/secretHeaders/0/value', { ...backend, secretHeaders: [{ name: 'X-A', value: `${MARKER}\r\nX: 1` }] }],
    ['/backend/secretHeaders/0/value', { ...backend, secretHeaders: [{ name: 'X-A', value: MARKER.repeat(500) }] }],
    ['/backend/secretHeaders/0/value', { ...backend, secretHeaders: [{ name: 'X-A', value: ` ${MARKER}` }] }],
    ['/backend/secretHeaders/0/value', { ...backend, secretHeaders: [{ name: 'X-A', value: [MARKER] }] }],
    ['/backend/secretHeaders/0/name', { ...backend, secretHeaders: [{ name: 'X A', value: MARKER }] }],
    ['/backend/secretHeaders/0/name', { ...backend, secretHeaders: [{ name: 'Host', value: MARKER }] }],
    ['/backend/secretHeaders/0', { ...backend, secretHeaders: [{ value: MARKER }] }],
    ['/backend/tls/key', { ...backend, tls: { ...tls, key: MARKER } }],
    ['/backend/tls/certificate', { ...backend, tls: { certificate: tls.key, key: tls.key } }],
    ['/backend/tls/certificate', { ...backend, tls: { key: tls.key } }],
    ['/backend/tls', { ...backend, url: 'http://backend.example' }],
    ['/backend/secretHeaders', { ...backend, secretHeaders: Array(17).fill({ name: 'X-A', value: MARKER }) }],
  ]
  for (const [pointer, each] of refused) {
    const answer = await send('POST', '/v1/proxies', { ...revision, backend: each })
    expect([answer.status, pointer, answer.body['errors']]).toMatchObject([400, pointer, [{}]])
    expect(JSON.stringify(answer.body['errors'])).toContain(`"${pointer}`)
  }

  const programme = await start({
    backend,
    specification: base64(PAYMENTS.toString().replace(/title: .*/, 'title: Other')),
  })
  await settled(programme)
  for (const url of [path, '/v1/proxies', `${path}/revisions`, '/v1/audit?limit=500', `/v1/programmes/${programme}`])
    expect((await send('GET', url)).status).toBe(200)
  answers.push(await platform.send('GET', `/v1/programmes/${programme}/progress`, { token }))
  const exportOf = exportedFields().get('programme') as (body: unknown) => { readonly backend: object }
  const programmes = await platform.registry.list(PROGRAMME_KIND, { limit: 9 })
  expect(programmes.map(({ body }) => exportOf(body).backend)).toEqual([
    { url: BACKEND_URL, tls: { certificate: tls.certificate }, secretHeaders: [{ name: 'Authorization' }] },
  ])

  const text = await everything(platform, answers)
  expect(text).not.toContain(MARKER)
  expect(text).not.toContain('PRIVATE KEY')
  const keyLine = tls.key.split('\n')[1]!
  expect(text).not.toContain(keyLine)
  // Ciphertexts are in the registry only.
  const [proxy] = await platform.registry.list('proxy' as never, { limit: 1 })
  const ciphertext = /"value":"([\w-]{40,})"/.exec(JSON.stringify(proxy))![1]!
  for (const { text: answer } of answers) expect(answer).not.toContain(ciphertext)
})

it('deploys the secrets of a programme', async () => {
  const { start, settled, read, platform } = await openProgrammes()
  const id = await start({ backend: { url: BACKEND_URL, secretHeaders } })
  const progress = await settled(id)
  expect(progress.status).toBe('succeeded')
  const { body } = await read('/v1/proxies?api=payments-v1')
  expect(body['items']).toMatchObject([{ backend: { url: BACKEND_URL, secretHeaders: [{ name: 'Authorization' }] } }])
  expect(JSON.stringify(await platform.registry.list('programme' as never, { limit: 9 }))).not.toContain(MARKER)
})

it.each<[string, string | undefined, number, string]>([
  ['with another secret again', 'two', 2, 'two'],
  ['with the same secret once', 'one', 1, 'one'],
  ['with the stored secret once', undefined, 1, 'one'],
])('deploys the document of an API that is served already, %s', async (_, value, revision, served) => {
  const { start, settled, platform, token } = await openProgrammes()
  const backendWith = (secret?: string) => ({
    url: BACKEND_URL,
    secretHeaders: [{ name: 'X-Secret', ...(secret !== undefined && { value: secret }) }],
  })
  const first = { api: 'payments-v1', specification: base64(PAYMENTS), backend: backendWith('one') }
  const { body: proxy } = await platform.send('POST', '/v1/proxies', { token, body: first })
  await platform.send('POST', `/v1/proxies/${String(proxy['id'])}/activate`, { token })
  expect(await settled(await start({ backend: backendWith(value) }))).toMatchObject({ status: 'succeeded' })
  const { body } = (await platform.registry.find(PROXY_KIND, 'api', 'payments-v1'))!
  expect(body.actor.context).toMatchObject({ activeRevision: revision, stagingRevision: null })
  const owner = { tenant: 'acme', api: 'payments-v1' }
  const { secretHeaders } = openSecrets(platform.vault, owner, activeDeployment(body)!.backend)
  expect(secretHeaders).toEqual([{ name: 'X-Secret', value: served }])
})

it('refuses a programme whose backend has a fault in its secrets', async () => {
  const { platform, token } = await openProgrammes()
  for (const [pointer, backend] of [
    ['/backend/secretHeaders/0/name', { url: BACKEND_URL, secretHeaders: [{ name: 'Host', value: '1' }] }],
    ['/backend/tls/ca', { url: BACKEND_URL, tls: { ca: 'none' } }],
  ] as const) {
    const body = { name: 'Payments', specification: base64(PAYMENTS), backend }
    expect(await platform.send('POST', '/v1/programmes', { token, body })).toMatchObject({
      status: 400,
      body: { errors: [{ pointer }] },
    })
  }
})
