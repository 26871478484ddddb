// @module-tag postgres

import { describe, expect, it } from 'vitest'
import { commit } from '../../../src/control/command/commands.ts'
import { createSharedMutex } from '../../../src/control/command/shared-mutex.ts'
import { LockLost } from '../../../src/storage/store/lock-fences.ts'
import type { Postgres } from '../../../src/storage/store/postgres/open-postgres.ts'
import { RevisionConflict, type Registry } from '../../../src/storage/store/registry.ts'
import { executeSql, openTestPostgres } from '../../fixtures/test-postgres.ts'
import { usePostgres } from '../../fixtures/use-postgres.ts'
import { AUTHOR, THING, write } from './registry-contract-helpers.ts'

const server = usePostgres()

async function start() {
  const url = await server.createDatabase()
  const [one, other] = [await openTestPostgres(url), await openTestPostgres(url)]
  const [mutexOfOne, mutexOfOther] = [createSharedMutex(one.fences), createSharedMutex(other.fences)]
  return { url, one, other, mutexOfOne, mutexOfOther }
}

const make = (registry: Registry, id: string): Promise<void> => registry.commit(AUTHOR, 'make', [write(id, 0, 1)])
const countOf = async (registry: Registry): Promise<number> => (await registry.list(THING, { limit: 100 })).length
const PLACES = 5

/** Adds a document if there is a place. */
async function takePlace(registry: Registry, id: string): Promise<boolean> {
  if ((await countOf(registry)) >= PLACES) return false
  await make(registry, id)
  return true
}

