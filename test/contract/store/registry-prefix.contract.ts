import { describe, expect, it } from 'vitest'
import { createRandom } from '../../random.ts'
import { AUTHOR, startRegistry, THING, write, type FreshRegistry } from './registry-contract-helpers.ts'

/** The contract of every registry for lists by the beginning of a key; run once per adapter. */
export function registryPrefixContract(name: string, fresh: FreshRegistry): void {
  describe(`lists by a prefix in the registry: ${name}`, () => {
    it('have the documents whose key begins so, in the order of the key and the id, page by page', async () => {
      const { registry } = await startRegistry(fresh)
      const random = createRandom(3)
      const all: { readonly id: string; readonly value: string; readonly colour: string }[] = []
      for (let number = 0; number < 60; number++) {
        const id = `d${String(number).padStart(2, '0')}`
        const value = `${'ab'[random.below(2)]}${'ab%_'[random.below(4)]}${random.below(4)}`
        const colour = ['red', 'blue'][random.below(2)]!
        all.push({ id, value, colour })
        const keys = { title: value, colour }
        await registry.commit(AUTHOR, 'make', [write(id, 0, { value }, { keys })])
      }
      const rival = { ...AUTHOR, tenant: 'rival' }
      const foreign = write('r', 0, { value: 'aa1' }, { tenant: 'rival', keys: { title: 'aa1', colour: 'red' } })
      await registry.commit(rival, 'make', [foreign])
      for (const prefix of ['a', 'b', 'aa', 'a%', 'a_', 'b_1', '', 'c', '\u{10ffff}']) {
        for (const where of [{}, { colour: 'red' }] as const) {
          const expected = all
            .filter(
              ({ value, colour }) => value.startsWith(prefix) && (!('colour' in where) || colour === where.colour),
            )
            .sort((one, other) => (one.value + one.id < other.value + other.id ? -1 : 1))
          const found: string[] = []
          let after: { readonly value: string; readonly id: string } | undefined
          for (;;) {
            const asked = { name: 'title', value: prefix, ...(after && { after }) }
            const page = await registry.list(THING, { tenant: 'acme', where, prefix: asked, limit: 7 })
            found.push(...page.map(({ id }) => id))
            const last = page.at(-1)
            if (last === undefined || page.length < 7) break
            after = { value: (last.body as { readonly value: string }).value, id: last.id }
          }
          expect(found, prefix).toEqual(expected.map(({ id }) => id))
        }
      }
    })
  })
}
