import { describe, expect, it } from 'vitest'
import type { CredentialName, Grant } from '../../../src/catalogue/grant.ts'
import { createAuthenticator, type AuthenticatorOptions } from '../../../src/gateway/authenticate.ts'
import { API, createAuthority, GATEWAY_URL, GRANT, NOW_MS } from './authority.ts'

const authority = createAuthority()

/** An authenticator with time in our hands, and every look-up it made. */
function start(
  find: (name: CredentialName) => Promise<Grant | null> = async () => GRANT,
  options: Partial<AuthenticatorOptions> = {},
) {
  let nowMs = NOW_MS
  const asked: CredentialName[] = []
  const counted: string[] = []
  const authenticator = createAuthenticator({
    gatewayUrl: GATEWAY_URL,
    keyedHash: (text) => `hash of ${text}`,
    resolve(name) {
      asked.push(name)
      return find(name)
    },
    clock: { nowMs: () => nowMs },
    count: (reason) => counted.push(reason),
    ...options,
  })
  authenticator.setKeys(authority.jwks)
  return { ...authenticator, asked, counted, forward: (ms: number) => (nowMs += ms) }
}

const bearer = (claims: object = {}) => `Bearer ${authority.token(claims)}`

describe('revocation', () => {
  it('refuses a token that was served before, from the word of its revocation on', async () => {
    const { authenticate, applyGrant } = start()
    const token = bearer()
    expect(await authenticate(token, undefined, API)).toMatchObject({ method: 'token' })

    applyGrant({ ...GRANT, valid: false, version: 4 })
    expect(authenticate(token, undefined, API)).toMatchObject({ code: 'credential_invalid', grant: { version: 4 } })
    expect(authenticate(token, undefined, API)).toMatchObject({ code: 'credential_invalid' })
  })
})
