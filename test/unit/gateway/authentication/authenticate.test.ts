import { describe, expect, it } from 'vitest'
import type { Caller } from '../../../../src/boundary/plan/caller.ts'
import type { Grant } from '../../../../src/boundary/plan/grant.ts'
import { API, GRANT, NOW_MS } from '../../../fixtures/token-authority.ts'
import {
  authority,
  bearer,
  KEY,
  KEY_GRANT,
  openTestAuthenticator,
  OTHER_API,
} from '../../../fixtures/test-authenticator.ts'

describe('a bearer token', () => {
  it('is verified once and then found in the cache, without a promise', async () => {
    const { authenticate, lookedUp } = openTestAuthenticator()
    const token = bearer()
    const first = await authenticate(token, undefined, API)

    expect(first).toMatchObject({ grant: GRANT, method: 'token', api: API, agent: '', person: '' })
    expect([...(first as Caller).scopes]).toEqual(['payments:read', 'payments:write'])
    expect(authenticate(token, undefined, API)).toBe(first)
    expect(lookedUp).toEqual([{ kind: 'client', clientId: 'cli_1' }])
  })

  it('may be signed with RS256', async () => {
    const { authenticate } = openTestAuthenticator()
    const token = `Bearer ${authority.token({}, { alg: 'RS256', kid: 'rsa-1' })}`

    expect(await authenticate(token, undefined, API)).toMatchObject({ method: 'token' })
  })

  it('is accepted with the scheme Bearer in any case, and with no other scheme', async () => {
    const { authenticate } = openTestAuthenticator()
    const token = authority.token()

    expect(await authenticate(`bEARER  ${token}`, undefined, API)).toMatchObject({ method: 'token' })
    for (const header of [token, `Basic ${token}`, `Bearer ${token} ${token}`, 'Bearer', 'Bearer ', '']) {
      expect(await authenticate(header, undefined, API), header.slice(0, 20)).toMatchObject({
        code: 'credential_invalid',
        grant: null,
      })
    }
  })

  it('is refused when it has expired, and the refusal is attributed to its consumer', async () => {
    const { authenticate, forward } = openTestAuthenticator()
    const token = bearer()
    await authenticate(token, undefined, API)
    forward(3_600_000)

    expect(authenticate(token, undefined, API)).toMatchObject({ code: 'credential_invalid', grant: GRANT })
  })

  it('is attributed to its consumer also if it is first seen after its expiry', async () => {
    const { authenticate } = openTestAuthenticator()
    const token = bearer({ nbf: NOW_MS / 1_000 - 7_200, exp: NOW_MS / 1_000 - 3_600 })

    expect(await authenticate(token, undefined, API)).toMatchObject({ code: 'credential_invalid', grant: GRANT })
  })

  it('is accepted by a clock that is behind that of the node that issued it', async () => {
    const { authenticate, forward } = openTestAuthenticator()
    const token = bearer({ nbf: NOW_MS / 1_000 + 601 })

    expect(await authenticate(token, undefined, API)).toMatchObject({ code: 'credential_invalid', grant: GRANT })
    forward(1_000)
    expect(await authenticate(token, undefined, API)).toMatchObject({ method: 'token' })
  })

  it('is refused at another API, also from the cache', async () => {
    const { authenticate } = openTestAuthenticator()
    const token = bearer()
    await authenticate(token, undefined, API)

    expect(authenticate(token, undefined, OTHER_API)).toMatchObject({ code: 'credential_invalid', grant: GRANT })
    expect(authenticate(token, undefined, API)).toMatchObject({ method: 'token' })
  })

  it('loses a scope that is removed from its credential', async () => {
    const { authenticate, applyGrant } = openTestAuthenticator()
    const token = bearer()
    await authenticate(token, undefined, API)
    applyGrant({ ...GRANT, scopes: ['payments:read'], version: 4 })

    expect([...((await authenticate(token, undefined, API)) as Caller).scopes]).toEqual(['payments:read'])
  })

  it('names the consumer as the agent if the consumer is one', async () => {
    const { authenticate } = openTestAuthenticator(async () => ({ ...GRANT, consumerKind: 'agent' }))

    expect(await authenticate(bearer(), undefined, API)).toMatchObject({ agent: 'con_1', person: '' })
  })

  it('names the agent in act and the person that it acts for', async () => {
    const { authenticate } = openTestAuthenticator(async () => ({ ...GRANT, consumerKind: 'agent' }))
    const token = bearer({ sub: 'usr_1', act: { sub: 'con_1' } })

    expect(await authenticate(token, undefined, API)).toMatchObject({ agent: 'con_1', person: 'usr_1' })
  })

  it('is verified again only once its key is no longer published', async () => {
    const { authenticate, setKeys } = openTestAuthenticator()
    const token = bearer()
    const caller = await authenticate(token, undefined, API)
    setKeys({ keys: [...authority.jwks.keys, { ...authority.jwks.keys[0], kid: 'ec-2' }] })
    expect(authenticate(token, undefined, API)).toBe(caller)

    setKeys({ keys: authority.jwks.keys.slice(1) })
    expect(await authenticate(token, undefined, API)).toMatchObject({ code: 'credential_invalid', grant: null })
  })
})

