/** An independent federated provider: its tokens are accepted at an API, also across its key rotation and its outage. */

import { request } from 'undici'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { startFederatedProvider, type FederatedProvider } from './federated-provider.ts'
import { ledgerDocument, startLedgerBackend, type LedgerBackend } from './ledger-backend.ts'
import { createService, publish, type Service, TWO_THREADS } from './service.ts'

const CLIENT = { id: 'partner-app', secret: 'a secret that only the provider knows' }
const STRANGER = { id: 'stranger-app', secret: 'another secret of the same provider' }

let provider: FederatedProvider
let service: Service
let backend: LedgerBackend
let consumer: string
let subscription: string

beforeAll(async () => {
  provider = await startFederatedProvider({ clients: [CLIENT, STRANGER], scopes: ['entries:read'] })
  backend = await startLedgerBackend()
  service = await createService({ args: ['--empty'], env: { ...TWO_THREADS, ALLOW_PRIVATE_ADDRESSES: 'federation' } })
  await service.start()
  await publish(service, 'ledger-v1', ledgerDocument(), backend.url)
  const { id } = await service.platform.post<{ id: string }>('/v1/consumers', { name: 'Partner', kind: 'application' })
  consumer = id
})

afterAll(async () => {
  await service.remove()
  await backend.close()
  await provider.leave()
})

async function call(token: string): Promise<{ status: number; code: unknown }> {
  const { statusCode, body } = await request(`${service.gatewayUrl}/ledger-v1/entries?n=1`, {
    headers: { authorization: `Bearer ${token}` },
  })
  const answer = (await body.json()) as { code?: unknown }
  return { status: statusCode, code: answer.code }
}

async function subscribe(): Promise<string> {
  const { id } = await service.platform.post<{ id: string }>('/v1/subscriptions', {
    consumer,
    api: 'ledger-v1',
    securityTypes: ['Federated'],
    federated: { issuer: provider.issuer, clientId: CLIENT.id },
  })
  return id
}

const served = { status: 200, code: undefined }
const invalid = { status: 401, code: 'credential_invalid' }
const unsubscribed = { status: 403, code: 'subscription_required' }

describe('a federated provider', () => {
  it('is refused before it is registered, and its clients before they are subscribed', async () => {
    const token = await provider.token(CLIENT.id, 'ledger-v1')
    expect(await call(token)).toEqual(invalid)
    await service.platform.post('/v1/identityproviders', { issuer: provider.issuer })
    expect(await call(token)).toEqual(unsubscribed)
    subscription = await subscribe()
    expect(await call(token)).toEqual(served)
    expect(backend.last()['x-consumer-id']).toBe(consumer)
    expect(await call(await provider.token(STRANGER.id, 'ledger-v1'))).toEqual(unsubscribed)
  })

  it('has tokens refused for another audience and with a changed signature', async () => {
    expect(await call(await provider.token(CLIENT.id, 'journal-v1'))).toEqual(invalid)
    const token = await provider.token(CLIENT.id, 'ledger-v1')
    const at = token.lastIndexOf('.') + 10
    const other = token[at] === 'A' ? 'B' : 'A'
    expect(await call(token.slice(0, at) + other + token.slice(at + 1))).toEqual(invalid)
  })

  it('rotates its key without a failed call, and gets at most one request for forged key names', async () => {
    const before = await provider.token(CLIENT.id, 'ledger-v1')
    expect(await call(before)).toEqual(served)
    await provider.rotate({ keep: true })
    const after = await provider.token(CLIENT.id, 'ledger-v1')
    const answers = await Promise.all(Array.from({ length: 20 }, () => call(after)))
    expect(answers).toEqual(answers.map(() => served))
    expect(await call(before)).toEqual(served)

    const reads = provider.keySetReads()
    const [, body = '', signature = ''] = after.split('.')
    const forged = Array.from({ length: 50 }, (_, n) => {
      const header = { alg: 'ES256', typ: 'at+jwt', kid: `made-up-${n}` }
      return `${Buffer.from(JSON.stringify(header)).toString('base64url')}.${body}.${signature}`
    })
    expect(await Promise.all(forged.map(call))).toEqual(forged.map(() => invalid))
    expect(provider.keySetReads() - reads).toBeLessThanOrEqual(1)
  })

  it('may be unreachable: its tokens are accepted, also by a service that starts meanwhile', async () => {
    const token = await provider.token(CLIENT.id, 'ledger-v1')
    await provider.leave()
    expect(await call(token)).toEqual(served)
    await service.stop()
    await service.start()
    expect(await call(token)).toEqual(served)
    await provider.comeBack()
    expect(await call(await provider.token(CLIENT.id, 'ledger-v1'))).toEqual(served)
  })

  it('has tokens refused once a cancellation is answered, and accepted after a new subscription', async () => {
    const token = await provider.token(CLIENT.id, 'ledger-v1')
    expect(await call(token)).toEqual(served)
    await service.platform.post(`/v1/subscriptions/${subscription}/cancel`)
    expect(await call(token)).toEqual(invalid)
    await subscribe()
    expect(await call(token)).toEqual(served)
  })

  it('has tokens refused once its removal is answered', async () => {
    const token = await provider.token(CLIENT.id, 'ledger-v1')
    expect(await call(token)).toEqual(served)
    const { items } = await service.platform.get<{ items: readonly { id: string }[] }>('/v1/identityproviders')
    await service.platform.delete(`/v1/identityproviders/${items[0]?.id}`)
    expect(await call(token)).toEqual(invalid)
  })
})
