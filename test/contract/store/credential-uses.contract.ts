import { describe, expect, it } from 'vitest'
import type { CredentialUseStore } from '../../../src/storage/store/credential-uses.ts'

/** The contract of all stores of the uses of credentials. `open` returns two connections to one store. */
export function credentialUsesContract(
  name: string,
  open: () => Promise<readonly [CredentialUseStore, CredentialUseStore]>,
): void {
  describe(`uses of credentials: ${name}`, () => {
    it('has the latest minute of each, in whatever order they are stored', async () => {
      const [one, other] = await open()
      await one.store(
        new Map([
          ['crd_1', 30],
          ['crd_2', 20],
        ]),
      )
      await other.store(
        new Map([
          ['crd_1', 29],
          ['crd_2', 21],
          ['crd_3', 1],
        ]),
      )
      expect([...(await one.read(['crd_1', 'crd_2', 'crd_3', 'crd_4']))].toSorted()).toEqual([
        ['crd_1', 30],
        ['crd_2', 21],
        ['crd_3', 1],
      ])
      expect([...(await other.read(['crd_2']))]).toEqual([['crd_2', 21]])
      expect((await other.read([])).size).toBe(0)
    })

    it('has none of those that are removed', async () => {
      const [one] = await open()
      await one.store(
        new Map([
          ['crd_1', 1],
          ['crd_2', 2],
        ]),
      )
      await one.remove(['crd_1', 'crd_3'])
      expect([...(await one.read(['crd_1', 'crd_2']))]).toEqual([['crd_2', 2]])
    })

    it('takes many at once, also the same ones from two sides', async () => {
      const [one, other] = await open()
      const ids = Array.from({ length: 5_000 }, (_, index) => `crd_${index}`)
      await Promise.all([
        one.store(new Map(ids.map((id) => [id, 7]))),
        other.store(new Map(ids.toReversed().map((id) => [id, 8]))),
      ])
      const read = await one.read(ids)
      expect(read.size).toBe(5_000)
      expect(new Set(read.values())).toEqual(new Set([8]))
    })
  })
}