describe('a lock across nodes', () => {
  it('admits exactly as many as there are places, however many nodes look for one at once', async () => {
    const { one, other, mutexOfOne, mutexOfOther } = await start()
    const ends = await Promise.allSettled(
      Array.from({ length: 30 }, (_, index) => {
        const [{ registry }, mutex] = index % 2 === 0 ? [one, mutexOfOne] : [other, mutexOfOther]
        return mutex.runExclusive(['places'], () => takePlace(registry, `d${index}`))
      }),
    )
    expect(await countOf(one.registry)).toBe(PLACES)
    expect(ends.filter((end) => end.status === 'fulfilled' && end.value)).toHaveLength(PLACES)
    expect(ends.filter(({ status }) => status === 'rejected')).toEqual([])
  })

  it('repeats a task of which the first commit is refused, with what the other node has changed', async () => {
    const { one, other, mutexOfOne, mutexOfOther } = await start()
    const seen: number[] = []
    await mutexOfOne.runExclusive(['k'], async () => {
      seen.push(await countOf(one.registry))
      if (seen.length === 1) await mutexOfOther.runExclusive(['k'], () => make(other.registry, 'a'))
      await make(one.registry, 'b')
    })
    expect(seen).toEqual([0, 1])
  })

  it('repeats a task that turned the refusal into a problem', async () => {
    const { one, other, mutexOfOne, mutexOfOther } = await start()
    let runs = 0
    await mutexOfOne.runExclusive(['k'], async () => {
      if (++runs === 1) await mutexOfOther.runExclusive(['k'], () => make(other.registry, 'a'))
      await commit(one.registry, AUTHOR, 'make', [write('b', 0, 1)])
    })
    expect(runs).toBe(2)
  })

  it('hides a conflict of revisions that only shows that the other node was faster', async () => {
    const { one, other, mutexOfOne, mutexOfOther } = await start()
    await make(one.registry, 'a')
    let isFirst = true
    await mutexOfOne.runExclusive(['k'], async () => {
      const document = await one.registry.get(THING, 'a')
      const change = ({ registry }: Postgres) =>
        registry.commit(AUTHOR, 'change', [write('a', document!.revision, isFirst)])
      if (isFirst) await mutexOfOther.runExclusive(['k'], () => change(other))
      isFirst = false
      await change(one)
    })
    expect(await one.registry.get(THING, 'a')).toMatchObject({ revision: 3, body: false })
    const stale = mutexOfOne.runExclusive(['k'], () => one.registry.commit(AUTHOR, 'change', [write('a', 1, 0)]))
    await expect(stale).rejects.toBeInstanceOf(RevisionConflict)
  })

  it('refuses a later commit of a task, which is not repeated', async () => {
    const { one, other, mutexOfOne, mutexOfOther } = await start()
    let runs = 0
    const task = mutexOfOne.runExclusive(['k'], async () => {
      runs++
      await make(one.registry, 'a')
      await mutexOfOther.runExclusive(['k'], () => make(other.registry, 'b'))
      await make(one.registry, 'c')
    })
    await expect(task).rejects.toBeInstanceOf(LockLost)
    expect(runs).toBe(1)
    expect(await one.registry.get(THING, 'c')).toBeNull()
  })

  it('holds the keys of a task within a task, also the same key, and repeats the one that holds the lost key', async () => {
    const { one, other, mutexOfOne, mutexOfOther } = await start()
    const runs = { outer: 0, inner: 0 }
    await mutexOfOne.runExclusive(['outer'], async () => {
      runs.outer++
      await one.fences.runFenced(['inner', 'outer'], async () => {
        runs.inner++
        if (runs.inner === 1) await mutexOfOther.runExclusive(['inner'], () => make(other.registry, 'a'))
        if (runs.inner === 2) await mutexOfOther.runExclusive(['outer'], () => make(other.registry, 'b'))
        await make(one.registry, 'c')
      })
      await make(one.registry, 'd')
    })
    expect(runs).toEqual({ outer: 2, inner: 3 })
    expect(await countOf(one.registry)).toBe(4)
  })

  it('does not exclude tasks with other keys, or tasks that only read', async () => {
    const { one, other, mutexOfOne, mutexOfOther } = await start()
    let runs = 0
    await mutexOfOne.runExclusive(['k'], async () => {
      runs++
      await mutexOfOther.runExclusive(['other'], () => make(other.registry, `a${runs}`))
      await mutexOfOther.runExclusive(['k'], () => countOf(other.registry))
      await make(one.registry, `b${runs}`)
    })
    expect(runs).toBe(1)
  })

  it('begins a task when the watchers of its node have all changes of other nodes', async () => {
    const { one, other, mutexOfOne } = await start()
    const known = new Set<string>()
    one.registry.watch(0, ({ document }) => known.add(document.id))
    for (let number = 0; number < 20; number++) {
      await make(other.registry, `d${number}`)
      await mutexOfOne.runExclusive(['k'], async () => expect(known.size).toBe(number + 1))
    }
  })

  it('is not held by work that a commit of the task causes in a listener, or that outlives the task', async () => {
    const { url, one, mutexOfOne } = await start()
    const { promise: ended, resolve } = Promise.withResolvers<void>()
    const works: Promise<void>[] = []
    one.registry.watch(0, ({ document }) => {
      if (document.id === 'a') works.push(make(one.registry, 'of the listener'))
    })
    await mutexOfOne.runExclusive(['k'], async () => {
      works.push(ended.then(() => make(one.registry, 'later')))
      await make(one.registry, 'a')
      await Promise.all(works.slice(1))
      await executeSql(url, `UPDATE lock_fence SET last_task = gen_random_uuid()`)
    })
    resolve()
    await Promise.all(works)
    expect(await countOf(one.registry)).toBe(3)
  })

  it('leaves no row for a key that was not used for a day', async () => {
    const { url, one, mutexOfOne } = await start()
    for (let number = 0; number < 8; number++) {
      await mutexOfOne.runExclusive([`k${number}`], () => make(one.registry, `d${number}`))
    }
    await executeSql(url, `UPDATE lock_fence SET renewed_at = renewed_at - interval '1 day'`)
    for (let number = 0; number < 3; number++) {
      await mutexOfOne.runExclusive(['new'], () => make(one.registry, `n${number}`))
    }
    expect((await executeSql(url, 'SELECT key FROM lock_fence')).rows).toEqual([{ key: 'new' }])
  })
})
