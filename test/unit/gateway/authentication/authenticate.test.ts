import { describe, expect, it } from 'vitest'
import type { Caller } from '../../../../src/plan/caller.ts'
import type { CredentialName, Grant } from '../../../../src/plan/grant.ts'
import { createApiKey } from '../../../../src/plan/credential-format.ts'
import { createAuthenticator, type AuthenticatorOptions } from '../../../../src/gateway/authentication/authenticate.ts'
import { API, createAuthority, GATEWAY_URL, GRANT, NOW_MS } from '../../../fixtures/token-authority.ts'

const OTHER_API = 'orders-v1'
const KEY = createApiKey((size) => Buffer.alloc(size, 7))
const KEY_GRANT: Grant = { ...GRANT, credential: 'crd_2', type: 'ApiKey' }
const authority = createAuthority()

/** An authenticator with a fake clock; `asked` lists its look-ups. */
function start(
  find: (name: CredentialName) => Promise<Grant | null> = byKind,
  options?: Partial<AuthenticatorOptions>,
) {
  let nowMs = NOW_MS
  const asked: CredentialName[] = []
  const counted: string[] = []
  const authenticator = createAuthenticator({
    gatewayUrl: GATEWAY_URL,
    keyedHash: (text) => `hash of ${text}`,
    defer: (task) => task(),
    resolve(name) {
      asked.push(name)
      return find(name)
    },
    clock: { nowMs: () => nowMs },
    tenantOf: () => 'acme',
    refetch: async () => false,
    count: (reason) => counted.push(reason),
    ...options,
  })
  authenticator.setKeys(authority.jwks)
  return { ...authenticator, asked, counted, forward: (ms: number) => (nowMs += ms) }
}

const byKind = async ({ kind }: CredentialName) => (kind === 'client' ? GRANT : KEY_GRANT)
const bearer = (claims: object = {}) => `Bearer ${authority.token(claims)}`

describe('a bearer token', () => {
  it('is verified once and then found in the cache, without a promise', async () => {
    const { authenticate, asked } = start()
    const token = bearer()
    const first = await authenticate(token, undefined, API)

    expect(first).toMatchObject({ grant: GRANT, method: 'token', api: API, agent: '', person: '' })
    expect([...(first as Caller).scopes]).toEqual(['payments:read', 'payments:write'])
    expect(authenticate(token, undefined, API)).toBe(first)
    expect(asked).toEqual([{ kind: 'client', clientId: 'cli_1' }])
  })

  it('may be signed with RS256', async () => {
    const { authenticate } = start()
    const token = `Bearer ${authority.token({}, { alg: 'RS256', kid: 'rsa-1' })}`

    expect(await authenticate(token, undefined, API)).toMatchObject({ method: 'token' })
  })

  it('is accepted with the scheme Bearer in any case, and with no other scheme', async () => {
    const { authenticate } = start()
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
    const { authenticate, forward } = start()
    const token = bearer()
    await authenticate(token, undefined, API)
    forward(3_600_000)

    expect(authenticate(token, undefined, API)).toMatchObject({ code: 'credential_invalid', grant: GRANT })
  })

  it('is attributed to its consumer also if it is first seen after its expiry', async () => {
    const { authenticate } = start()
    const token = bearer({ nbf: NOW_MS / 1_000 - 7_200, exp: NOW_MS / 1_000 - 3_600 })

    expect(await authenticate(token, undefined, API)).toMatchObject({ code: 'credential_invalid', grant: GRANT })
  })

  it('is refused at another API, also from the cache', async () => {
    const { authenticate } = start()
    const token = bearer()
    await authenticate(token, undefined, API)

    expect(authenticate(token, undefined, OTHER_API)).toMatchObject({ code: 'credential_invalid', grant: GRANT })
    expect(authenticate(token, undefined, API)).toMatchObject({ method: 'token' })
  })

  it('loses a scope that is removed from its credential', async () => {
    const { authenticate, applyGrant } = start()
    const token = bearer()
    await authenticate(token, undefined, API)
    applyGrant({ ...GRANT, scopes: ['payments:read'], version: 4 })

    expect([...((await authenticate(token, undefined, API)) as Caller).scopes]).toEqual(['payments:read'])
  })

  it('names the consumer as the agent if the consumer is one', async () => {
    const { authenticate } = start(async () => ({ ...GRANT, consumerKind: 'agent' }))

    expect(await authenticate(bearer(), undefined, API)).toMatchObject({ agent: 'con_1', person: '' })
  })

  it('names the agent in act and the person that it acts for', async () => {
    const { authenticate } = start(async () => ({ ...GRANT, consumerKind: 'agent' }))
    const token = bearer({ sub: 'usr_1', act: { sub: 'con_1' } })

    expect(await authenticate(token, undefined, API)).toMatchObject({ agent: 'con_1', person: 'usr_1' })
  })

  it('is verified again only once its key is no longer published', async () => {
    const { authenticate, setKeys } = start()
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
    const { authenticate, asked } = start()
    const first = await authenticate(undefined, KEY, API)

    expect(first).toMatchObject({ grant: KEY_GRANT, method: 'key', api: API, expiresAtMs: Infinity })
    expect(authenticate(undefined, KEY, API)).toBe(first)
    expect(asked).toEqual([{ kind: 'key', hash: `hash of ${KEY}` }])
  })

  it('is refused without a look-up if its checksum is wrong', () => {
    const { authenticate, asked } = start()
    const mistyped = KEY.replace(/.$/, (last) => (last === 'a' ? 'b' : 'a'))

    expect(authenticate(undefined, mistyped, API)).toMatchObject({ code: 'credential_invalid', grant: null })
    expect(asked).toEqual([])
  })

  it('is looked up once, not at each call, if it is unknown', async () => {
    const { authenticate, asked } = start(async () => null)
    await authenticate(undefined, KEY, API)

    expect(authenticate(undefined, KEY, API)).toMatchObject({ code: 'credential_invalid', grant: null })
    expect(asked).toHaveLength(1)
  })

  it('is refused at the API of another subscription, before and after it is cached', async () => {
    const { authenticate } = start()

    expect(await authenticate(undefined, KEY, OTHER_API)).toMatchObject({ code: 'subscription_required' })
    expect(await authenticate(undefined, KEY, API)).toMatchObject({ method: 'key' })
    expect(await authenticate(undefined, KEY, OTHER_API)).toMatchObject({
      code: 'subscription_required',
      grant: KEY_GRANT,
    })
  })

  it('is a separate caller at each API of its product', async () => {
    const { authenticate } = start(async () => ({ ...KEY_GRANT, api: '', apiProductId: 'prd_1' }))
    const [here, there] = [await authenticate(undefined, KEY, API), await authenticate(undefined, KEY, OTHER_API)]

    expect([here, there]).toMatchObject([{ api: API }, { api: OTHER_API }])
    expect(authenticate(undefined, KEY, API)).toBe(here)
    expect(authenticate(undefined, KEY, OTHER_API)).toBe(there)
  })

  it('is not accepted in Authorization, also if it is cached', async () => {
    const { authenticate } = start()
    await authenticate(undefined, KEY, API)

    for (const header of [KEY, `${API} ${KEY}`, `Bearer ${KEY}`]) {
      expect(await authenticate(header, undefined, API)).toMatchObject({ code: 'credential_invalid' })
    }
  })

  it('is refused when its credential has expired', async () => {
    const { authenticate, forward } = start(async () => ({ ...KEY_GRANT, expiresAtMs: NOW_MS + 1_000 }))
    expect(await authenticate(undefined, KEY, API)).toMatchObject({ method: 'key' })
    forward(1_000)

    expect(authenticate(undefined, KEY, API)).toMatchObject({ code: 'credential_invalid' })
  })
})

