import { mkdtempSync, rmSync, truncateSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { openClickHouse, type ClickHouse } from '../../../src/storage/store/clickhouse/client.ts'
import { migrate } from '../../../src/storage/store/clickhouse/migrations.ts'
import { DamagedParts, UNVERIFIED } from '../../../src/storage/store/clickhouse/new-parts.ts'
import { createClickHouseUsageStore } from '../../../src/storage/store/clickhouse/usage-store.ts'
import type { UsageStore } from '../../../src/storage/store/usage-store.ts'
import { item } from './usage-items.ts'

/** Files that a full disk leaves empty. */
const FILES = [
  'data.bin',
  'data.cmrk4',
  'checksums.txt',
  'columns.txt',
  'columns_substreams.txt',
  'count.txt',
  'metadata_version.txt',
  'serialization.json',
]

let folder: string
let client: ClickHouse
let usage: UsageStore

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'clickhouse-'))
  await open()
})
afterAll(async () => {
  await client.close()
  rmSync(folder, { recursive: true, force: true })
})

async function open(): Promise<void> {
  client = openClickHouse({ url: null, folder })
  await migrate(client)
  usage = createClickHouseUsageStore(client)
}

interface Part {
  readonly name: string
  readonly path: string
  readonly rows: string
}

async function partsOf(table: string): Promise<readonly Part[]> {
  const query = `SELECT name, path, toString(rows) AS rows FROM system.parts
    WHERE active AND database = currentDatabase() AND table = '${table}' ORDER BY max_block_number`
  return (await client.query({ query, format: 'JSONEachRow' })).json<Part>()
}
async function empty(table: string, file: string): Promise<void> {
  const last = (await partsOf(table)).at(-1)
  truncateSync(join(last!.path, file), 0)
}
/** The calls of a tenant by line items and by hourly totals. */
async function calls(tenant: string): Promise<readonly [number, number]> {
  const of = async (table: string): Promise<number> => {
    const query = `SELECT toUInt32(sum(calls)) AS calls FROM ${table} WHERE tenant = '${tenant}'`
    return (await (await client.query({ query, format: 'JSONEachRow' })).json<{ calls: number }>())[0]!.calls
  }
  return [await of('line_items'), await of('line_items_hourly')]
}
async function reopened(): Promise<void> {
  await client.close()
  await open()
}
const run = (query: string) => client.command({ query })

/** Stores two calls, and empties `file` of the part in `table`. */
async function insertUnverified(tenant: string, table: string, file: string): Promise<void> {
  const unverified = createClickHouseUsageStore(Object.assign(Object.create(client), { newParts: UNVERIFIED }))
  await unverified.insert(tenant, [item({ tenant, calls: 2 })])
  await empty(table, file)
}

describe('a new part of the embedded store', () => {
  beforeAll(() => run('SYSTEM STOP MERGES'))

  describe.each(['line_items', 'line_items_hourly'])('in %s', (table) => {
    it.each(FILES)('with an empty %s is removed, and the repeated insert stores its rows once', async (file) => {
      const tenant = `${table}-${file.replaceAll('.', '-')}`
      const insert = client.newParts.verified(() => insertUnverified(tenant, table, file))
      await expect(insert).rejects.toBeInstanceOf(DamagedParts)

      await usage.insert(tenant, [item({ tenant, calls: 2 })])
      await usage.insert(tenant, [item({ tenant, calls: 2 })])

      expect(await calls(tenant)).toEqual([2, 2])
    })
  })

  it('that the verification of another insert removed fails the insert that made it', async () => {
    const insert = client.newParts.verified(async () => {
      await insertUnverified('other', 'line_items', 'data.bin')
      await expect(client.newParts.verify()).rejects.toBeInstanceOf(DamagedParts)
    })
    await expect(insert).rejects.toBeInstanceOf(DamagedParts)
    await usage.insert('other', [item({ tenant: 'other', calls: 2 })])
    expect(await calls('other')).toEqual([2, 2])
  })

  it('is there after a start', async () => {
    await reopened()
    for (const table of ['line_items', 'line_items_hourly'])
      for (const file of FILES) expect(await calls(`${table}-${file.replaceAll('.', '-')}`)).toEqual([2, 2])
    await client.newParts.verify()
  })
})

describe('the result of a merge', () => {
  it.each(['line_items', 'line_items_hourly'])(
    'in %s with an empty file is replaced by the parts that it was merged from',
    async (table) => {
      const tenant = `merged-${table}`
      for (let time = 0; time < 3; time++) await usage.insert(`${tenant}-${time}`, [item({ tenant })])
      const before = await calls(tenant)
      await run(`OPTIMIZE TABLE ${table} FINAL`)
      for (const file of ['data.bin', 'checksums.txt']) await empty(table, file)

      await expect(client.newParts.verify()).rejects.toThrow(`are repaired: ${table}/`)

      expect(await calls(tenant)).toEqual(before)
      await client.newParts.verify()
      await usage.insert(`${tenant}-0`, [item({ tenant })])
      await reopened()
      expect(await calls(tenant)).toEqual(before)
    },
  )
})

describe('an intact part', () => {
  it('in the wide format, of a mutation or of expired rows is left alone', async () => {
    await run('ALTER TABLE line_items MODIFY SETTING min_bytes_for_wide_part = 0')
    await usage.insert('wide', [item({ tenant: 'wide' }), item({ tenant: 'wide', operation: 'other', agent: 'a' })])
    await run(`ALTER TABLE line_items DELETE WHERE operation = 'other' SETTINGS mutations_sync = 1`)
    await usage.insert('old', [item({ tenant: 'old', windowStartMs: Date.UTC(2001, 0, 1) })])
    await run('OPTIMIZE TABLE line_items FINAL')
    const parts = await partsOf('line_items')

    await client.newParts.verify()

    expect(await partsOf('line_items')).toEqual(parts)
    expect(await calls('wide')).toEqual([1, 2])
  })
})

describe('a damaged part of an earlier insert without the parts that it was merged from', () => {
  it('is reported and not dropped', async () => {
    await run('SYSTEM STOP MERGES')
    await run('ALTER TABLE line_items MODIFY SETTING min_bytes_for_wide_part = 10485760')
    await insertUnverified('late', 'line_items', 'columns.txt')

    await expect(client.newParts.verify()).rejects.toThrow(
      'is damaged, and the parts that it was merged from are removed',
    )
    expect(await calls('late')).toEqual([2, 2])
  })
})
