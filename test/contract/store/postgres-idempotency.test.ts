// @module-tag postgres

import { describe, expect, it } from 'vitest'
import { RequestTakenOver } from '../../../src/storage/store/idempotency-store.ts'
import type { Postgres } from '../../../src/storage/store/postgres/open-postgres.ts'
import { StoreUnwritable } from '../../../src/storage/store/unwritable.ts'
import { openBehindProxy } from '../../fixtures/faulty-proxy.ts'
import { executeSql, openTestPostgres } from '../../fixtures/test-postgres.ts'
import { usePostgres } from '../../fixtures/use-postgres.ts'
import { createRandom } from '../../random.ts'
import { readSeed } from '../../random-seed.ts'
import { idempotencyContract } from './idempotency.contract.ts'
import { AUTHOR, THING, write } from './registry-contract-helpers.ts'

const server = usePostgres()

/** Moves all times of the keys back, as if they were that much older. */
const age = (url: string, interval: string): Promise<unknown> =>
  executeSql(
    url,
    `UPDATE idempotency_key SET claimed_at = claimed_at - interval '${interval}', held_until = held_until - interval '${interval}'`,
  )

idempotencyContract('postgres', async () => {
  const url = await server.createDatabase()
  return {
    open: async () => (await openTestPostgres(url)).idempotencyKeys,
    forwardADay: async () => void (await age(url, '1 day')),
    count: async () => Number((await executeSql(url, 'SELECT count(*) FROM idempotency_key')).rows[0]?.['count']),
  }
})

const make = ({ registry }: Postgres, id: string): Promise<void> => registry.commit(AUTHOR, 'make', [write(id, 0, 1)])

/** Two nodes; the first one has claimed the key `k`. */
async function start() {
  const url = await server.createDatabase()
  const [one, other] = [await openTestPostgres(url), await openTestPostgres(url)]
  expect(await one.idempotencyKeys.claim('k', 'hash')).toBeNull()
  return { url, one, other }
}

describe('an idempotency key of a node that died', () => {
  it('is running until its time is over, and free afterwards if the request had no effect', async () => {
    const { url, other } = await start()
    expect(await other.idempotencyKeys.claim('k', 'hash')).toMatchObject({ state: 'running' })
    await age(url, '30 seconds')
    expect(await other.idempotencyKeys.claim('k', 'hash')).toBeNull()
    expect(await other.idempotencyKeys.claim('k', 'hash')).toMatchObject({ state: 'running' })
  })

  it('is interrupted after its time if the request had an effect, and the request is not executed again', async () => {
    const { url, one, other } = await start()
    await one.idempotencyKeys.runClaimed('k', () => make(one, 'a'))
    expect(await other.idempotencyKeys.claim('k', 'hash')).toMatchObject({ state: 'running' })
    await age(url, '30 seconds')
    expect(await other.idempotencyKeys.claim('k', 'hash')).toMatchObject({ state: 'cut_off', answer: null })
    await age(url, '1 day')
    expect(await other.idempotencyKeys.claim('k', 'hash')).toBeNull()
  })
})

describe('a node that was only slow', () => {
  it('cannot commit after another node has claimed the key, and leaves the answer of that node', async () => {
    const { url, one, other } = await start()
    await one.idempotencyKeys.runClaimed('k', async () => {
      await age(url, '30 seconds')
      expect(await other.idempotencyKeys.claim('k', 'hash')).toBeNull()
      await expect(make(one, 'a')).rejects.toBeInstanceOf(RequestTakenOver)
      expect(await one.registry.get(THING, 'a')).toBeNull()
      await other.idempotencyKeys.runClaimed('k', () => make(other, 'a'))
      await other.idempotencyKeys.finish('k', 'of the other')
    })
    await one.idempotencyKeys.finish('k', 'of the slow one')
    await one.idempotencyKeys.release('k')
    for (const node of [one, other]) {
      expect(await node.idempotencyKeys.claim('k', 'hash')).toMatchObject({ state: 'done', answer: 'of the other' })
    }
  })

  it('cannot claim its own key a second time while its request runs', async () => {
    const { url, one } = await start()
    await age(url, '30 seconds')
    expect(await one.idempotencyKeys.claim('k', 'hash')).toMatchObject({ state: 'running' })
  })

  it('keeps its key while it prolongs it', async () => {
    const url = await server.createDatabase()
    const prolongs: (() => void)[] = []
    const clock = {
      nowMs: () => Date.now(),
      after: () => () => {},
      every: (_: number, task: () => void) => {
        prolongs.push(task)
        return () => {}
      },
    }
    const one = await openTestPostgres(url, { clock })
    const other = await openTestPostgres(url)
    await one.idempotencyKeys.claim('k', 'hash')
    await age(url, '30 seconds')
    for (const prolong of prolongs) prolong()
    const isHeld = async () =>
      (await executeSql(url, 'SELECT held_until > now() AS held FROM idempotency_key')).rows[0]?.['held']
    await expect.poll(isHeld).toBe(true)
    expect(await other.idempotencyKeys.claim('k', 'hash')).toMatchObject({ state: 'running' })
  })
})