describe('a call with a token and a key', () => {
  it('needs both to be valid, and the token names the caller', async () => {
    const { authenticate } = start()
    const token = bearer()

    expect(await authenticate(token, KEY, API)).toMatchObject({ method: 'token', grant: GRANT })
    expect(authenticate(token, KEY, API)).toMatchObject({ method: 'token', grant: GRANT })
    expect(await authenticate(token, 'tg_no', API)).toMatchObject({ code: 'credential_invalid' })
    expect(await authenticate('Bearer no', KEY, API)).toMatchObject({ code: 'credential_invalid' })
  })

  it('has one caller object per pair, and another one without the key', async () => {
    const { authenticate } = start()
    const token = bearer()
    const both = await authenticate(token, KEY, API)

    expect(both).toMatchObject({ method: 'token', key: { method: 'key', grant: { credential: 'crd_2' } } })
    expect(await authenticate(token, KEY, API)).toBe(both)
    expect(await authenticate(token, undefined, API)).not.toHaveProperty('key')
  })

  it('is refused if the key is revoked while the token is looked up', async () => {
    const late = Promise.withResolvers<Grant>()
    const { authenticate, applyGrant } = start(async ({ kind }) => (kind === 'key' ? KEY_GRANT : late.promise))
    await authenticate(undefined, KEY, API)
    const answer = authenticate(bearer(), KEY, API)
    applyGrant({ ...KEY_GRANT, valid: false, version: 4 })
    late.resolve(GRANT)

    expect(await answer).toMatchObject({ code: 'credential_invalid', grant: { credential: 'crd_2' } })
  })

  it('is refused as missing credentials if it has neither', () => {
    expect(start().authenticate(undefined, undefined, API)).toMatchObject({ code: 'credential_missing', grant: null })
  })
})

