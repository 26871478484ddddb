import { describe, expect, it } from 'vitest'
import { GRANT, openTestOauthServer } from '../../../fixtures/token-endpoints.ts'

describe('a client at the token endpoint', () => {
  it('uses its credential with each right secret, and not with a wrong one', async () => {
    const { post, used } = await openTestOauthServer()
    expect((await post({ client_secret: 'wrong' })).status).toBe(401)
    expect(used).toEqual([])
    expect((await post()).status).toBe(200)
    expect(used).toEqual([GRANT.credential])
  })

  it('uses no credential once that is revoked', async () => {
    const { post, used } = await openTestOauthServer({ grant: { valid: false } })
    expect((await post()).status).toBe(401)
    expect(used).toEqual([])
  })

  it('uses no credential by its id alone, as a public one', async () => {
    const { redeem, code, used } = await openTestOauthServer()
    expect((await redeem({ code: await code() })).status).toBe(200)
    expect(used).toEqual([])
  })
})
