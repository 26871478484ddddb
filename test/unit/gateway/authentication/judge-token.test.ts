/** The judgement of a token, and that of a call with it, agree. */

import { describe, expect, it } from 'vitest'
import type { CredentialName, Grant } from '../../../../src/boundary/plan/grant.ts'
import { authority, bearer, openTestAuthenticator, OTHER_API } from '../../../fixtures/test-authenticator.ts'
import { API, GRANT, NOW_MS } from '../../../fixtures/token-authority.ts'

const SECONDS = Math.floor(NOW_MS / 1_000)
type Test = ReturnType<typeof openTestAuthenticator>

/** The claims or the grant of the token, what happens before, and the API that is called. */
interface Case {
  readonly state: string
  readonly claims?: object
  readonly grant?: Partial<Grant> | null
  readonly api?: string
  readonly before?: (test: Test) => void
}

const CASES: readonly Case[] = [
  { state: 'Valid' },
  { state: 'Expired', claims: { exp: SECONDS - 1 } },
  { state: 'Expired', grant: { expiresAtMs: NOW_MS } },
  { state: 'NotYetValid', claims: { nbf: SECONDS + 601 } },
  { state: 'OtherApi', api: OTHER_API },
  { state: 'CredentialRevoked', grant: { valid: false } },
  { state: 'SubscriptionInactive', grant: { active: false } },
  {
    state: 'Revoked',
    claims: { jti: 'tok_revoked', exp: SECONDS - 1 },
    before: (test) => test.revokeToken({ jti: 'tok_revoked', untilMs: NOW_MS + 1 }),
  },
  {
    state: 'Revoked',
    claims: { sub: 'usr_1', jti: 'tok_1' },
    before: (test) => test.revokePerson({ person: 'usr_1', id: 'tok_2', before: 'tok_2', untilMs: NOW_MS + 1 }),
  },
  { state: 'Unknown', grant: null },
  { state: 'Unknown', claims: { iss: 'https://elsewhere.example' } },
  { state: 'Unknown', claims: { act: { sub: 'con_of_another' } } },
]

describe('the judgement of a token', () => {
  it.each(CASES)(
    'is $state, with the refusal of a call ($claims $grant)',
    async ({ state, claims, grant, api, before }) => {
      const find = async (_: CredentialName) => (grant === null ? null : { ...GRANT, ...grant })
      const test = openTestAuthenticator(find)
      before?.(test)
      const judged = await test.judge(authority.token(claims), api ?? null, 'acme')
      const called = await test.authenticate(bearer(claims), undefined, api ?? API)
      const refusal = 'code' in called ? { code: called.code, detail: called.detail } : null
      expect(judged).toMatchObject({ state, refusal })
      expect(judged.caller === null).toBe(state === 'Unknown')
      if (judged.caller !== null) expect(judged.caller.grant).toMatchObject({ consumer: GRANT.consumer })
    },
  )

  it('names nobody for a token with a forged signature, or that is no token', async () => {
    const test = openTestAuthenticator()
    const [head, claims] = authority.token().split('.')
    const forged = `${head}.${claims}.${Buffer.alloc(64).toString('base64url')}`
    for (const text of [forged, 'tg_no_token', '..', 'a.b.c', '', '\u202e', 'x'.repeat(20_000)]) {
      const judged = await test.judge(text, null, 'acme')
      expect(judged).toMatchObject({ state: 'Unknown', caller: null, refusal: { code: 'credential_invalid' } })
      expect(judged.refusal?.detail).not.toContain('tg_no_token')
    }
    expect(test.lookedUp).toEqual([])
  })

  it('is made anew each time, from the grant of that time', async () => {
    let grant: Grant = GRANT
    const test = openTestAuthenticator(async () => grant)
    const token = authority.token()
    expect(await test.judge(token, null, 'acme')).toMatchObject({ state: 'Valid' })
    grant = { ...GRANT, valid: false }
    expect(await test.judge(token, null, 'acme')).toMatchObject({ state: 'CredentialRevoked' })
    expect(test.lookedUp).toHaveLength(2)
  })
})
