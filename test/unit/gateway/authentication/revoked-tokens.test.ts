import { describe, expect, it } from 'vitest'
import type { Grant } from '../../../../src/boundary/plan/grant.ts'
import { createAuthenticator } from '../../../../src/gateway/authentication/authenticate.ts'
import { createRevokedTokens } from '../../../../src/gateway/authentication/revoked-tokens.ts'
import { createRandom } from '../../../random.ts'
import { API, createAuthority, GATEWAY_URL, GRANT, NOW_MS } from '../../../fixtures/token-authority.ts'

const authority = createAuthority()
const END_MS = NOW_MS + 3_600_000
const REVOKED = { jti: 'tok_1', untilMs: END_MS }

function start(resolve: () => Promise<Grant | null> = async () => GRANT) {
  let nowMs = NOW_MS
  const authenticator = createAuthenticator({
    gatewayUrl: GATEWAY_URL,
    keyedHash: (text) => text,
    defer: (task) => task(),
    resolve,
    tenantOf: () => 'acme',
    refetch: async () => false,
    clock: { nowMs: () => nowMs },
    count: () => {},
    onUse: () => {},
  })
  authenticator.setKeys(authority.jwks)
  const call = (jti: string) => authenticator.authenticate(`Bearer ${authority.token({ jti })}`, undefined, API)
  return { ...authenticator, call, forward: (ms: number) => (nowMs += ms) }
}

describe('a revoked token', () => {
  it('is refused after its revocation and attributed to its consumer, while other tokens of the client stay valid', async () => {
    const { authenticate, revokeToken, call } = start()
    const token = `Bearer ${authority.token()}`
    await authenticate(token, undefined, API)
    revokeToken(REVOKED)

    expect(authenticate(token, undefined, API)).toMatchObject({ code: 'credential_invalid', grant: GRANT })
    expect(await call('tok_2')).toMatchObject({ method: 'token' })
  })

  it('is refused if it is first seen after its revocation', async () => {
    const { revokeToken, call } = start()
    revokeToken(REVOKED)
    expect(await call('tok_1')).toMatchObject({ code: 'credential_invalid', grant: GRANT })
  })

  it('is refused with another signature over the same claims', async () => {
    const { revokeToken, call } = start()
    expect(await call('tok_1')).toMatchObject({ method: 'token' })
    revokeToken(REVOKED)
    // Each ES256 signature over the same claims is different.
    for (let index = 0; index < 5; index++) expect(await call('tok_1')).toMatchObject({ code: 'credential_invalid' })
  })

  it('is attributed to the person that it was issued for', async () => {
    const { authenticate, revokeToken } = start()
    revokeToken(REVOKED)
    const token = `Bearer ${authority.token({ sub: 'usr_1' })}`
    expect(await authenticate(token, undefined, API)).toMatchObject({ code: 'credential_invalid', person: 'usr_1' })
  })

  it('is refused in every order of revocation, look-up, grant update and calls', async () => {
    const steps = ['call', 'revoke', 'answer', 'correct', 'revoke grant'] as const
    for (const order of permutations(steps)) {
      const late = Promise.withResolvers<Grant>()
      const { authenticate, revokeToken, applyGrant } = start(() => late.promise)
      const token = `Bearer ${authority.token()}`
      const calls: unknown[] = []
      const revokedAt = order.indexOf('revoke')
      for (const [index, step] of order.entries()) {
        if (step === 'call') calls.push(authenticate(token, undefined, API))
        if (step === 'revoke') revokeToken(REVOKED)
        if (step === 'answer') late.resolve(GRANT)
        if (step === 'correct') applyGrant({ ...GRANT, version: 4 })
        if (step === 'revoke grant') applyGrant({ ...GRANT, valid: false, version: 5 })
        await settle()
        if (index >= revokedAt) calls.push(authenticate(token, undefined, API))
      }
      const [first, ...later] = await Promise.all(calls)
      const isServedBefore = order.indexOf('call') < revokedAt && order.indexOf('answer') < revokedAt
      // A call whose look-up ends after the revocation is refused as well.
      if (order.indexOf('call') < revokedAt && !isServedBefore) {
        expect(first, order.join(' ')).toMatchObject({ code: 'credential_invalid' })
      }
      for (const result of later) expect(result, order.join(' ')).toMatchObject({ code: 'credential_invalid' })
    }
  })
})

describe('a token that was issued for a person', () => {
  it('names the person, with and without an agent', async () => {
    const { authenticate } = start()
    const token = `Bearer ${authority.token({ sub: 'usr_1' })}`
    expect(await authenticate(token, undefined, API)).toMatchObject({ agent: '', person: 'usr_1' })
  })

  it('is refused if it names an agent that is not its client', async () => {
    const { authenticate } = start(async () => ({ ...GRANT, consumerKind: 'agent' }))
    for (const sub of ['con_2', 'usr_1', 'CON_1']) {
      const token = `Bearer ${authority.token({ sub: 'usr_1', act: { sub } })}`
      expect(await authenticate(token, undefined, API)).toMatchObject({
        code: 'credential_invalid',
        grant: { consumer: 'con_1' },
      })
    }
  })
})

describe('the set of revoked tokens', () => {
  it('contains each token until it expires, as a plain set does with random times', () => {
    for (let seed = 1; seed <= 20; seed++) {
      const random = createRandom(seed)
      let nowMs = NOW_MS
      const tokens = createRevokedTokens(() => nowMs)
      const plain = new Map<string, number>()
      for (let round = 0; round < 2_000; round++) {
        nowMs += random.below(20)
        const jti = `tok_${random.below(500)}`
        const untilMs = nowMs + random.below(3_000) - 100
        tokens.add({ jti, untilMs })
        plain.set(jti, Math.max(untilMs, plain.get(jti) ?? 0))
        const asked = `tok_${random.below(500)}`
        if ((plain.get(asked) ?? 0) > nowMs) expect(tokens.has(asked, nowMs), `seed ${seed}`).toBe(true)
      }
      const live = [...plain].filter(([, untilMs]) => untilMs > nowMs).map(([jti]) => jti)
      expect(
        tokens
          .live(nowMs)
          .map(({ jti }) => jti)
          .sort(),
        `seed ${seed}`,
      ).toEqual(live.sort())
      nowMs += 10_000
      for (const jti of plain.keys()) expect(tokens.has(jti, nowMs)).toBe(false)
      expect(tokens.live(0)).toEqual([])
    }
  })

  it('refuses tokens above its bound, and accepts new ones when others expire', () => {
    let nowMs = NOW_MS
    const tokens = createRevokedTokens(() => nowMs, 100)
    for (let index = 0; index < 100; index++)
      expect(tokens.add({ jti: `tok_${index}`, untilMs: NOW_MS + 1_000 })).toBe(true)
    expect(tokens.add({ jti: 'tok_100', untilMs: NOW_MS + 9_000 })).toBe(false)
    expect(tokens.has('tok_0', nowMs)).toBe(true)
    nowMs += 1_000
    for (let index = 200; index < 300; index++)
      expect(tokens.add({ jti: `tok_${index}`, untilMs: nowMs + 1_000 })).toBe(true)
  })
})

/** Resolves after all promises that can settle have settled. */
function settle(): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>()
  setImmediate(resolve)
  return promise
}

function permutations<T>(items: readonly T[]): T[][] {
  if (items.length === 0) return [[]]
  return items.flatMap((item, index) =>
    permutations([...items.slice(0, index), ...items.slice(index + 1)]).map((rest) => [item, ...rest]),
  )
}
