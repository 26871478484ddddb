import { describe, expect, it } from 'vitest'
import type { Caller } from '../../../../src/plan/caller.ts'
import type { CredentialName, Grant } from '../../../../src/plan/grant.ts'
import { createAuthenticator, type AuthenticatorOptions } from '../../../../src/gateway/authentication/authenticate.ts'
import { API, createAuthority, GATEWAY_URL, NOW_MS } from '../../../fixtures/token-authority.ts'
import { createIssuerKey, FEDERATED_GRANT, issue, ISSUER, toPlan } from '../../../fixtures/federated-issuer.ts'

const OTHER_API = 'orders-v1'
const FOREIGN_API = 'foreign-v1'
const authority = createAuthority()
const key = createIssuerKey('k1')
const next = createIssuerKey('k2')

function start(
  find: (name: CredentialName) => Promise<Grant | null> = async () => FEDERATED_GRANT,
  options: Partial<AuthenticatorOptions> = {},
) {
  let nowMs = NOW_MS
  const asked: CredentialName[] = []
  const counted: string[] = []
  const refetched: string[] = []
  const authenticator = createAuthenticator({
    gatewayUrl: GATEWAY_URL,
    keyedHash: (text) => `hash of ${text}`,
    defer: (task) => task(),
    resolve(name) {
      asked.push(name)
      return find(name)
    },
    tenantOf: (api) => (api === FOREIGN_API ? 'other' : 'acme'),
    refetch: async (provider) => {
      refetched.push(provider)
      return false
    },
    clock: { nowMs: () => nowMs },
    count: (reason) => counted.push(reason),
    ...options,
  })
  authenticator.setKeys(authority.jwks)
  authenticator.setProviders([toPlan([key])])
  const call = (token: string, api = API) => authenticator.authenticate(`Bearer ${token}`, undefined, api)
  return { ...authenticator, call, asked, counted, refetched, forward: (ms: number) => (nowMs += ms) }
}

