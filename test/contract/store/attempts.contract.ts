import { describe, expect, it } from 'vitest'
import type { AttemptLimit, AttemptStore } from '../../../src/storage/store/attempts.ts'

export interface OpenedAttempts {
  readonly attempts: AttemptStore
  /** Lets the clock of the store go on. */
  readonly forward: (ms: number) => Promise<void>
}

const MINUTE_MS = 60_000
const SLIDING: AttemptLimit = { max: 3, windowMs: 15 * MINUTE_MS, isSliding: true }
const WINDOW: AttemptLimit = { max: 3, windowMs: 10 * MINUTE_MS, isSliding: false }
/** A keyed hash, as the store receives it. */
export const keyOf = (number: number): string => number.toString(16).padStart(5, '0').padEnd(64, '7')
const [KEY, OTHER] = [keyOf(1), keyOf(2)]

/** The contract of all stores of attempts, be they of one node or of several. */
export function attemptsContract(name: string, open: () => OpenedAttempts | Promise<OpenedAttempts>): void {
  describe(`attempts: ${name}`, () => {
    it.each([SLIDING, WINDOW])('are counted up to their maximum, each key for itself: %j', async (limit) => {
      const { attempts } = await open()
      for (let count = 0; count < limit.max; count++) expect(await attempts.take(KEY, limit)).toBe(0)
      for (let count = 0; count < 2; count++) {
        const waitMs = await attempts.take(KEY, limit)
        expect(waitMs).toBeGreaterThan(limit.windowMs - MINUTE_MS)
        expect(waitMs).toBeLessThanOrEqual(limit.windowMs)
      }
      expect(await attempts.take(OTHER, limit)).toBe(0)
    })

    it.each([SLIDING, WINDOW])('count one by one if they come at once: %j', async (limit) => {
      const { attempts } = await open()
      const waits = await Promise.all(Array.from({ length: 20 }, () => attempts.take(KEY, limit)))
      expect(waits.filter((wait) => wait === 0)).toHaveLength(limit.max)
    })

    it.each([SLIDING, WINDOW])('are allowed again after the time that was named: %j', async (limit) => {
      const { attempts, forward } = await open()
      for (let count = 0; count < limit.max; count++) await attempts.take(KEY, limit)
      await forward(4 * MINUTE_MS)
      const waitMs = await attempts.take(KEY, limit)
      await forward(waitMs - MINUTE_MS)
      expect(await attempts.take(KEY, limit)).toBeGreaterThan(0)
      await forward(MINUTE_MS)
      expect(await attempts.take(KEY, limit)).toBe(0)
    })

    it('never exceed the maximum of a span that slides, and may exceed that of windows across their border', async () => {
      const { attempts, forward } = await open()
      for (const limit of [SLIDING, WINDOW]) await attempts.take(KEY, limit)
      await forward(9 * MINUTE_MS)
      for (const limit of [SLIDING, WINDOW]) for (let count = 0; count < 2; count++) await attempts.take(KEY, limit)
      await forward(7 * MINUTE_MS)
      expect(await attempts.take(KEY, SLIDING)).toBe(0)
      expect(await attempts.take(KEY, SLIDING)).toBeGreaterThan(0)
      for (let count = 0; count < 3; count++) expect(await attempts.take(KEY, WINDOW)).toBe(0)
    })

    it.each([SLIDING, WINDOW])('can be taken back one by one, and not below zero: %j', async (limit) => {
      const { attempts } = await open()
      await attempts.giveBack(KEY, limit)
      for (let count = 0; count < limit.max; count++) await attempts.take(KEY, limit)
      await attempts.giveBack(KEY, limit)
      expect(await attempts.take(KEY, limit)).toBe(0)
      expect(await attempts.take(KEY, limit)).toBeGreaterThan(0)
      for (let count = 0; count < 9; count++) await attempts.giveBack(KEY, limit)
      for (let count = 0; count < limit.max; count++) expect(await attempts.take(KEY, limit)).toBe(0)
      expect(await attempts.take(KEY, limit)).toBeGreaterThan(0)
    })
  })
}
