import { describe, expect, it } from 'vitest'
import { KeyTaken, RevisionConflict, type Change, type Write } from '../../../src/storage/store/registry.ts'
import { createRandom } from '../../random.ts'
import {
  NONE,
  OTHER,
  THING,
  AUTHOR,
  write,
  named,
  idsOf,
  startRegistry,
  type FreshRegistry,
} from './registry-contract-helpers.ts'

/** The contract of every registry; run once per adapter. `fresh` returns an opener of an empty registry. */
export function registryContract(name: string, fresh: FreshRegistry): void {
  describe(`registry: ${name}`, () => {
    const start = () => startRegistry(fresh)

    it('returns a document as it was committed, with its revision and times, also after it is opened again', async () => {
      const { open, clock, registry } = await start()
      await registry.commit(AUTHOR, 'make', [write('a', 0, { text: 'ä', list: [1, null] })])
      clock.set(2_000)
      await registry.commit(AUTHOR, 'change', [write('a', 1, { text: 'b' })])
      await registry.close()

      expect(await (await open(clock)).get(THING, 'a')).toEqual({
        kind: 'thing',
        id: 'a',
        tenant: 'acme',
        revision: 2,
        body: { text: 'b' },
        createdAtMs: 1_000,
        updatedAtMs: 2_000,
      })
    })

    it('identifies a document by kind and id together', async () => {
      const { registry } = await start()
      await registry.commit(AUTHOR, 'make', [write('a', 0, 1), write('a', 0, 2, { kind: 'other' })])

      expect((await registry.get(THING, 'a'))?.body).toBe(1)
      expect((await registry.get(OTHER, 'a'))?.body).toBe(2)
      expect(await registry.get(NONE, 'a')).toBeNull()
    })

    it('returns several documents of a kind by their ids, without those that do not exist', async () => {
      const { registry } = await start()
      await registry.commit(AUTHOR, 'make', [write('a', 0, 1), write('b', 0, 2), write('c', 0, 3, { kind: 'other' })])

      const found = await registry.getEach(THING, ['b', 'c', 'missing', 'a', 'b'])
      expect(new Map([...found].map(([id, { body }]) => [id, body]))).toEqual(
        new Map([
          ['a', 1],
          ['b', 2],
        ]),
      )
      expect(await registry.getEach(THING, [])).toEqual(new Map())
    })

    it.each([
      ['a revision that has passed', write('b', 1, 9)],
      ['a revision that is not there yet', write('b', 3, 9)],
      ['a document that must not exist and does', write('b', 0, 9)],
      ['a document that must exist and does not', write('c', 1, 9)],
      ['the removal of a document that is not there', write('c', 0, null)],
    ])('refuses %s, and does nothing of the commit', async (_, refused) => {
      const { registry } = await start()
      await registry.commit(AUTHOR, 'make', [write('a', 0, 1), write('b', 0, 1)])
      await registry.commit(AUTHOR, 'change', [write('b', 1, 2)])
      const changes: Change[] = []
      registry.watch(await registry.end(), (change) => changes.push(change))

      const commit = registry.commit(AUTHOR, 'change', [write('a', 1, 9), write('n', 0, 9), refused])
      await expect(commit).rejects.toBeInstanceOf(RevisionConflict)
      expect(await registry.get(THING, 'a')).toMatchObject({ revision: 1, body: 1 })
      expect(await registry.get(THING, 'b')).toMatchObject({ revision: 2, body: 2 })
      expect(await registry.get(THING, 'n')).toBeNull()
      await registry.commit(AUTHOR, 'make', [write('later', 0, 1)])
      expect(changes.map(({ document }) => document.id)).toEqual(['later'])
    })

    it('executes several commits together; a refused one does not affect the others', async () => {
      const { registry } = await start()
      await registry.commit(AUTHOR, 'make', [write('a', 0, 1), named('x', 0, 'taken')])
      const changes: Change[] = []
      registry.watch(await registry.end(), (change) => changes.push(change))
      const rival = { tenant: 'rival', consumer: 'con_2' }

      const errors = await registry.commitEach([
        { author: AUTHOR, action: 'change', writes: [write('a', 1, 2), write('b', 0, 1)] },
        { author: AUTHOR, action: 'change', writes: [write('c', 0, 1), write('a', 1, 9)] },
        { author: rival, action: 'make', writes: [named('y', 0, 'taken', { tenant: 'rival' })] },
        // On the result of the first commit.
        { author: rival, action: 'change', writes: [write('a', 2, 3), write('m', 0, 1, { tenant: 'rival' })] },
      ])
      expect(errors.map((error) => error?.name ?? null)).toEqual([null, 'RevisionConflict', 'KeyTaken', null])
      expect(await registry.get(THING, 'a')).toMatchObject({ revision: 3, body: 3 })
      expect(await registry.get(THING, 'c')).toBeNull()
      expect(await registry.get(THING, 'y')).toBeNull()
      expect(changes.map(({ document }) => `${document.id} ${document.revision}`)).toEqual(['a 2', 'b 1', 'a 3', 'm 1'])
      const [entry] = await registry.history({ tenant: 'rival', bodiesOf: [], limit: 1 })
      expect(entry).toMatchObject({ author: rival, action: 'change', id: 'm' })
      expect(await registry.commitEach([])).toEqual([])
    })

    it('accepts one of many concurrent commits to a document, and rejects the others', async () => {
      const { registry } = await start()
      await registry.commit(AUTHOR, 'make', [write('a', 0, 0)])
      const ends = await Promise.allSettled(
        Array.from({ length: 20 }, (_, index) => registry.commit(AUTHOR, 'change', [write('a', 1, index)])),
      )

      expect(ends.filter(({ status }) => status === 'fulfilled')).toHaveLength(1)
      expect((await registry.get(THING, 'a'))?.revision).toBe(2)
    })

    it('never writes to a document of another tenant, for any expected revision', async () => {
      const { registry } = await start()
      await registry.commit(AUTHOR, 'make', [write('a', 0, 1)])

      await expect(registry.commit(AUTHOR, 'change', [write('a', 1, 2, { tenant: 'rival' })])).rejects.toThrow('rival')
      expect(await registry.get(THING, 'a')).toMatchObject({ tenant: 'acme', revision: 1, body: 1 })
    })

    it('accepts a unique key for one document of the kind only, over all tenants', async () => {
      const { registry } = await start()
      await registry.commit(AUTHOR, 'make', [named('a', 0, 'x')])
      const theirs = [write('m', 0, 1, { tenant: 'rival' }), named('b', 0, 'x', { tenant: 'rival' })]

      const taken = registry.commit({ tenant: 'rival', consumer: 'con_2' }, 'make', theirs)
      await expect(taken).rejects.toMatchObject({ name: 'KeyTaken', key: 'name' })
      await expect(taken).rejects.toBeInstanceOf(KeyTaken)
      expect(await registry.get(THING, 'm')).toBeNull()
      await registry.commit(AUTHOR, 'make', [named('a', 0, 'x', { kind: 'other' })])
    })

    it('frees a unique key by a change, by a removal, and within the same commit', async () => {
      const { registry } = await start()
      await registry.commit(AUTHOR, 'make', [named('a', 0, 'x'), named('b', 0, 'y')])
      await registry.commit(AUTHOR, 'swap', [named('a', 1, 'y'), named('b', 1, 'x')])
      expect((await registry.find(THING, 'name', 'x'))?.id).toBe('b')

      await registry.commit(AUTHOR, 'give up', [named('c', 0, 'x'), write('b', 2, null)])
      expect((await registry.find(THING, 'name', 'x'))?.id).toBe('c')
      await registry.commit(AUTHOR, 'rename', [named('c', 1, 'z')])
      await registry.commit(AUTHOR, 'make', [named('d', 0, 'x')])
      expect((await registry.find(THING, 'name', 'x'))?.id).toBe('d')
      expect((await registry.find(THING, 'name', 'z'))?.id).toBe('c')
    })

    it('accepts two writes of one document in a commit, each on the previous revision', async () => {
      const { registry } = await start()
      await registry.commit(AUTHOR, 'make', [named('a', 0, 'x'), named('a', 1, 'y')])

      expect(await registry.get(THING, 'a')).toMatchObject({ revision: 2, body: { name: 'y' } })
      expect(await registry.find(THING, 'name', 'x')).toBeNull()
    })

    it('finds nothing by the keys of a document that was removed', async () => {
      const { registry } = await start()
      await registry.commit(AUTHOR, 'make', [named('a', 0, 'x')])
      await registry.commit(AUTHOR, 'remove', [write('a', 1, null)])

      expect(await registry.get(THING, 'a')).toBeNull()
      expect(await registry.find(THING, 'name', 'x')).toBeNull()
      expect(await registry.list(THING, { where: { name: 'x' }, limit: 9 })).toEqual([])
    })

    it('lists the documents that pass the filters, in id order, page by page', async () => {
      const { registry } = await start()
      const seed = 20_270_115
      const random = createRandom(seed)
      const all = Array.from({ length: 300 }, (_, index) => ({
        id: `${random.below(10_000)}-${index}`,
        tenant: `t${random.below(3)}`,
        keys: { colour: `c${random.below(4)}`, size: `s${random.below(20)}` },
      }))
      await registry.commit(
        AUTHOR,
        'make',
        all.map(({ id, tenant, keys }) => write(id, 0, 1, { tenant, keys })),
      )

      for (let trial = 0; trial < 60; trial++) {
        const tenant = random.below(3) === 0 ? undefined : `t${random.below(3)}`
        const where = {
          ...(random.below(2) === 0 && { colour: `c${random.below(5)}` }),
          ...(random.below(2) === 0 && { size: `s${random.below(21)}` }),
        }
        const limit = 1 + random.below(40)
        const found: string[] = []
        for (let after = ''; ;) {
          const query = { where, after, limit, ...(tenant !== undefined && { tenant }) }
          const page = idsOf(await registry.list(THING, query))
          found.push(...page)
          if (page.length < limit) break
          after = page.at(-1) ?? ''
        }
        const expected = all
          .filter((each) => tenant === undefined || each.tenant === tenant)
          .filter(({ keys }) => where.colour === undefined || where.colour === keys.colour)
          .filter(({ keys }) => where.size === undefined || where.size === keys.size)
        expect(found, `seed ${seed}, trial ${trial}`).toEqual(idsOf(expected).sort())
      }
    })

    it('delivers stored changes to a watcher, then live ones, in order and without duplicates', async () => {
      const { registry } = await start()
      const delivered: Change[] = []
      await registry.commit(AUTHOR, 'make', [write('a', 0, 1), write('b', 0, 1)])
      registry.watch(0, (change) => delivered.push(change))
      await registry.commit(AUTHOR, 'change', [write('a', 1, 2)])
      await registry.commit(AUTHOR, 'remove', [write('a', 2, null)])

      expect(
        delivered.map(({ document, removed }) => [document.id, document.revision, document.body, removed]),
      ).toEqual([
        ['a', 1, 1, false],
        ['b', 1, 1, false],
        ['a', 2, 2, false],
        ['a', 3, 2, true],
      ])
      const positions = delivered.map(({ position }) => position)
      expect(positions).toEqual([...new Set(positions)].sort((a, b) => a - b))
    })

    it('resumes a watcher after a restart, over more than one page of changes', async () => {
      const { open, clock, registry } = await start()
      const delivered: Change[] = []
      const make = (from: number, to: number): Write[] =>
        Array.from({ length: to - from }, (_, index) => write(`d${from + index}`, 0, from + index))
      const stop = registry.watch(0, (change) => delivered.push(change))
      await registry.commit(AUTHOR, 'make', make(0, 10))
      stop()
      await registry.commit(AUTHOR, 'make', make(10, 1_200))
      await registry.close()

      const again = await open(clock)
      again.watch(delivered.at(-1)?.position ?? 0, (change) => delivered.push(change))
      await again.commit(AUTHOR, 'make', make(1_200, 1_210))
      expect(delivered.map(({ document }) => document.body)).toEqual(Array.from({ length: 1_210 }, (_, index) => index))
    })

    it('delivers each change once and in order to watchers that commit or unsubscribe in their listener', async () => {
      const { registry } = await start()
      const delivered: unknown[] = []
      const others: unknown[] = []
      await registry.commit(AUTHOR, 'make', [write('a', 0, 0), write('b', 0, 0)])
      const commits: Promise<void>[] = []
      const stop = registry.watch(0, ({ document }) => {
        delivered.push([document.id, document.revision])
        const { revision } = document
        if (document.id === 'a' && revision < 4) {
          commits.push(registry.commit(AUTHOR, 'again', [write('a', revision, revision)]))
        }
        if (document.id === 'c') stop()
      })
      registry.watch(0, ({ document }) => others.push([document.id, document.revision]))
      while ((await registry.get(THING, 'a'))?.revision !== 4) await Promise.all(commits)
      await registry.commit(AUTHOR, 'make', [write('c', 0, 0), write('d', 0, 0)])

      const both = [
        ['a', 1],
        ['b', 1],
        ['a', 2],
        ['a', 3],
        ['a', 4],
        ['c', 1],
      ]
      expect(delivered).toEqual(both)
      expect(others).toEqual([...both, ['d', 1]])
    })

    it('accepts a commit without writes, which changes nothing', async () => {
      const { registry } = await start()
      const delivered: Change[] = []
      registry.watch(0, (change) => delivered.push(change))
      await registry.commit(AUTHOR, 'nothing', [])

      expect(delivered).toEqual([])
    })
  })
}
