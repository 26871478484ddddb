// @module-tag postgres

import { describe, expect, it } from 'vitest'
import type { AttemptLimit } from '../../../src/storage/store/attempts.ts'
import { StoreUnwritable } from '../../../src/storage/store/unwritable.ts'
import { createPostgresServer } from '../../fixtures/postgres-server.ts'
import { executeSql, openTestPostgres } from '../../fixtures/test-postgres.ts'
import { usePostgres } from '../../fixtures/use-postgres.ts'
import { attemptsContract, keyOf } from './attempts.contract.ts'

const server = usePostgres()

const LIMIT: AttemptLimit = { max: 10, windowMs: 900_000, isSliding: true }

attemptsContract('postgres', async () => {
  const url = await server.createDatabase()
  const { attempts } = await openTestPostgres(url)
  return { attempts, forward: (ms) => forward(url, ms) }
})

/** Moves what is stored into the past. */
async function forward(url: string, ms: number): Promise<void> {
  const span = `interval '${ms} milliseconds'`
  await executeSql(
    url,
    `UPDATE attempt SET held_until = held_until - ${span}, times = ARRAY(SELECT t - ${span} FROM unnest(times) t)`,
  )
}

async function openNodes() {
  const url = await server.createDatabase()
  const nodes = [await openTestPostgres(url), await openTestPostgres(url), await openTestPostgres(url)] as const
  const rows = async () => Number((await executeSql(url, 'SELECT count(*) FROM attempt')).rows[0]?.['count'])
  return { url, nodes, rows }
}

describe('attempts on several nodes', () => {
  it.each([true, false])('are counted together, also if they come at once: sliding %j', async (isSliding) => {
    const { nodes } = await openNodes()
    const limit = { ...LIMIT, isSliding }
    const waits = await Promise.all(
      Array.from({ length: 90 }, (_, index) => nodes[index % 3]!.attempts.take(keyOf(1), limit)),
    )
    expect(waits.filter((wait) => wait === 0)).toHaveLength(10)
    expect(waits.every((wait) => wait >= 0 && wait <= 900_000)).toBe(true)
  })

  it('leave no row longer than their time when others follow', async () => {
    const { url, nodes, rows } = await openNodes()
    for (let key = 0; key < 40; key++) await nodes[0].attempts.take(keyOf(key), LIMIT)
    expect(await rows()).toBe(40)
    await forward(url, 900_000)
    for (let key = 100; key < 110; key++) await nodes[1].attempts.take(keyOf(key), LIMIT)
    expect(await rows()).toBe(10)
  })

  it('on names that strangers invent fill a bounded number of rows', async () => {
    const { nodes, rows } = await openNodes()
    for (const end of ['a', 'b', 'c']) await nodes[0].attempts.take(`00001${end}`.padEnd(64, end), LIMIT)
    expect(await rows()).toBe(1)
    await nodes[0].attempts.take('fffff'.padEnd(64, '0'), LIMIT)
    expect(await rows()).toBe(2)
  })

  it('write nothing while they are refused, and nothing into the log of PostgreSQL ever', async () => {
    const { url, nodes } = await openNodes()
    const versionOf = async () => (await executeSql(url, 'SELECT xmin, xmax, * FROM attempt')).rows
    for (let count = 0; count < 10; count++) await nodes[0].attempts.take(keyOf(1), LIMIT)
    const before = await versionOf()
    for (let count = 0; count < 20; count++) expect(await nodes[1].attempts.take(keyOf(1), LIMIT)).toBeGreaterThan(0)
    expect(await versionOf()).toEqual(before)
    const kept = await executeSql(url, `SELECT relname FROM pg_class WHERE relpersistence = 'u' AND relkind = 'r'`)
    expect(kept.rows.map(({ relname }) => relname).sort()).toEqual(['attempt', 'device_code'])
  })

  it('are refused, and not allowed, while PostgreSQL does not answer; those that were right stay counted', async () => {
    const own = await createPostgresServer()
    const { attempts } = await openTestPostgres(await own.createDatabase())
    await attempts.take(keyOf(1), LIMIT)
    await own.remove()
    await expect(attempts.take(keyOf(1), LIMIT)).rejects.toBeInstanceOf(StoreUnwritable)
    await attempts.giveBack(keyOf(1), LIMIT)
  })
})
