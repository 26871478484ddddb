import { randomBytes } from 'node:crypto'
import { describe, expect, it } from 'vitest'
import { createPasswordHasher } from '../../../../src/foundation/runtime/password-hash.ts'

describe('password hashes', () => {
  it('have a random salt each, and verify the password', async () => {
    const passwords = createPasswordHasher({ randomBytes })
    const [one, other] = await Promise.all([passwords.hash('correct horse'), passwords.hash('correct horse')])

    expect(one).toMatch(/^scrypt\$32768\$8\$1\$[\w-]{22}\$[\w-]{43}$/)
    expect(one).not.toBe(other)
    expect(await passwords.verify('correct horse', one)).toBe(true)
    expect(await passwords.verify('Correct horse', one)).toBe(false)
    expect(await passwords.verify('correct horse', null)).toBe(false)
  })

  it('verify with the cost parameters that they contain', async () => {
    const passwords = createPasswordHasher({ randomBytes })
    // RFC 7914, section 12: "password" and "NaCl" with N=1024, r=8, p=16, truncated to 32 bytes.
    const known = `scrypt$1024$8$16$${Buffer.from('NaCl').toString('base64url')}$${Buffer.from(
      'fdbabe1c9d3472007856e7190d01e9fe7c6ad7cbc8237830e77376634b373162',
      'hex',
    ).toString('base64url')}`
    expect(await passwords.verify('password', known)).toBe(true)
  })

  it('are computed from a queue, and refused if the queue is full', async () => {
    const passwords = createPasswordHasher({ randomBytes, atOnceMax: 1, waitingMax: 1 })
    const [first, second] = [passwords.hash('one'), passwords.hash('two')]
    await expect(passwords.hash('three')).rejects.toMatchObject({ code: 'unavailable' })
    await Promise.all([first, second])
    expect(await passwords.verify('four', await passwords.hash('four'))).toBe(true)
  })
})
