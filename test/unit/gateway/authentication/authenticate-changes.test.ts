import { describe, expect, it } from 'vitest'
import type { Grant } from '../../../../src/boundary/plan/grant.ts'
import { API, GRANT, NOW_MS } from '../../../fixtures/token-authority.ts'
import { bearer, KEY, KEY_GRANT, openTestAuthenticator } from '../../../fixtures/test-authenticator.ts'

describe('a revoked or changed credential', () => {
  const revoked: Grant = { ...GRANT, valid: false, version: 4 }

  it('is refused with a cached token after its revocation', async () => {
    const { authenticate, applyGrant } = openTestAuthenticator()
    const token = bearer()
    expect(await authenticate(token, undefined, API)).toMatchObject({ method: 'token' })
    applyGrant(revoked)

    expect(authenticate(token, undefined, API)).toMatchObject({ code: 'credential_invalid', grant: revoked })
    expect(authenticate(token, undefined, API)).toMatchObject({ code: 'credential_invalid', grant: revoked })
  })

  it('is refused with a cached key', async () => {
    const { authenticate, applyGrant } = openTestAuthenticator()
    await authenticate(undefined, KEY, API)
    applyGrant({ ...KEY_GRANT, valid: false, version: 4 })

    expect(authenticate(undefined, KEY, API)).toMatchObject({ code: 'credential_invalid' })
  })

  it('is not revived by a late response to an earlier look-up', async () => {
    const late = Promise.withResolvers<Grant>()
    const { authenticate, applyGrant } = openTestAuthenticator(() => late.promise)
    const token = bearer()
    const answer = authenticate(token, undefined, API)
    applyGrant(revoked)
    late.resolve(GRANT)

    expect(await answer).toMatchObject({ code: 'credential_invalid', grant: revoked })
    expect(await authenticate(token, undefined, API)).toMatchObject({ code: 'credential_invalid' })
    expect(await authenticate(bearer({ jti: 'tok_2' }), undefined, API)).toMatchObject({ code: 'credential_invalid' })
  })

  it('is not revived by a late update of its grant', async () => {
    const { authenticate, applyGrant } = openTestAuthenticator()
    const token = bearer()
    await authenticate(token, undefined, API)
    applyGrant(revoked)
    applyGrant({ ...GRANT, version: 4 })
    applyGrant(GRANT)

    expect(authenticate(token, undefined, API)).toMatchObject({ code: 'credential_invalid' })
  })

  it('is refused if one of two grants of the same version is revoked', async () => {
    const { authenticate, applyGrant } = openTestAuthenticator()
    const token = bearer()
    await authenticate(token, undefined, API)
    applyGrant({ ...GRANT, valid: false })

    expect(authenticate(token, undefined, API)).toMatchObject({ code: 'credential_invalid' })
  })

  it('ends its tokens early if it expires early', async () => {
    const { authenticate, applyGrant, forward } = openTestAuthenticator()
    const token = bearer()
    await authenticate(token, undefined, API)
    applyGrant({ ...GRANT, expiresAtMs: NOW_MS + 60_000, version: 4 })
    expect(authenticate(token, undefined, API)).toMatchObject({ expiresAtMs: NOW_MS + 60_000 })
    forward(60_000)

    expect(authenticate(token, undefined, API)).toMatchObject({ code: 'credential_invalid' })
  })

  it('is refused while it is suspended, and accepted again afterwards', async () => {
    const { authenticate, applyGrant } = openTestAuthenticator()
    const token = bearer()
    await authenticate(token, undefined, API)
    applyGrant({ ...GRANT, active: false, version: 4 })
    expect(authenticate(token, undefined, API)).toMatchObject({ code: 'subscription_required' })
    applyGrant({ ...GRANT, version: 5 })

    expect(authenticate(token, undefined, API)).toMatchObject({ method: 'token' })
  })
})