describe('a revoked or changed credential', () => {
  const revoked: Grant = { ...GRANT, valid: false, version: 4 }

  it('is refused with a cached token after its revocation', async () => {
    const { authenticate, applyGrant } = start()
    const token = bearer()
    expect(await authenticate(token, undefined, API)).toMatchObject({ method: 'token' })
    applyGrant(revoked)

    expect(authenticate(token, undefined, API)).toMatchObject({ code: 'credential_invalid', grant: revoked })
    expect(authenticate(token, undefined, API)).toMatchObject({ code: 'credential_invalid', grant: revoked })
  })

  it('is refused with a cached key', async () => {
    const { authenticate, applyGrant } = start()
    await authenticate(undefined, KEY, API)
    applyGrant({ ...KEY_GRANT, valid: false, version: 4 })

    expect(authenticate(undefined, KEY, API)).toMatchObject({ code: 'credential_invalid' })
  })

  it('is not revived by a late response to an earlier look-up', async () => {
    const late = Promise.withResolvers<Grant>()
    const { authenticate, applyGrant } = start(() => late.promise)
    const token = bearer()
    const answer = authenticate(token, undefined, API)
    applyGrant(revoked)
    late.resolve(GRANT)

    expect(await answer).toMatchObject({ code: 'credential_invalid', grant: revoked })
    expect(await authenticate(token, undefined, API)).toMatchObject({ code: 'credential_invalid' })
    expect(await authenticate(bearer({ jti: 'tok_2' }), undefined, API)).toMatchObject({ code: 'credential_invalid' })
  })

  it('is not revived by a late update of its grant', async () => {
    const { authenticate, applyGrant } = start()
    const token = bearer()
    await authenticate(token, undefined, API)
    applyGrant(revoked)
    applyGrant({ ...GRANT, version: 4 })
    applyGrant(GRANT)

    expect(authenticate(token, undefined, API)).toMatchObject({ code: 'credential_invalid' })
  })

  it('is refused if one of two grants of the same version is revoked', async () => {
    const { authenticate, applyGrant } = start()
    const token = bearer()
    await authenticate(token, undefined, API)
    applyGrant({ ...GRANT, valid: false })

    expect(authenticate(token, undefined, API)).toMatchObject({ code: 'credential_invalid' })
  })

  it('ends its tokens early if it expires early', async () => {
    const { authenticate, applyGrant, forward } = start()
    const token = bearer()
    await authenticate(token, undefined, API)
    applyGrant({ ...GRANT, expiresAtMs: NOW_MS + 60_000, version: 4 })
    expect(authenticate(token, undefined, API)).toMatchObject({ expiresAtMs: NOW_MS + 60_000 })
    forward(60_000)

    expect(authenticate(token, undefined, API)).toMatchObject({ code: 'credential_invalid' })
  })

  it('is refused while it is suspended, and accepted again afterwards', async () => {
    const { authenticate, applyGrant } = start()
    const token = bearer()
    await authenticate(token, undefined, API)
    applyGrant({ ...GRANT, active: false, version: 4 })
    expect(authenticate(token, undefined, API)).toMatchObject({ code: 'subscription_required' })
    applyGrant({ ...GRANT, version: 5 })

    expect(authenticate(token, undefined, API)).toMatchObject({ method: 'token' })
  })
})

describe('grant look-ups', () => {
  it('are shared by all calls that wait for one credential', async () => {
    const { authenticate, asked } = start()
    await Promise.all(
      Array.from({ length: 100 }, (_, index) => authenticate(bearer({ jti: `tok_${index}` }), undefined, API)),
    )

    expect(asked).toHaveLength(1)
  })

  it('have an upper bound, above which a call is refused as unavailable', async () => {
    const late = Promise.withResolvers<Grant>()
    const { authenticate, counted } = start(() => late.promise, { pendingMax: 2 })
    const waiting = ['cli_1', 'cli_2'].map((id) => authenticate(bearer({ client_id: id }), undefined, API))

    expect(await authenticate(bearer({ client_id: 'cli_3' }), undefined, API)).toMatchObject({ code: 'unavailable' })
    expect(counted).toEqual(['lookups_busy'])
    late.resolve(GRANT)
    expect(await Promise.all(waiting)).toMatchObject([{ method: 'token' }, { method: 'token' }])
  })

  it('are not cached if they fail', async () => {
    let isDown = true
    const { authenticate, counted } = start(async () => {
      if (isDown) throw new Error('the registry does not respond')
      return GRANT
    })
    const token = bearer()
    expect(await authenticate(token, undefined, API)).toMatchObject({ code: 'unavailable', grant: null })
    isDown = false

    expect(await authenticate(token, undefined, API)).toMatchObject({ method: 'token' })
    expect(counted).toEqual(['lookup_failed'])
  })
})

describe('the cache of callers', () => {
  it('is bounded, keeps callers in use and counts evictions', async () => {
    const { authenticate, counted } = start(byKind, { callersMax: 10 })
    const inUse = bearer()
    const caller = await authenticate(inUse, undefined, API)
    for (let index = 0; index < 100; index++) {
      await authenticate(bearer({ jti: `tok_${index}` }), undefined, API)
      expect(authenticate(inUse, undefined, API)).toBe(caller)
    }

    expect(new Set(counted)).toEqual(new Set(['callers_forgotten']))
  })

  it('contains no credential that did not verify', async () => {
    const { authenticate, asked, counted } = start(byKind, { callersMax: 2 })
    for (let index = 0; index < 100; index++) {
      const forged = authority.forge({}, { jti: `tok_${index}` }, () => Buffer.alloc(64))
      expect(await authenticate(`Bearer ${forged}`, undefined, API)).toMatchObject({ code: 'credential_invalid' })
    }

    expect([asked, counted]).toEqual([[], []])
  })
})
