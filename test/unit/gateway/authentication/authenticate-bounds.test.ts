import { describe, expect, it } from 'vitest'
import type { Grant } from '../../../../src/boundary/plan/grant.ts'
import { API, GRANT } from '../../../fixtures/token-authority.ts'
import { authority, bearer, findByKind, openTestAuthenticator } from '../../../fixtures/test-authenticator.ts'

describe('grant look-ups', () => {
  it('are shared by all calls that wait for one credential', async () => {
    const { authenticate, lookedUp } = openTestAuthenticator()
    await Promise.all(
      Array.from({ length: 100 }, (_, index) => authenticate(bearer({ jti: `tok_${index}` }), undefined, API)),
    )

    expect(lookedUp).toHaveLength(1)
  })

  it('have an upper bound, above which a call is refused as unavailable', async () => {
    const late = Promise.withResolvers<Grant>()
    const { authenticate, counted } = openTestAuthenticator(() => late.promise, { pendingMax: 2 })
    const waiting = ['cli_1', 'cli_2'].map((id) => authenticate(bearer({ client_id: id }), undefined, API))

    expect(await authenticate(bearer({ client_id: 'cli_3' }), undefined, API)).toMatchObject({ code: 'unavailable' })
    expect(counted).toEqual(['lookups_busy'])
    late.resolve(GRANT)
    expect(await Promise.all(waiting)).toMatchObject([{ method: 'token' }, { method: 'token' }])
  })

  it('are not cached if they fail', async () => {
    let isDown = true
    const { authenticate, counted } = openTestAuthenticator(async () => {
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
    const { authenticate, counted } = openTestAuthenticator(findByKind, { callersMax: 10 })
    const inUse = bearer()
    const caller = await authenticate(inUse, undefined, API)
    for (let index = 0; index < 100; index++) {
      await authenticate(bearer({ jti: `tok_${index}` }), undefined, API)
      expect(authenticate(inUse, undefined, API)).toBe(caller)
    }

    expect(new Set(counted)).toEqual(new Set(['callers_forgotten']))
  })

  it('contains no credential that did not verify', async () => {
    const { authenticate, lookedUp, counted } = openTestAuthenticator(findByKind, { callersMax: 2 })
    for (let index = 0; index < 100; index++) {
      const forged = authority.forge({}, { jti: `tok_${index}` }, () => Buffer.alloc(64))
      expect(await authenticate(`Bearer ${forged}`, undefined, API)).toMatchObject({ code: 'credential_invalid' })
    }

    expect([lookedUp, counted]).toEqual([[], []])
  })
})
