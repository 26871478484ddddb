import { describe, expect, it } from 'vitest'
import type { Claims } from '../../../src/storage/store/claims.ts'

/** The contract of all claims, be it of one node or of several. */
export function claimsContract(name: string, open: () => Claims | Promise<Claims>): void {
  describe(`claims: ${name}`, () => {
    it('are held by their holder, which can claim again, with a higher fence', async () => {
      const claims = await open()
      const first = await claims.claim('job', 'a', 60_000)
      expect(await claims.renew(first!, 60_000)).toBe(true)
      const second = await claims.claim('job', 'a', 60_000)
      expect(second!.fence).toBeGreaterThan(first!.fence)
      await claims.release(second!)
      const third = await claims.claim('job', 'a', 60_000)
      expect(third!.fence).toBeGreaterThan(second!.fence)
    })
  })
}