describe('a request with an idempotency key', () => {
  it('that failed after an effect counts as interrupted at once; without an effect it is free at once', async () => {
    const { one, other } = await start()
    await one.idempotencyKeys.runClaimed('k', () => make(one, 'a'))
    await one.idempotencyKeys.release('k')
    expect(await other.idempotencyKeys.claim('k', 'hash')).toMatchObject({ state: 'cut_off' })

    await one.idempotencyKeys.claim('k2', 'hash')
    await expect(one.idempotencyKeys.runClaimed('k2', () => make(one, 'a'))).rejects.toThrow()
    await one.idempotencyKeys.release('k2')
    expect(await other.idempotencyKeys.claim('k2', 'hash')).toBeNull()
  })

  it('marks only its own key, and no key by work that it left behind', async () => {
    const { url, one, other } = await start()
    await one.idempotencyKeys.claim('k2', 'hash')
    const { promise: answered, resolve } = Promise.withResolvers<void>()
    let left = Promise.resolve()
    await one.idempotencyKeys.runClaimed('k', async () => {
      left = answered.then(() => make(one, 'later'))
    })
    await one.idempotencyKeys.release('k')
    expect(await other.idempotencyKeys.claim('k', 'hash')).toBeNull()
    resolve()
    await left
    await make(one, 'beside')
    const { rows } = await executeSql(url, 'SELECT key, has_effect FROM idempotency_key ORDER BY key')
    expect(rows).toEqual([
      { key: 'k', has_effect: false },
      { key: 'k2', has_effect: false },
    ])
  })
})

describe('idempotency keys while PostgreSQL cannot be reached', () => {
  it('are refused; a result is stored when it is back', async () => {
    const url = await server.createDatabase()
    const { proxy, url: proxied } = await openBehindProxy(url)
    const one = await openTestPostgres(proxied)
    const other = await openTestPostgres(url)
    await one.idempotencyKeys.claim('k', 'hash')
    proxy.refuse(true)
    proxy.cut()
    await expect(one.idempotencyKeys.claim('k2', 'hash')).rejects.toBeInstanceOf(StoreUnwritable)
    await one.idempotencyKeys.finish('k', 'answer')
    expect(await other.idempotencyKeys.claim('k', 'hash')).toMatchObject({ state: 'running' })
    proxy.refuse(false)
    await one.close()
    expect(await other.idempotencyKeys.claim('k', 'hash')).toMatchObject({ state: 'done', answer: 'answer' })
  })

  it('are not lost if the connection breaks after a claim was stored', async () => {
    const url = await server.createDatabase()
    const { proxy, url: proxied } = await openBehindProxy(url)
    const one = await openTestPostgres(proxied)
    let isClaiming = false
    proxy.judge((direction, data) => {
      if (direction === 'up' && data.includes('INSERT INTO idempotency_key')) isClaiming = true
      if (direction === 'up' || !isClaiming) return 'pass'
      proxy.judge(null)
      return 'cut'
    })
    await expect(one.idempotencyKeys.claim('k', 'hash')).rejects.toBeInstanceOf(StoreUnwritable)
    expect(await one.idempotencyKeys.claim('k', 'hash')).toMatchObject({ state: 'running' })
    await one.close()
    const other = await openTestPostgres(url)
    expect(await other.idempotencyKeys.claim('k', 'hash')).toBeNull()
  })
})

describe('random requests on three nodes, with keys that expire and nodes that die', () => {
  const SEED = readSeed(7)

  it(`execute each key at most once, and answer it only with what was executed (SEED=${SEED})`, async () => {
    const random = createRandom(SEED)
    const url = await server.createDatabase()
    const nodes = await Promise.all([0, 1, 2].map(() => openTestPostgres(url)))
    const outcomes = new Map<string, number>()
    const note = (outcome: string): void => void outcomes.set(outcome, (outcomes.get(outcome) ?? 0) + 1)

    /** One attempt of a client. A node that dies leaves its request as it is. */
    async function attempt(key: string, number: number): Promise<void> {
      const node = nodes[random.below(nodes.length)]!
      const [diesBefore, diesAfter, isSlow] = [random.next() < 0.2, random.next() < 0.2, random.next() < 0.3]
      const before = await node.idempotencyKeys.claim(key, 'hash')
      if (before !== null) {
        note(before.state)
        if (before.answer !== null) answers.push([key, before.answer])
        return
      }
      if (diesBefore) return note('died before')
      const id = `${key} ${number}`
      try {
        await node.idempotencyKeys.runClaimed(key, async () => {
          if (isSlow) await age(url, '30 seconds')
          await node.registry.commit(AUTHOR, 'make', [write(id, 0, 1)])
        })
      } catch (cause) {
        if (!(cause instanceof RequestTakenOver)) throw cause
        note('taken over')
        return node.idempotencyKeys.release(key)
      }
      if (diesAfter) return note('died after')
      await node.idempotencyKeys.finish(key, id)
      note('executed')
    }

    const answers: [key: string, id: string][] = []
    for (let round = 0; round < 12; round++) {
      const attempts = Array.from({ length: 24 }, (_, index) => attempt(`k${random.below(8)}`, round * 100 + index))
      await Promise.all([...attempts, age(url, '30 seconds')])
    }
    const made = (await nodes[0]!.registry.list(THING, { limit: 1_000 })).map(({ id }) => id)
    expect(made.length).toBeGreaterThan(0)
    expect(new Set(made.map((id) => id.split(' ')[0])).size).toBe(made.length)
    for (const [key, id] of answers) expect([key, made]).toEqual([id.split(' ')[0], expect.arrayContaining([id])])
    expect([...outcomes.keys()]).toEqual(expect.arrayContaining(['executed', 'died before', 'done']))
  })
})
