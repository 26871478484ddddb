import { generateKeyPairSync } from 'node:crypto'
import { describe, expect, it } from 'vitest'
import type { ProviderPlan } from '../../../../src/boundary/plan/provider-plan.ts'
import { verifyFederatedToken } from '../../../../src/gateway/authentication/federated-token.ts'
import { readJwt } from '../../../../src/gateway/authentication/jwt.ts'
import { createProviders } from '../../../../src/gateway/authentication/providers.ts'
import { API } from '../../../fixtures/token-authority.ts'
import { createIssuerKey, issue, ISSUER, toPlan } from '../../../fixtures/federated-issuer.ts'

const key = createIssuerKey('k1')
const rsa = createIssuerKey('r1', 'RS256')
const keys = [key, rsa]

function verify(token: string, plan: Partial<ProviderPlan> = {}, published = keys) {
  const jwt = readJwt(token)
  if ('fault' in jwt) return jwt
  const providers = createProviders()
  providers.set([toPlan(published, plan)])
  const provider = providers.find('acme', String(jwt.claims['iss']), API)
  return provider === undefined ? 'another issuer' : verifyFederatedToken(jwt, provider, API)
}

describe('a published key of a provider', () => {
  it('is ignored if it is not a usable signing key', () => {
    const small = createIssuerKey('small', 'RS256', 1_024)
    const secret = { kty: 'oct', k: 'c2VjcmV0', kid: 'oct', alg: 'HS256' }
    const odd = [
      secret,
      { ...key.jwk, use: 'enc' },
      { ...key.jwk, key_ops: ['sign'] },
      { ...key.jwk, alg: 'HS256' },
      { ...key.jwk, alg: 'none' },
      { ...key.jwk, alg: 'RS256' },
      { ...key.jwk, crv: 'secp256k1' },
      { ...key.jwk, crv: '__proto__' },
      { ...key.jwk, x: key.jwk['y'] },
      { ...key.jwk, kid: 7 },
    ]
    for (const jwk of odd) expect(verify(issue(key), { keys: [jwk] }), JSON.stringify(jwk)).toBe('unknown_key')
    expect(verify(issue(small), {}, [small])).toBe('unknown_key')
  })

  it('never includes its private part', () => {
    const { privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
    const jwk = { ...privateKey.export({ format: 'jwk' }), kid: 'k1' }
    const providers = createProviders()
    providers.set([toPlan([], { keys: [jwk] })])
    const found = providers.find('acme', ISSUER, API)?.keyFor('k1', 'ES256')
    expect(found).toMatchObject({ jwk: expect.not.objectContaining({ d: expect.anything() }), key: { type: 'public' } })
  })
})

describe('a federated provider', () => {
  it('is found for the APIs that it is registered for, before a provider for all APIs', () => {
    const providers = createProviders()
    providers.set([toPlan([key], { id: 'all' }), toPlan([key], { id: 'one', apis: [API] })])
    expect(providers.find('acme', ISSUER, API)?.plan.id).toBe('one')
    expect(providers.find('acme', ISSUER, 'orders-v1')?.plan.id).toBe('all')
    expect(providers.find('other', ISSUER, API)).toBeUndefined()
    providers.set([toPlan([key], { apis: ['orders-v1'] })])
    expect(providers.find('acme', ISSUER, API)).toBeUndefined()
  })
})
