import { describe, expect, it } from 'vitest'
import type { Grant } from '../../../../src/boundary/plan/grant.ts'
import { key, next, openFederatedAuthenticator } from '../../../fixtures/federated-authenticator.ts'
import { FEDERATED_GRANT, issue, toPlan } from '../../../fixtures/federated-issuer.ts'
import { authority } from '../../../fixtures/test-authenticator.ts'

describe('the keys of a federated provider', () => {
  it('invalidate the cached tokens that they signed when they are removed', async () => {
    const { call, setProviders } = openFederatedAuthenticator()
    const token = issue(key)
    expect(await call(token)).toMatchObject({ method: 'token' })
    setProviders([toPlan([next])])
    expect(await call(token)).toMatchObject({ code: 'credential_invalid', grant: null })
  })

  it('can change without an effect on the callers of another provider', async () => {
    const { call, setProviders, lookedUp } = openFederatedAuthenticator()
    const token = issue(key)
    const caller = await call(token)
    setProviders([toPlan([key]), toPlan([next], { id: 'idp_2', tenant: 'other' })])
    expect(call(token)).toBe(caller)
    setProviders([toPlan([key]), toPlan([], { id: 'idp_2', tenant: 'other' })])
    expect(call(token)).toBe(caller)
    expect(lookedUp).toHaveLength(1)
  })

  it('do not admit a caller if they are removed during its look-up', async () => {
    const late = Promise.withResolvers<Grant>()
    const { call, setProviders } = openFederatedAuthenticator(() => late.promise)
    const token = issue(key)
    const waiting = call(token)
    setProviders([toPlan([next])])
    late.resolve(FEDERATED_GRANT)

    expect(await waiting).toMatchObject({ code: 'credential_invalid', grant: null })
    expect(await call(token)).toMatchObject({ code: 'credential_invalid', grant: null })
  })

  it('are fetched once for all tokens that wait for a new key', async () => {
    const refetched: string[] = []
    const late = Promise.withResolvers<boolean>()
    const { call, setProviders } = openFederatedAuthenticator(undefined, {
      refetch(provider) {
        refetched.push(provider)
        return late.promise
      },
    })
    const waiting = Array.from({ length: 50 }, (_, index) => call(issue(next, { jti: `foreign_${index}` })))
    setProviders([toPlan([key, next])])
    late.resolve(true)

    for (const result of await Promise.all(waiting)) expect(result).toMatchObject({ grant: FEDERATED_GRANT })
    expect(refetched).toEqual(['idp_1'])
  })

  it('are not fetched again for a while if the last fetch had no new keys', async () => {
    const { call, refetched, forward } = openFederatedAuthenticator()
    for (let index = 0; index < 20; index++) {
      expect(await call(issue(next, { jti: `foreign_${index}` }))).toMatchObject({ code: 'credential_invalid' })
    }
    expect(refetched).toHaveLength(1)
    forward(1_000)
    await call(issue(next))
    expect(refetched).toHaveLength(2)
  })

  it('are fetched once per verification, even if the fetch reports new keys', async () => {
    const refetched: string[] = []
    const { call } = openFederatedAuthenticator(undefined, {
      refetch: async (provider) => {
        refetched.push(provider)
        return true
      },
    })
    expect(await call(issue(next))).toMatchObject({ code: 'credential_invalid', grant: null })
    expect(refetched).toHaveLength(1)
  })

  it('are reported as unavailable if they cannot be fetched or if too many tokens are waiting for them', async () => {
    const failing = openFederatedAuthenticator(undefined, { refetch: () => Promise.reject(new Error('no answer')) })
    expect(await failing.call(issue(next))).toMatchObject({ code: 'unavailable', grant: null })
    expect(failing.counted).toEqual(['refetch_failed'])

    const late = Promise.withResolvers<boolean>()
    const { call, counted } = openFederatedAuthenticator(undefined, { refetch: () => late.promise })
    const token = issue(next)
    const waiting = Array.from({ length: 1_001 }, () => call(token))
    expect(await waiting.at(-1)).toMatchObject({ code: 'unavailable' })
    expect(counted).toEqual(['refetch_failed'])
    late.resolve(false)
    expect(await waiting[0]).toMatchObject({ code: 'credential_invalid' })
  })

  it('are not fetched for a forged signature of a known key', async () => {
    const { call, refetched } = openFederatedAuthenticator()
    expect(await call(issue(key, {}, {}, () => Buffer.alloc(64)))).toMatchObject({ code: 'credential_invalid' })
    expect(refetched).toEqual([])
  })
})

describe('the keys of the gateway', () => {
  it('do not admit a caller if they are removed during its look-up', async () => {
    const late = Promise.withResolvers<Grant>()
    const { call, setKeys } = openFederatedAuthenticator(() => late.promise)
    const token = authority.token()
    const waiting = call(token)
    setKeys({ keys: authority.jwks.keys.slice(1) })
    late.resolve(FEDERATED_GRANT)

    expect(await waiting).toMatchObject({ code: 'credential_invalid', grant: null })
    expect(await call(token)).toMatchObject({ code: 'credential_invalid', grant: null })
  })
})
