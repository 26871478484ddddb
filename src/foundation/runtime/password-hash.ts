/**
 * Password hashes: scrypt (RFC 7914) with a random salt. Each hash takes 32 MiB and tens of milliseconds, which slows down an attack
 * on a stolen registry.
 *
 * Hashing runs in the thread pool with bounded concurrency and a bounded queue, so that a flood of sign-ins exhausts neither memory nor
 * the pool. Verification does the same work if there is no stored hash, so that its duration does not reveal whether a person exists.
 */

import { scrypt, timingSafeEqual } from 'node:crypto'
import { Problem } from '../domain/problem.ts'

export interface PasswordHasher {
  /** Returns `scrypt$N$r$p$salt$hash`. Throws `Problem('unavailable')` if the queue is full. */
  hash(password: string): Promise<string>
  /** Null as `encoded`: the person does not exist; returns false after the same time. */
  verify(password: string, encoded: string | null): Promise<boolean>
}

export interface PasswordHasherOptions {
  readonly randomBytes: (size: number) => Buffer
  /** Cost of new hashes; default: `COST`. */
  readonly cost?: PasswordCost
  readonly atOnceMax?: number
  readonly waitingMax?: number
}

/** Parameters of scrypt (RFC 7914, section 2). */
export interface PasswordCost {
  readonly N: number
  readonly r: number
  readonly p: number
}

const COST: PasswordCost = { N: 2 ** 15, r: 8, p: 1 }
const SALT_BYTES = 16
const HASH_BYTES = 32
const MEMORY_MAX = 64 * 1024 * 1024

export function createPasswordHasher(options: PasswordHasherOptions): PasswordHasher {
  const { randomBytes, cost = COST, atOnceMax = 2, waitingMax = 64 } = options
  const noPassword = encode(cost, 'A'.repeat(22), 'A'.repeat(43))
  const waiting: (() => void)[] = []
  let running = 0

  async function withSlot<T>(work: () => Promise<T>): Promise<T> {
    if (running >= atOnceMax) {
      if (waiting.length >= waitingMax)
        throw new Problem('unavailable', 'Too many sign-ins are in progress; try again.')
      await new Promise<void>((resolve) => waiting.push(resolve))
    } else running++
    try {
      return await work()
    } finally {
      // The slot passes to the task that has waited longest.
      const next = waiting.shift()
      if (next === undefined) running--
      else next()
    }
  }

  return {
    async hash(password) {
      const salt = randomBytes(SALT_BYTES)
      const hash = await withSlot(() => derive(password, salt, cost))
      return encode(cost, salt.toString('base64url'), hash.toString('base64url'))
    },
    async verify(password, encoded) {
      const [, n, r, p, salt = '', hash = ''] = (encoded ?? noPassword).split('$')
      const costOfHash = { N: Number(n), r: Number(r), p: Number(p) }
      const computed = await withSlot(() => derive(password, Buffer.from(salt, 'base64url'), costOfHash))
      const stored = Buffer.from(hash, 'base64url')
      return computed.length === stored.length && timingSafeEqual(computed, stored) && encoded !== null
    },
  }
}

const encode = ({ N, r, p }: PasswordCost, salt: string, hash: string): string =>
  `scrypt$${N}$${r}$${p}$${salt}$${hash}`

/** Normalises to NFC, so that equivalent Unicode texts have the same hash (RFC 8265, section 4.2). */
function derive(password: string, salt: Buffer, { N, r, p }: PasswordCost): Promise<Buffer> {
  return new Promise((resolve, reject) =>
    scrypt(password.normalize('NFC'), salt, HASH_BYTES, { N, r, p, maxmem: MEMORY_MAX }, (error, key) =>
      error === null ? resolve(key) : reject(error),
    ),
  )
}
