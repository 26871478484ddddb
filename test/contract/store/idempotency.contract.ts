import { describe, expect, it } from 'vitest'
import type { IdempotencyStore } from '../../../src/storage/store/idempotency-store.ts'

export interface FreshKeys {
  /** Opens the same keys on each call, also if they are still open. */
  open(): IdempotencyStore | Promise<IdempotencyStore>
  forwardADay(): void | Promise<void>
  /** Number of stored keys. */
  count(): number | Promise<number>
}

/** The contract of every store of idempotency keys; run once per adapter. */
export function idempotencyContract(name: string, fresh: () => FreshKeys | Promise<FreshKeys>): void {
  describe(`idempotency keys: ${name}`, () => {
    it('are claimed once, and keep their answer when they are opened again', async () => {
      const { open } = await fresh()
      const store = await open()
      expect(await store.claim('k', 'hash')).toBeNull()
      expect(await store.claim('k', 'other')).toEqual({ requestHash: 'hash', state: 'running', answer: null })
      await store.finish('k', 'answer')
      const done = { requestHash: 'hash', state: 'done', answer: 'answer' }
      expect(await store.claim('k', 'hash')).toEqual(done)
      expect(await (await open()).claim('k', 'hash')).toEqual(done)
    })

    it('are claimed by one of many concurrent requests', async () => {
      const { open } = await fresh()
      const store = await open()
      const claims = await Promise.all(Array.from({ length: 20 }, () => store.claim('k', 'hash')))
      expect(claims.filter((claim) => claim === null)).toHaveLength(1)
      expect(claims.filter((claim) => claim?.state === 'running')).toHaveLength(19)
    })

    it('are free after a release, but not after they are finished', async () => {
      const { open } = await fresh()
      const store = await open()
      await store.claim('k', 'hash')
      await store.release('k')
      expect(await store.claim('k', 'hash')).toBeNull()
      await store.finish('k', 'answer')
      await store.release('k')
      expect(await store.claim('k', 'hash')).toMatchObject({ state: 'done' })
    })

    it('run their work, and pass on its result or its error', async () => {
      const { open } = await fresh()
      const store = await open()
      await store.claim('k', 'hash')
      expect(await store.runClaimed('k', async () => 7)).toBe(7)
      await expect(store.runClaimed('k', () => Promise.reject(new Error('refused')))).rejects.toThrow('refused')
      await store.finish('k', 'answer')
    })

    it('expire after a day and release their space', async () => {
      const { open, forwardADay, count } = await fresh()
      const store = await open()
      for (let number = 0; number < 50; number++) {
        await store.claim(`old-${number}`, 'hash')
        await store.finish(`old-${number}`, `answer ${number}`)
      }
      await forwardADay()
      expect(await store.claim('old-49', 'hash')).toBeNull()
      for (let number = 0; number < 20; number++) await store.claim(`new-${number}`, 'hash')
      expect(await count()).toBe(21)
      for (let number = 0; number < 20; number++) {
        expect(await store.claim(`new-${number}`, 'hash')).toMatchObject({ state: 'running' })
      }
    })
  })
}
