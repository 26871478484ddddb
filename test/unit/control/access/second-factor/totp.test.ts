import { randomBytes } from 'node:crypto'
import { describe, expect, it } from 'vitest'
import { createTotpSecret, totpStep, totpUri } from '../../../../../src/control/access/second-factor/totp.ts'

/** The ASCII secret `12345678901234567890` of RFC 6238, appendix B, in base 32. */
const SECRET = 'GEZDGNBVGY3TQOJQGEZDGNBVGY3TQOJQ'

describe('a time-based one-time password', () => {
  it.each([
    [59, '287082'],
    [1_111_111_109, '081804'],
    [1_111_111_111, '050471'],
    [1_234_567_890, '005924'],
    [2_000_000_000, '279037'],
    [20_000_000_000, '353130'],
  ])('at %i s is that of RFC 6238, appendix B', (seconds, code) => {
    expect(totpStep(SECRET, code, seconds * 1_000, 0)).toBe(Math.floor(seconds / 30))
  })

  it('is accepted one step before and after its own, and only after the last step', () => {
    const at = (seconds: number, lastStep = 0) => totpStep(SECRET, '081804', seconds * 1_000, lastStep)
    const step = Math.floor(1_111_111_109 / 30)
    expect([-60, -30, 0, 30, 60].map((shift) => at(1_111_111_109 + shift))).toEqual([null, step, step, step, null])
    expect([at(1_111_111_109, step - 1), at(1_111_111_109, step), at(1_111_111_109, step + 1)]).toEqual([
      step,
      null,
      null,
    ])
  })

  it.each(['', '81804', '0818040', '08180a', ' 81804', '-81804', '٠٨١٨٠٤', '0x1234'])('is never %j', (code) => {
    expect(totpStep(SECRET, code, 1_111_111_109_000, 0)).toBeNull()
  })

  it('has a random secret of 160 bits, and an address for authenticator apps', () => {
    const secret = createTotpSecret(randomBytes)
    expect(secret).toMatch(/^[A-Z2-7]{32}$/)
    expect(createTotpSecret(randomBytes)).not.toBe(secret)
    const uri = new URL(totpUri(secret, 'grace?secret=x&issuer=y'))
    expect([uri.protocol, uri.searchParams.get('secret'), uri.searchParams.get('issuer')]).toEqual([
      'otpauth:',
      secret,
      'tollgate',
    ])
  })
})
