import { globSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { dropAbandoned, withAside, withAsides } from '../../../src/storage/store/clickhouse/aside-tables.ts'
import { openClickHouse, type ClickHouse } from '../../../src/storage/store/clickhouse/client.ts'
import { migrate } from '../../../src/storage/store/clickhouse/migrations.ts'
import { createStoreFreezer } from '../../../src/storage/store/clickhouse/frozen-store.ts'

let folder: string
let client: ClickHouse

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'aside-'))
  client = openClickHouse({ url: null, folder })
  await migrate(client)
})
afterAll(async () => {
  await client.close()
  rmSync(folder, { recursive: true, force: true })
})

async function asides(): Promise<readonly string[]> {
  const query = `SELECT name FROM system.tables WHERE database = currentDatabase() AND match(name, '_next|_to_attach') ORDER BY name`
  const result = await client.query({ query, format: 'JSONEachRow' })
  return (await result.json<{ name: string }>()).map(({ name }) => name)
}

async function countRows(table: string): Promise<number> {
  const result = await client.query({ query: `SELECT count() AS rows FROM ${table}`, format: 'JSONEachRow' })
  return Number((await result.json<{ rows: string }>())[0]?.rows)
}

const insertInto = (table: string) =>
  client.command({ query: `INSERT INTO ${table} (tenant, day) VALUES ('acme', '2026-06-01')` })

describe('tables in which rows are prepared', () => {
  it('do not disturb those of another node that does the same work', async () => {
    await withAside(client, 'usage_daily', async (one) => {
      await insertInto(one)
      await withAside(client, 'usage_daily', async (other) => {
        expect(other).not.toBe(one)
        expect(await countRows(other)).toBe(0)
        await insertInto(other)
      })
      expect(await countRows(one)).toBe(1)
    })
    expect(await asides()).toEqual([])
  })

  it('are dropped if the work fails', async () => {
    const failing = withAsides(client, ['usage_daily', 'usage_monthly'], async (nameOf) => {
      expect([nameOf('usage_daily'), nameOf('usage_monthly')].sort()).toEqual(await asides())
      throw new Error('the work failed')
    })
    await expect(failing).rejects.toThrow('the work failed')
    expect(await asides()).toEqual([])
  })

  it('are left out of a backup, and dropped a day after a process left them behind', async () => {
    const now = Date.UTC(2026, 5, 15)
    const seconds = (ageMs: number): string => Math.floor((now - ageMs) / 1_000).toString(16)
    const [young, old] = [
      `usage_daily_next_${seconds(60_000)}01234567`,
      `usage_daily_next_${seconds(2 * 86_400_000)}89abcdef`,
    ]
    const names = ['line_items_to_attach', 'statement_lines_next', old]
    const freezer = createStoreFreezer({ client, url: null, folder, leaveOut: '' })
    const tablesInCopy = async (): Promise<number> => {
      const { folder: frozen } = await freezer.freeze('copy')
      const tables = new Set(globSync(join(frozen!, '**/data.bin')).map((path) => dirname(dirname(path))))
      await freezer.thaw()
      return tables.size
    }
    const before = await tablesInCopy()
    for (const name of [young, ...names]) await client.command({ query: `CREATE TABLE ${name} AS usage_daily` })
    for (const name of [young, ...names]) await insertInto(name)
    expect(await tablesInCopy()).toBe(before)

    // On a server, a node of an earlier version may use those without a time.
    expect(await dropAbandoned(Object.assign(Object.create(client), { isEmbedded: false }), now)).toEqual([old])
    expect([...(await dropAbandoned(client, now))].sort()).toEqual(['line_items_to_attach', 'statement_lines_next'])
    expect(await asides()).toEqual([young])
  })
})