describe('an API key', () => {
  it('is looked up once by its hash, and then found in the cache', async () => {
    const { authenticate, lookedUp } = openTestAuthenticator()
    const first = await authenticate(undefined, KEY, API)

    expect(first).toMatchObject({ grant: KEY_GRANT, method: 'key', api: API, expiresAtMs: Infinity })
    expect(authenticate(undefined, KEY, API)).toBe(first)
    expect(lookedUp).toEqual([{ kind: 'key', hash: `hash of ${KEY}` }])
  })

  it('is refused without a look-up if its checksum is wrong', () => {
    const { authenticate, lookedUp } = openTestAuthenticator()
    const mistyped = KEY.replace(/.$/, (last) => (last === 'a' ? 'b' : 'a'))

    expect(authenticate(undefined, mistyped, API)).toMatchObject({ code: 'credential_invalid', grant: null })
    expect(lookedUp).toEqual([])
  })

  it('is looked up once, not at each call, if it is unknown', async () => {
    const { authenticate, lookedUp } = openTestAuthenticator(async () => null)
    await authenticate(undefined, KEY, API)

    expect(authenticate(undefined, KEY, API)).toMatchObject({ code: 'credential_invalid', grant: null })
    expect(lookedUp).toHaveLength(1)
  })

  it('is refused at the API of another subscription, before and after it is cached', async () => {
    const { authenticate } = openTestAuthenticator()

    expect(await authenticate(undefined, KEY, OTHER_API)).toMatchObject({ code: 'subscription_required' })
    expect(await authenticate(undefined, KEY, API)).toMatchObject({ method: 'key' })
    expect(await authenticate(undefined, KEY, OTHER_API)).toMatchObject({
      code: 'subscription_required',
      grant: KEY_GRANT,
    })
  })

  it('is a separate caller at each API of its product', async () => {
    const { authenticate } = openTestAuthenticator(async () => ({ ...KEY_GRANT, api: '', apiProductId: 'prd_1' }))
    const [here, there] = [await authenticate(undefined, KEY, API), await authenticate(undefined, KEY, OTHER_API)]

    expect([here, there]).toMatchObject([{ api: API }, { api: OTHER_API }])
    expect(authenticate(undefined, KEY, API)).toBe(here)
    expect(authenticate(undefined, KEY, OTHER_API)).toBe(there)
  })

  it('is not accepted in Authorization, also if it is cached', async () => {
    const { authenticate } = openTestAuthenticator()
    await authenticate(undefined, KEY, API)

    for (const header of [KEY, `${API} ${KEY}`, `Bearer ${KEY}`]) {
      expect(await authenticate(header, undefined, API)).toMatchObject({ code: 'credential_invalid' })
    }
  })

  it('is refused when its credential has expired', async () => {
    const { authenticate, forward } = openTestAuthenticator(async () => ({ ...KEY_GRANT, expiresAtMs: NOW_MS + 1_000 }))
    expect(await authenticate(undefined, KEY, API)).toMatchObject({ method: 'key' })
    forward(1_000)

    expect(authenticate(undefined, KEY, API)).toMatchObject({ code: 'credential_invalid' })
  })
})

describe('a call with a token and a key', () => {
  it('needs both to be valid, and the token names the caller', async () => {
    const { authenticate } = openTestAuthenticator()
    const token = bearer()

    expect(await authenticate(token, KEY, API)).toMatchObject({ method: 'token', grant: GRANT })
    expect(authenticate(token, KEY, API)).toMatchObject({ method: 'token', grant: GRANT })
    expect(await authenticate(token, 'tg_no', API)).toMatchObject({ code: 'credential_invalid', grant: GRANT })
    expect(await authenticate('Bearer no', 'tg_no', API)).toMatchObject({ code: 'credential_invalid', grant: null })
    expect(await authenticate('Bearer no', KEY, API)).toMatchObject({ code: 'credential_invalid' })
  })

  it('has one caller object per pair, and another one without the key', async () => {
    const { authenticate } = openTestAuthenticator()
    const token = bearer()
    const both = await authenticate(token, KEY, API)

    expect(both).toMatchObject({ method: 'token', key: { method: 'key', grant: { credential: 'crd_2' } } })
    expect(await authenticate(token, KEY, API)).toBe(both)
    expect(await authenticate(token, undefined, API)).not.toHaveProperty('key')
  })

  it('is refused if the key is revoked while the token is looked up', async () => {
    const late = Promise.withResolvers<Grant>()
    const { authenticate, applyGrant } = openTestAuthenticator(async ({ kind }) =>
      kind === 'key' ? KEY_GRANT : late.promise,
    )
    await authenticate(undefined, KEY, API)
    const answer = authenticate(bearer(), KEY, API)
    applyGrant({ ...KEY_GRANT, valid: false, version: 4 })
    late.resolve(GRANT)

    expect(await answer).toMatchObject({ code: 'credential_invalid', grant: { credential: GRANT.credential } })
  })

  it('is refused as missing credentials if it has neither', () => {
    expect(openTestAuthenticator().authenticate(undefined, undefined, API)).toMatchObject({
      code: 'credential_missing',
      grant: null,
    })
  })
})

describe('the use of a credential', () => {
  it('is noted with that of the key beside a token', async () => {
    const used: string[] = []
    const { authenticate, noteUse } = openTestAuthenticator(undefined, { onUse: (id) => void used.push(id) })
    const token = bearer()
    noteUse((await authenticate(token, undefined, API)) as Caller)
    noteUse((await authenticate(undefined, KEY, API)) as Caller)
    noteUse((await authenticate(token, KEY, API)) as Caller)
    expect(used).toEqual(['crd_1', 'crd_2', 'crd_1', 'crd_2'])
  })

  it('is noted for no credential if people use a shared client', async () => {
    const used: string[] = []
    const shared = { ...GRANT, type: 'Shared', credential: GRANT.subscription } as const
    const options = { onUse: (credential: string) => void used.push(credential) }
    const { authenticate, noteUse } = openTestAuthenticator(async () => shared, options)
    noteUse((await authenticate(bearer(), undefined, API)) as Caller)
    expect(used).toEqual([])
  })
})
