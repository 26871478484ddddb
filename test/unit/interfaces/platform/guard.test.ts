import { beforeAll, beforeEach, describe, expect, it } from 'vitest'
import type { Caller } from '../../../../src/boundary/plan/caller.ts'
import { Problem } from '../../../../src/foundation/domain/problem.ts'
import type { Attempt } from '../../../../src/interfaces/platform/call-limits.ts'
import { ALL_OPERATIONS, platformScopes } from '../../../../src/interfaces/platform/operations.ts'
import { alternativesOf } from '../../../../src/interfaces/platform/scope-widths.ts'
import type { PlatformLimits } from '../../../../src/interfaces/platform/self-metering/platform-limits.ts'
import { BASE_URL, openTestPlatform, toGrant, type TestPlatform } from '../../../fixtures/test-platform.ts'

const PROTECTED = Object.entries(ALL_OPERATIONS).filter(([, { scope }]) => scope !== null)
const METADATA = `resource_metadata="${BASE_URL}/.well-known/oauth-protected-resource"`
const toPath = (path: string): string => path.replace(/:\w+/g, 'any')

describe('the guard of the platform API', () => {
  /** Calls that the guard refuses do not change it. */
  let refusing: TestPlatform
  beforeAll(async () => {
    const { promise, resolve } = Promise.withResolvers<() => Promise<void>>()
    refusing = await openTestPlatform({ atEnd: resolve })
    return promise
  })
  beforeEach(() => void refusing.calls.splice(0))

  it.each(PROTECTED)('answers 401 for %s without a credential', async (operationId, { method, path }) => {
    const answer = await refusing.send(method, toPath(path))

    expect(answer).toMatchObject({ status: 401, body: { code: 'credential_missing' } })
    expect(answer.headers['www-authenticate']).toBe(`Bearer ${METADATA}`)
    expect(refusing.calls).toMatchObject([{ operationId, status: 401, code: 'credential_missing', party: null }])
  })

  it.each(PROTECTED)('answers 403 for %s with every scope except the required one', async (operationId, operation) => {
    const { method, path, scope } = operation
    const others = platformScopes().filter((each) => !alternativesOf(operation).includes(each))
    const answer = await refusing.send(method, toPath(path), { token: refusing.token('acme', others) })

    expect(answer).toMatchObject({ status: 403, body: { code: 'operation_forbidden' } })
    expect(answer.headers['www-authenticate']).toBe(`Bearer error="insufficient_scope", scope="${scope}", ${METADATA}`)
    const party = { grant: { tenant: 'acme' } }
    expect(refusing.calls).toMatchObject([{ operationId, status: 403, code: 'operation_forbidden', party }])
  })

  it('answers 401 invalid_token for an invalid credential, attributed to its party if that is known', async () => {
    const platform = await openTestPlatform()
    platform.callers.set('expired', { code: 'credential_invalid', grant: toGrant('acme'), detail: 'It has expired.' })
    const answer = await platform.send('GET', '/v1/consumers', { token: 'expired' })

    expect(answer).toMatchObject({ status: 401, body: { code: 'credential_invalid', detail: 'It has expired.' } })
    expect(answer.headers['www-authenticate']).toBe(`Bearer error="invalid_token", ${METADATA}`)
    expect(platform.calls).toMatchObject([{ code: 'credential_invalid', party: { grant: { consumer: 'con_acme' } } }])
  })

  it('answers 401 invalid_token for a credential that is bound to a client certificate, or a key beside it', async () => {
    const platform = await openTestPlatform()
    const token = platform.token('acme')
    const caller = platform.callers.get(token) as Caller
    const bound = { ...caller, certificate: '47DEQpj8HBSa-_TImW-5JCeuQeRkm5NMpJWZG3hSuFU' }
    expect(await platform.send('GET', '/v1/consumers', { token })).toMatchObject({ status: 200 })
    for (const changed of [bound, { ...caller, key: bound }]) {
      platform.callers.set(token, changed)
      const answer = await platform.send('GET', '/v1/consumers', { token })
      expect(answer).toMatchObject({ status: 401, body: { code: 'credential_invalid' } })
      expect(answer.headers['www-authenticate']).toContain('error="invalid_token"')
    }
    expect(platform.calls).toMatchObject([
      { status: 200 },
      { status: 401, party: { grant: bound.grant } },
      { status: 401 },
    ])
  })

  it('answers 403 without an active subscription', async () => {
    const platform = await openTestPlatform()
    platform.callers.set('pending', { code: 'subscription_required', grant: toGrant('acme'), detail: 'Not active.' })
    const answer = await platform.send('GET', '/v1/consumers', { token: 'pending' })
    expect(answer).toMatchObject({ status: 403, body: { code: 'subscription_required' } })
  })

  it('checks the credential again after a call has waited for its limits', async () => {
    const { promise: wait, resolve } = Promise.withResolvers<Attempt>()
    let admitted = 0
    const limits: PlatformLimits = {
      setPlan() {},
      admit() {
        admitted++
        return { wait }
      },
    }
    const platform = await openTestPlatform({ limits })
    const token = platform.token('acme')
    const answer = platform.send('GET', '/v1/consumers', { token })
    await expect.poll(() => admitted).toBe(1)
    platform.callers.set(token, { code: 'credential_invalid', grant: toGrant('acme'), detail: 'It was revoked.' })
    resolve({ waits: 1, isReached: true })
    expect(await answer).toMatchObject({ status: 401, body: { code: 'credential_invalid' } })
    expect(admitted).toBe(1)
  })

  it('checks the credential before it reads the body', async () => {
    const platform = await openTestPlatform()
    const answer = await platform.send('POST', '/v1/consumers', { body: '{"cut' })
    expect(answer.status).toBe(401)
  })
})

