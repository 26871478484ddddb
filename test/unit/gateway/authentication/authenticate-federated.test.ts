import { describe, expect, it } from 'vitest'
import type { Caller } from '../../../../src/boundary/plan/caller.ts'
import type { Grant } from '../../../../src/boundary/plan/grant.ts'
import { FOREIGN_API, key, next, openFederatedAuthenticator } from '../../../fixtures/federated-authenticator.ts'
import { FEDERATED_GRANT, issue, ISSUER, toPlan } from '../../../fixtures/federated-issuer.ts'
import { authority, OTHER_API } from '../../../fixtures/test-authenticator.ts'
import { API, GATEWAY_URL, NOW_MS } from '../../../fixtures/token-authority.ts'

describe('a federated caller', () => {
  it('is looked up once by tenant, issuer, client and API, and then found in the cache', async () => {
    const { call, lookedUp } = openFederatedAuthenticator()
    const token = issue(key)
    const first = await call(token)

    expect(first).toMatchObject({ grant: FEDERATED_GRANT, method: 'token', api: API, agent: '', person: '' })
    expect(call(token)).toBe(first)
    expect(lookedUp).toEqual([{ kind: 'federated', tenant: 'acme', issuer: ISSUER, clientId: 'robot', api: API }])
  })

  it('has the scopes of its token that its subscription was granted, and no others', async () => {
    const { call } = openFederatedAuthenticator()
    expect([...((await call(issue(key))) as Caller).scopes]).toEqual(['payments:read'])
  })

  it('names the person, and the agent if the consumer is one', async () => {
    const { call } = openFederatedAuthenticator(async () => ({ ...FEDERATED_GRANT, consumerKind: 'agent' }))
    const token = issue(key, { sub: 'ann', act: { sub: 'con_admin' } })
    expect(await call(token)).toMatchObject({ agent: 'con_9', person: 'ann' })
  })

  it('is refused without a grant if its client has no subscription', async () => {
    const { call, lookedUp } = openFederatedAuthenticator(async () => null)
    const refused = { code: 'subscription_required', grant: null }
    expect(await call(issue(key))).toMatchObject(refused)
    expect(await call(issue(key, { jti: 'foreign_2' }))).toMatchObject(refused)
    expect(lookedUp).toHaveLength(1)
  })

  it('is never matched to a credential of another kind, tenant or API', async () => {
    const odd: Partial<Grant>[] = [{ type: 'OAuth2' }, { type: 'ApiKey' }, { tenant: 'other' }, { api: OTHER_API }]
    for (const more of odd) {
      const { call } = openFederatedAuthenticator(async () => ({ ...FEDERATED_GRANT, ...more }))
      expect(await call(issue(key)), JSON.stringify(more)).toMatchObject({ code: 'subscription_required' })
    }
  })

  it('is a different caller at each API if its subscription is to a product', async () => {
    const { call, setProviders } = openFederatedAuthenticator(async () => ({
      ...FEDERATED_GRANT,
      api: '',
      apiProductId: 'prd_1',
    }))
    setProviders([toPlan([key], { audience: 'https://api.example' })])
    const token = issue(key, { aud: 'https://api.example' })
    const [here, there] = [await call(token), await call(token, OTHER_API)]

    expect([here, there]).toMatchObject([{ api: API }, { api: OTHER_API }])
    expect([call(token), call(token, OTHER_API)]).toEqual([here, there])
  })

  it('is refused at an API that is not its audience, even from the cache', async () => {
    const { call } = openFederatedAuthenticator()
    const token = issue(key)
    await call(token)
    expect(await call(token, OTHER_API)).toMatchObject({ code: 'credential_invalid', grant: null })
  })

  it('is refused at the APIs of another tenant', async () => {
    const { call, lookedUp } = openFederatedAuthenticator()
    const token = issue(key, { aud: FOREIGN_API })
    expect(await call(token, FOREIGN_API)).toMatchObject({ code: 'credential_invalid', grant: null })
    expect(lookedUp).toEqual([])
  })

  it('is verified with the keys of its issuer, which cannot be an address of the gateway', async () => {
    const { call, setProviders } = openFederatedAuthenticator()
    for (const issuer of [`${GATEWAY_URL}/${API}`, GATEWAY_URL, `${GATEWAY_URL}/other`]) {
      setProviders([toPlan([key], { issuer })])
      expect(await call(issue(key, { iss: issuer })), issuer).toMatchObject({ code: 'credential_invalid' })
    }
    setProviders([toPlan([], { issuer: ISSUER, keys: authority.jwks.keys })])
    expect(await call(authority.token({ iss: ISSUER }))).toMatchObject({ grant: FEDERATED_GRANT })
  })

  it('expires 60 s after its token, and the refusal is attributed to its consumer', async () => {
    const { call, forward } = openFederatedAuthenticator()
    const token = issue(key, { sub: 'ann' })
    await call(token)
    forward(659_999)
    expect(call(token)).toMatchObject({ method: 'token' })
    forward(1)

    const refused = { code: 'credential_invalid', grant: FEDERATED_GRANT, person: 'ann' }
    expect(await call(token)).toMatchObject(refused)
    expect(await call(issue(key, { sub: 'ann', jti: 'late' }))).toMatchObject(refused)
  })

  it.each(['nbf', 'iat'])('is accepted from 60 s before the %s of its token', async (name) => {
    const { call, forward } = openFederatedAuthenticator()
    const token = issue(key, { [name]: NOW_MS / 1_000 + 61 })
    expect(await call(token)).toMatchObject({ code: 'credential_invalid', grant: FEDERATED_GRANT })
    forward(1_000)
    expect(await call(token)).toMatchObject({ method: 'token' })
  })

  it('is refused once its subscription is cancelled, and with another code while it is suspended', async () => {
    const { call, applyGrant } = openFederatedAuthenticator()
    const token = issue(key)
    await call(token)
    applyGrant({ ...FEDERATED_GRANT, active: false, version: 4 })
    expect(await call(token)).toMatchObject({ code: 'subscription_required' })
    applyGrant({ ...FEDERATED_GRANT, valid: false, version: 5 })

    expect(await call(token)).toMatchObject({ code: 'credential_invalid' })
  })

  it('gets a new subscription immediately, both without an earlier one and after the last one has ended', async () => {
    let grant: Grant | null = null
    const { call, applyGrant } = openFederatedAuthenticator(async () => grant)
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
    const { call, applyGrant } = openFederatedAuthenticator(
      () => answers.shift() ?? Promise.reject(new Error('looked up too often')),
    )
    const first = call(issue(key))
    applyGrant(FEDERATED_GRANT)
    late.resolve(null)

    expect(await first).toMatchObject({ code: 'subscription_required' })
    expect(await call(issue(key))).toMatchObject({ grant: FEDERATED_GRANT })
  })

  it('is looked up again when a provider of its tenant changes, even if the last look-up found no grant', async () => {
    const { call, lookedUp, setProviders } = openFederatedAuthenticator(async () => null)
    await call(issue(key))
    setProviders([toPlan([key, next])])
    await call(issue(key))
    await call(issue(key))
    expect(lookedUp).toHaveLength(2)
  })

  it('is looked up again when an API of its tenant joins or leaves a product, but not for another tenant', async () => {
    const { call, lookedUp, membershipChanged } = openFederatedAuthenticator()
    const token = issue(key)
    await call(token)
    membershipChanged('other')
    await call(token)
    expect(lookedUp).toHaveLength(1)
    membershipChanged('acme')
    await call(token)
    expect(lookedUp).toHaveLength(2)
  })
})
