import { describe, expect, it } from 'vitest'
import { createRandom } from '../../random.ts'
import { AUTHOR, startRegistry, THING, write, type FreshRegistry } from './registry-contract-helpers.ts'

/** The contract of every registry for documents with labels; run once per adapter. */
export function registryLabelsContract(name: string, fresh: FreshRegistry): void {
  describe(`labels in the registry: ${name}`, () => {
    const start = () => startRegistry(fresh)

    it('lists the documents that have all of several labels, as a filter of all documents does, page by page', async () => {
      const { registry } = await start()
      const random = createRandom(7)
      const all: { readonly id: string; readonly labels: Readonly<Record<string, string>> }[] = []
      for (let number = 0; number < 60; number++) {
        const id = `d${String(number).padStart(2, '0')}`
        const labels = Object.fromEntries(['a', 'b', 'c'].map((key) => [key, String(random.below(2))]))
        all.push({ id, labels })
        await registry.commit(AUTHOR, 'make', [write(id, 0, { labels: { a: 'old' } })])
        await registry.commit(AUTHOR, 'change', [write(id, 1, { labels })])
      }
      const removed = all.shift()!
      await registry.commit(AUTHOR, 'drop', [write(removed.id, 2, null)])
      for (const label of [
        ['a:1'],
        ['a:1', 'b:0'],
        ['a:0', 'b:1', 'c:1'],
        ['a:old'],
        ['a:1', 'a:0'],
        ['__proto__:1'],
      ]) {
        const expected = all.filter(({ labels }) =>
          label.every((each) => Object.entries(labels).some(([key, value]) => each === `${key}:${value}`)),
        )
        const found: string[] = []
        for (let after = ''; ;) {
          const page = await registry.list(THING, { tenant: 'acme', where: { label }, after, limit: 3 })
          found.push(...page.map(({ id }) => id))
          if (page.length < 3) break
          after = page.at(-1)!.id
        }
        expect(found, label.join()).toEqual(expected.map(({ id }) => id))
        expect(await registry.list(THING, { tenant: 'rival', where: { label }, limit: 9 })).toEqual([])
      }
    })
  })
}
