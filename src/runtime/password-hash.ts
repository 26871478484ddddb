/**
 * Passwords as they are kept: scrypt (RFC 7914) with a salt of their own, 32 MiB and tens of
 * milliseconds each, so that a stolen registry gives up weak ones slowly.
 *
 * Hashing happens in the thread pool, a few at once and a bounded number waiting: whoever sends
 * passwords by the thousand takes neither memory nor the pool. Where there is nothing to compare with,
 * as much work is done.
 */

import { scrypt, timingSafeEqual } from 'node:crypto'
import { Problem } from '../domain/problem.ts'

export interface PasswordHasher {
  /** `scrypt$N$r$p$salt$hash`. Throws `Problem('unavailable')` where too many wait. */
  hash(password: string): Promise<string>
  /** Null: there is no such person; false after the same time. */
  verify(password: string, encoded: string | null): Promise<boolean>
}

export interface PasswordHasherOptions {
  readonly randomBytes: (size: number) => Buffer
  readonly atOnceMax?: number
  readonly waitingMax?: number
}

interface Cost {
  readonly N: number
  readonly r: number
  readonly p: number
}

const COST: Cost = { N: 2 ** 15, r: 8, p: 1 }
const SALT_BYTES = 16
const HASH_BYTES = 32
const MEMORY_MAX = 64 * 1024 * 1024
const NOBODY = `scrypt$${COST.N}$${COST.r}$${COST.p}$${'A'.repeat(22)}$${'A'.repeat(43)}`

export function createPasswordHasher(options: PasswordHasherOptions): PasswordHasher {
  const { randomBytes, atOnceMax = 2, waitingMax = 64 } = options
  const waiting: (() => void)[] = []
  let running = 0

  async function inLine<T>(work: () => Promise<T>): Promise<T> {
    if (running >= atOnceMax) {
      if (waiting.length >= waitingMax) throw new Problem('unavailable', 'Too many logins are in progress; try again.')
      await new Promise<void>((resolve) => waiting.push(resolve))
    } else running++
    try {
      return await work()
    } finally {
      // Whoever waits longest takes over the place.
      const next = waiting.shift()
      if (next === undefined) running--
      else next()
    }
  }

  return {
    async hash(password) {
      const salt = randomBytes(SALT_BYTES)
      const hash = await inLine(() => derive(password, salt, COST))
      return `scrypt$${COST.N}$${COST.r}$${COST.p}$${salt.toString('base64url')}$${hash.toString('base64url')}`
    },
    async verify(password, encoded) {
      const [, n, r, p, salt = '', hash = ''] = (encoded ?? NOBODY).split('$')
      const cost: Cost = { N: Number(n), r: Number(r), p: Number(p) }
      const made = await inLine(() => derive(password, Buffer.from(salt, 'base64url'), cost))
      const kept = Buffer.from(hash, 'base64url')
      return made.length === kept.length && timingSafeEqual(made, kept) && encoded !== null
    },
  }
}

/** Letters that look alike to a person are alike (RFC 8265, 4.2). */
function derive(password: string, salt: Buffer, { N, r, p }: Cost): Promise<Buffer> {
  return new Promise((resolve, reject) =>
    scrypt(password.normalize('NFC'), salt, HASH_BYTES, { N, r, p, maxmem: MEMORY_MAX }, (error, key) =>
      error === null ? resolve(key) : reject(error),
    ),
  )
}
