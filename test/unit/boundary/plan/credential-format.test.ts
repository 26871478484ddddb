import { randomBytes } from 'node:crypto'
import { describe, expect, it } from 'vitest'
import {
  createApiKey,
  createClientSecret,
  isApiKeyShaped,
  isSameHash,
} from '../../../../src/boundary/plan/credential-format.ts'

describe('an API key', () => {
  it('is tg_, 43 characters of base 62 and a checksum of 6, for the whole range of random values', () => {
    const sources = [randomBytes, (size: number) => Buffer.alloc(size, 0), (size: number) => Buffer.alloc(size, 255)]
    for (const source of sources) {
      const key = createApiKey(source)
      expect(key).toMatch(/^tg_[0-9A-Za-z]{49}$/)
      expect(isApiKeyShaped(key)).toBe(true)
    }
  })

  it('is distinguished from a key with any one character changed', () => {
    const key = createApiKey((size) => Buffer.alloc(size, 7))
    for (let index = 0; index < key.length; index++) {
      const other = key[index] === 'x' ? 'y' : 'x'
      expect(isApiKeyShaped(key.slice(0, index) + other + key.slice(index + 1)), `at ${index}`).toBe(false)
    }
  })

  it('is distinguished from other texts', () => {
    const key = createApiKey(randomBytes)
    const odd = ['', 'tg_', key.slice(0, -1), `${key}0`, ` ${key}`, `${key}\n`, key.toUpperCase(), 'x'.repeat(52)]
    for (const text of odd) expect(isApiKeyShaped(text), text).toBe(false)
    expect(isApiKeyShaped(createClientSecret(randomBytes))).toBe(false)
  })
})

describe('the comparison of hashes', () => {
  it('handles hashes of any length', () => {
    expect(isSameHash('abc', 'abc')).toBe(true)
    for (const other of ['abd', 'ab', 'abcd', '']) expect(isSameHash('abc', other)).toBe(false)
  })
})