describe('a federated caller', () => {
  it('is looked up once by tenant, issuer, client and API, and then found in the cache', async () => {
    const { call, asked } = start()
    const token = issue(key)
    const first = await call(token)

    expect(first).toMatchObject({ grant: FEDERATED_GRANT, method: 'token', api: API, agent: '', person: '' })
    expect(call(token)).toBe(first)
    expect(asked).toEqual([{ kind: 'federated', tenant: 'acme', issuer: ISSUER, clientId: 'robot', api: API }])
  })

  it('has the scopes of its token that its subscription was granted, and no others', async () => {
    const { call } = start()
    expect([...((await call(issue(key))) as Caller).scopes]).toEqual(['payments:read'])
  })

  it('names the person, and the agent if the consumer is one', async () => {
    const { call } = start(async () => ({ ...FEDERATED_GRANT, consumerKind: 'agent' }))
    const token = issue(key, { sub: 'ann', act: { sub: 'con_admin' } })
    expect(await call(token)).toMatchObject({ agent: 'con_9', person: 'ann' })
  })

  it('is refused without a grant if its client has no subscription', async () => {
    const { call, asked } = start(async () => null)
    const refused = { code: 'subscription_required', grant: null }
    expect(await call(issue(key))).toMatchObject(refused)
    expect(await call(issue(key, { jti: 'foreign_2' }))).toMatchObject(refused)
    expect(asked).toHaveLength(1)
  })

  it('is never matched to a credential of another kind, tenant or API', async () => {
    const odd: Partial<Grant>[] = [{ type: 'OAuth2' }, { type: 'ApiKey' }, { tenant: 'other' }, { api: OTHER_API }]
    for (const more of odd) {
      const { call } = start(async () => ({ ...FEDERATED_GRANT, ...more }))
      expect(await call(issue(key)), JSON.stringify(more)).toMatchObject({ code: 'subscription_required' })
    }
  })

  it('is a different caller at each API if its subscription is to a product', async () => {
    const { call, setProviders } = start(async () => ({ ...FEDERATED_GRANT, api: '', apiProductId: 'prd_1' }))
    setProviders([toPlan([key], { audience: 'https://api.example' })])
    const token = issue(key, { aud: 'https://api.example' })
    const [here, there] = [await call(token), await call(token, OTHER_API)]

    expect([here, there]).toMatchObject([{ api: API }, { api: OTHER_API }])
    expect([call(token), call(token, OTHER_API)]).toEqual([here, there])
  })

  it('is refused at an API that is not its audience, also from the cache', async () => {
    const { call } = start()
    const token = issue(key)
    await call(token)
    expect(await call(token, OTHER_API)).toMatchObject({ code: 'credential_invalid', grant: null })
  })

  it('is refused at the APIs of another tenant', async () => {
    const { call, asked } = start()
    const token = issue(key, { aud: FOREIGN_API })
    expect(await call(token, FOREIGN_API)).toMatchObject({ code: 'credential_invalid', grant: null })
    expect(asked).toEqual([])
  })

  it('is selected by the issuer alone, and no provider can issue tokens under the address of the gateway', async () => {
    const { call, setProviders } = start()
    for (const issuer of [`${GATEWAY_URL}/${API}`, GATEWAY_URL, `${GATEWAY_URL}/other`]) {
      setProviders([toPlan([key], { issuer })])
      expect(await call(issue(key, { iss: issuer })), issuer).toMatchObject({ code: 'credential_invalid' })
    }
    setProviders([toPlan([], { issuer: ISSUER, keys: authority.jwks.keys })])
    expect(await call(authority.token({ iss: ISSUER }))).toMatchObject({ grant: FEDERATED_GRANT })
  })

  it('expires 60 s after its token, and the refusal is attributed to its consumer', async () => {
    const { call, forward } = start()
    const token = issue(key, { sub: 'ann' })
    await call(token)
    forward(659_999)
    expect(call(token)).toMatchObject({ method: 'token' })
    forward(1)

    const refused = { code: 'credential_invalid', grant: FEDERATED_GRANT, person: 'ann' }
    expect(await call(token)).toMatchObject(refused)
    expect(await call(issue(key, { sub: 'ann', jti: 'late' }))).toMatchObject(refused)
  })

  it.each(['nbf', 'iat'])('begins at most 60 s before %s', async (name) => {
    const { call, forward } = start()
    const token = issue(key, { [name]: NOW_MS / 1_000 + 61 })
    expect(await call(token)).toMatchObject({ code: 'credential_invalid', grant: FEDERATED_GRANT })
    forward(1_000)
    expect(await call(token)).toMatchObject({ method: 'token' })
  })

  it('is refused once its subscription is cancelled, and with another code while it is suspended', async () => {
    const { call, applyGrant } = start()
    const token = issue(key)
    await call(token)
    applyGrant({ ...FEDERATED_GRANT, active: false, version: 4 })
    expect(await call(token)).toMatchObject({ code: 'subscription_required' })
    applyGrant({ ...FEDERATED_GRANT, valid: false, version: 5 })

    expect(await call(token)).toMatchObject({ code: 'credential_invalid' })
  })

  it('gets a new subscription immediately, both without an earlier one and after the last one has ended', async () => {
    let grant: Grant | null = null
    const { call, applyGrant } = start(async () => grant)
    const token = issue(key)
    expect(await call(token)).toMatchObject({ code: 'subscription_required', grant: null })
    grant = FEDERATED_GRANT
    applyGrant(grant)
    expect(await call(token)).toMatchObject({ grant })

    grant = { ...FEDERATED_GRANT, credential: 'crd_10', subscription: 'sub_10' }
    applyGrant({ ...FEDERATED_GRANT, valid: false, version: 4 })
    applyGrant(grant)
    expect(await call(token)).toMatchObject({ method: 'token', grant })
  })

  it('is looked up again if a subscription is created during the look-up', async () => {
    const late = Promise.withResolvers<Grant | null>()
    const answers = [late.promise, Promise.resolve(FEDERATED_GRANT)]
    const { call, applyGrant } = start(() => answers.shift() ?? Promise.reject(new Error('asked too often')))
    const first = call(issue(key))
    applyGrant(FEDERATED_GRANT)
    late.resolve(null)

    expect(await first).toMatchObject({ code: 'subscription_required' })
    expect(await call(issue(key))).toMatchObject({ grant: FEDERATED_GRANT })
  })

  it('is looked up again when a provider of its tenant changes, also if it was unknown', async () => {
    const { call, asked, setProviders } = start(async () => null)
    await call(issue(key))
    setProviders([toPlan([key, next])])
    await call(issue(key))
    await call(issue(key))
    expect(asked).toHaveLength(2)
  })

  it('is looked up again when an API of its tenant joins or leaves a product, but not for another tenant', async () => {
    const { call, asked, membershipChanged } = start()
    const token = issue(key)
    await call(token)
    membershipChanged('other')
    await call(token)
    expect(asked).toHaveLength(1)
    membershipChanged('acme')
    await call(token)
    expect(asked).toHaveLength(2)
  })
})