describe('the record of a platform call', () => {
  it('is written once, with the status that the caller received', async () => {
    const platform = await openTestPlatform()
    const token = platform.token('acme')
    await platform.send('GET', '/v1/consumers', { token })
    await platform.send('GET', '/v1/consumers/con_none', { token })
    await platform.send('POST', '/v1/consumers', { token, body: { name: 7 } })
    await platform.send('POST', '/v1/consumers', { token, headers: { 'content-type': 'text/plain' }, body: 'x' })
    await platform.send('GET', '/v1/consumers?limit=0', { token })
    await platform.send('GET', '/nowhere', { token })

    const seen = platform.calls.map(({ operationId, status, code, party }) => [
      operationId,
      status,
      code,
      party?.grant.consumer,
    ])
    expect(seen).toEqual([
      ['listConsumers', 200, 'served', 'con_acme'],
      ['getConsumer', 404, 'served', 'con_acme'],
      ['createConsumer', 400, 'payload_invalid', 'con_acme'],
      ['createConsumer', 415, 'media_type_unsupported', 'con_acme'],
      ['listConsumers', 400, 'payload_invalid', 'con_acme'],
    ])
    expect(new Set(platform.calls.map(({ requestId }) => requestId)).size).toBe(5)
  })

  it('names the person and the agent of a call, also if it is refused', async () => {
    const platform = await openTestPlatform()
    const token = platform.token('acme', ['consumers:read'])
    const caller = { ...(platform.callers.get(token) as Caller), agent: 'con_acme', person: 'usr_1' }
    platform.callers.set(token, caller)
    const expired = { code: 'credential_invalid', grant: toGrant('acme'), person: 'usr_1', detail: 'Expired.' } as const
    platform.callers.set('expired', expired)
    await platform.send('GET', '/v1/consumers', { token })
    await platform.send('GET', '/v1/consumers?limit=0', { token })
    await platform.send('GET', '/v1/users', { token })
    await platform.send('PUT', '/mcp', { token })
    await platform.send('GET', '/v1/consumers', { token: 'expired' })
    const codes = ['served', 'payload_invalid', 'operation_forbidden', 'method_not_allowed', 'credential_invalid']
    expect(platform.calls.map(({ code }) => code)).toEqual(codes)
    expect(platform.calls.map(({ party }) => party?.person)).toEqual(codes.map(() => 'usr_1'))
    expect(platform.calls.map(({ party }) => party?.agent)).toEqual([...codes.slice(1).map(() => 'con_acme'), ''])
  })

  it('is attempted once; if it cannot be written, the caller gets only a 503 problem', async () => {
    const platform = await openTestPlatform()
    const token = platform.token('acme')
    await platform.send('POST', '/v1/consumers', { token, body: { name: 'Secretive', kind: 'agent' } })
    platform.refuseRecords = new Problem('unavailable', 'The call could not be recorded.')
    for (const sending of [{ token }, {}]) {
      const answer = await platform.send('GET', '/v1/consumers', sending)
      expect(answer).toMatchObject({ status: 503, body: { code: 'unavailable' } })
      expect(answer.headers['retry-after']).toBe('1')
      expect(answer.text).not.toMatch('Secretive')
      expect(answer.headers['etag']).toBeUndefined()
    }
    expect(platform.recordings).toBe(3)
  })

  it('is replaced by a 500 without the error text if recording fails unexpectedly', async () => {
    const platform = await openTestPlatform()
    const token = platform.token('acme')
    platform.refuseRecords = new Error('disk /dev/sda1 is gone')
    const answer = await platform.send('GET', '/v1/consumers', { token })
    expect(answer).toMatchObject({ status: 500, body: { code: 'internal' } })
    expect(answer.text).not.toMatch('sda1')
  })
})
