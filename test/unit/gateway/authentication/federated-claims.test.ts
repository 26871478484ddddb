import { describe, expect, it } from 'vitest'
import type { ProviderPlan } from '../../../../src/boundary/plan/provider-plan.ts'
import { verifyFederatedToken } from '../../../../src/gateway/authentication/federated-token.ts'
import { readJwt } from '../../../../src/gateway/authentication/jwt.ts'
import { createProviders } from '../../../../src/gateway/authentication/providers.ts'
import { API } from '../../../fixtures/token-authority.ts'
import { createIssuerKey, issue, toPlan } from '../../../fixtures/federated-issuer.ts'

const key = createIssuerKey('k1')
const rsa = createIssuerKey('r1', 'RS256')
const keys = [key, rsa]
const UNUSABLE_CLAIMS = { fault: 'A required claim of the token is missing, or a claim has the wrong form.' }

function verify(token: string, plan: Partial<ProviderPlan> = {}, published = keys) {
  const jwt = readJwt(token)
  if ('fault' in jwt) return jwt
  const providers = createProviders()
  providers.set([toPlan(published, plan)])
  const provider = providers.find('acme', String(jwt.claims['iss']), API)
  return provider === undefined ? 'another issuer' : verifyFederatedToken(jwt, provider, API)
}

describe('the claims of a federated token', () => {
  const named = (claims: ProviderPlan['claims']) => ({ claims })
  const NONE = { clientId: '', scope: '', person: '' }

  it('name the client in client_id, otherwise in azp, or in the registered claim', () => {
    expect(verify(issue(key, { client_id: undefined, azp: 'app' }))).toMatchObject({ clientId: 'app' })
    expect(verify(issue(key, { appid: 'app' }), named({ ...NONE, clientId: 'appid' }))).toMatchObject({
      clientId: 'app',
    })
    for (const client_id of [undefined, '', 1, ['robot'], { a: 1 }, 'x'.repeat(256), '\ud800'])
      expect(verify(issue(key, { client_id })), JSON.stringify(client_id)).toEqual(UNUSABLE_CLAIMS)
    for (const clientId of ['constructor', '__proto__', 'toString'])
      expect(verify(issue(key), named({ ...NONE, clientId }))).toEqual(UNUSABLE_CLAIMS)
  })

  it('list scopes as text or as a list, in scope or scp, or in the registered claim', () => {
    const scopesOf = (claims: object, scope = '') => {
      const result = verify(issue(key, claims), named({ ...NONE, scope }))
      return typeof result === 'object' && 'token' in result ? result.token.scopes : result
    }
    expect(scopesOf({ scope: ['a', 'b'] })).toEqual(['a', 'b'])
    expect(scopesOf({ scope: undefined, scp: 'a b' })).toEqual(['a', 'b'])
    expect(scopesOf({ roles: ['a'] }, 'roles')).toEqual(['a'])
    expect(scopesOf({ scope: undefined })).toEqual([])
    for (const scope of [1, ['a', 1], { a: 1 }, true]) expect(scopesOf({ scope })).toEqual(UNUSABLE_CLAIMS)
  })

  it('name the person in sub if it is not the client, or in the registered claim', () => {
    const personOf = (claims: object, person = '') => {
      const result = verify(issue(key, claims), named({ ...NONE, person }))
      return typeof result === 'object' && 'token' in result ? result.token.subject : result
    }
    expect(personOf({ sub: 'ann' })).toBe('ann')
    expect(personOf({ sub: 'robot' })).toBe('')
    expect(personOf({ sub: undefined })).toBe('')
    expect(personOf({ email: 'ann@example.com' }, 'email')).toBe('ann@example.com')
    expect(personOf({ sub: 'ann' }, 'email')).toBe('')
    for (const sub of [1, ['ann'], 'x'.repeat(256), '\ud800']) expect(personOf({ sub })).toEqual(UNUSABLE_CLAIMS)
  })
})