describe('the keys of a federated provider', () => {
  it('invalidate the cached tokens that they signed when they are removed', async () => {
    const { call, setProviders } = start()
    const token = issue(key)
    expect(await call(token)).toMatchObject({ method: 'token' })
    setProviders([toPlan([next])])
    expect(await call(token)).toMatchObject({ code: 'credential_invalid', grant: null })
  })

  it('change without an effect on the callers of another provider', async () => {
    const { call, setProviders, asked } = start()
    const token = issue(key)
    const caller = await call(token)
    setProviders([toPlan([key]), toPlan([next], { id: 'idp_2', tenant: 'other' })])
    expect(call(token)).toBe(caller)
    setProviders([toPlan([key]), toPlan([], { id: 'idp_2', tenant: 'other' })])
    expect(call(token)).toBe(caller)
    expect(asked).toHaveLength(1)
  })

  it('do not admit a caller if they are removed during its look-up', async () => {
    const late = Promise.withResolvers<Grant>()
    const { call, setProviders } = start(() => late.promise)
    const token = issue(key)
    const waiting = call(token)
    setProviders([toPlan([next])])
    late.resolve(FEDERATED_GRANT)

    expect(await waiting).toMatchObject({ code: 'credential_invalid', grant: null })
    expect(await call(token)).toMatchObject({ code: 'credential_invalid', grant: null })
  })

  it('do not admit a caller of this gateway if its key is removed during the look-up', async () => {
    const late = Promise.withResolvers<Grant>()
    const { call, setKeys } = start(() => late.promise)
    const token = authority.token()
    const waiting = call(token)
    setKeys({ keys: authority.jwks.keys.slice(1) })
    late.resolve(FEDERATED_GRANT)

    expect(await waiting).toMatchObject({ code: 'credential_invalid', grant: null })
    expect(await call(token)).toMatchObject({ code: 'credential_invalid', grant: null })
  })

  it('are fetched once for all tokens that wait for a new key', async () => {
    const asked: string[] = []
    const late = Promise.withResolvers<boolean>()
    const { call, setProviders } = start(undefined, {
      refetch(provider) {
        asked.push(provider)
        return late.promise
      },
    })
    const waiting = Array.from({ length: 50 }, (_, index) => call(issue(next, { jti: `foreign_${index}` })))
    setProviders([toPlan([key, next])])
    late.resolve(true)

    for (const result of await Promise.all(waiting)) expect(result).toMatchObject({ grant: FEDERATED_GRANT })
    expect(asked).toEqual(['idp_1'])
  })

  it('are not fetched again for a while if the last fetch had no new keys', async () => {
    const { call, refetched, forward } = start()
    for (let index = 0; index < 20; index++) {
      expect(await call(issue(next, { jti: `foreign_${index}` }))).toMatchObject({ code: 'credential_invalid' })
    }
    expect(refetched).toHaveLength(1)
    forward(1_000)
    await call(issue(next))
    expect(refetched).toHaveLength(2)
  })

  it('are fetched once per verification, also if the response reports a change', async () => {
    const asked: string[] = []
    const { call } = start(undefined, {
      refetch: async (provider) => {
        asked.push(provider)
        return true
      },
    })
    expect(await call(issue(next))).toMatchObject({ code: 'credential_invalid', grant: null })
    expect(asked).toHaveLength(1)
  })

  it('are reported as unavailable if they cannot be fetched or if too many tokens are waiting for them', async () => {
    const failing = start(undefined, { refetch: () => Promise.reject(new Error('no answer')) })
    expect(await failing.call(issue(next))).toMatchObject({ code: 'unavailable', grant: null })
    expect(failing.counted).toEqual(['refetch_failed'])

    const late = Promise.withResolvers<boolean>()
    const { call, counted } = start(undefined, { refetch: () => late.promise })
    const token = issue(next)
    const waiting = Array.from({ length: 1_001 }, () => call(token))
    expect(await waiting.at(-1)).toMatchObject({ code: 'unavailable' })
    expect(counted).toEqual(['refetch_failed'])
    late.resolve(false)
    expect(await waiting[0]).toMatchObject({ code: 'credential_invalid' })
  })

  it('are not fetched for a forged signature of a known key', async () => {
    const { call, refetched } = start()
    expect(await call(issue(key, {}, {}, () => Buffer.alloc(64)))).toMatchObject({ code: 'credential_invalid' })
    expect(refetched).toEqual([])
  })
})
