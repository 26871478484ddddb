/** Startup compares the files of a part that the engine does not verify with the table and with the rows. */

import { cpSync, globSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import { openStore, type OpenedStore } from '../../../src/storage/recovery/open-store.ts'
import { openLostStore } from '../../../src/storage/recovery/recover-store.ts'
import { systemClock } from '../../../src/foundation/runtime/clock.ts'
import { countRows } from '../../../src/storage/store/clickhouse/flush-notes.ts'
import { findPartFaults } from '../../../src/storage/store/clickhouse/part-faults.ts'
import { createClickHouseUsageStore } from '../../../src/storage/store/clickhouse/usage-store.ts'

const NOW = Date.UTC(2026, 5, 15, 12)

let folder: string
let dataDir: string
let opened: OpenedStore | null = null

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'part-faults-'))
  const { client } = await openStore({ dataDir: join(folder, 'base'), clickhouseUrl: null })
  const usage = createClickHouseUsageStore(client)
  for (const minute of [0, 10]) await usage.insert(`minute-${minute}`, [itemAt(NOW + minute * 60_000)])
  await client.close()
})

afterEach(async () => {
  await opened?.client.close()
  opened = null
  rmSync(dataDir, { recursive: true, force: true })
})

afterAll(() => rmSync(folder, { recursive: true, force: true }))

const itemAt = (windowStartMs: number) => ({
  windowStartMs,
  tenant: 'acme',
  api: 'payments-v1',
  operation: 'createPayment',
  consumer: 'con_1',
  consumerName: 'Acme',
  subscription: 'sub_1',
  agent: '',
  variant: '',
  currency: 'EUR',
  priceMicro: 1,
  calls: 3,
  unitsMicro: 1n,
})

/** Changes one file of the first part of a table in a copy of the data folder. */
function damage(table: string, name: string, change: (bytes: Buffer) => Buffer): void {
  dataDir = join(folder, 'damaged')
  cpSync(join(folder, 'base'), dataDir, { recursive: true, verbatimSymlinks: true })
  const [file] = globSync(join(dataDir, `clickhouse/data/default/${table}/2*_*/${name}`)).sort()
  writeFileSync(file!, change(readFileSync(file!)))
}

const DAMAGES = [
  ['line_items', 'columns.txt', replace('Decimal(38, 12)', 'Decimal(38, 13)')],
  ['line_items_hourly', 'columns.txt', replace('Decimal(38, 12)', 'Decimal(38, 13)')],
  ['line_items_hourly', 'columns.txt', replace('`units` Decimal(38, 6)', '`units` Decimal(38, 7)')],
  ...['data.bin', 'primary.cidx'].flatMap((name) => [
    ['line_items', name, flipBit] as const,
    ['line_items_hourly', name, flipBit] as const,
  ]),
  ['line_items', 'minmax_window_start.idx', raiseFirst],
  ['line_items_hourly', 'minmax_hour.idx', raiseFirst],
] as const

function replace(text: string, by: string) {
  return (bytes: Buffer) => Buffer.from(bytes.toString('utf8').replace(text, by))
}

function flipBit(bytes: Buffer): Buffer {
  bytes[bytes.length >> 1]! ^= 4
  return bytes
}

/** Sets the lowest bit of the earliest time that is not set, so that the range begins after the rows. */
function raiseFirst(bytes: Buffer): Buffer {
  const first = bytes.readUInt32LE(0)
  bytes.writeUInt32LE((first | (first + 1)) >>> 0, 0)
  return bytes
}

describe('a part of the embedded store', () => {
  it('has no faults after inserts', async () => {
    dataDir = join(folder, 'whole')
    cpSync(join(folder, 'base'), dataDir, { recursive: true, verbatimSymlinks: true })
    opened = await openStore({ dataDir, clickhouseUrl: null })
    expect(await findPartFaults(opened.client)).toEqual([])
  })

  it.each(DAMAGES)('of %s refuses the start if a bit of %s is changed', async (table, name, change) => {
    damage(table, name, change)
    const start = openStore({ dataDir, clickhouseUrl: null })
    await expect(start).rejects.toThrow(
      new RegExp(`files of the store are damaged: ${table}/\\w+(?:/${name})? .*recover --accept-loss store`),
    )
  })

  it('is intact after rows were deleted from it', async () => {
    dataDir = join(folder, 'deleted')
    cpSync(join(folder, 'base'), dataDir, { recursive: true, verbatimSymlinks: true })
    opened = await openStore({ dataDir, clickhouseUrl: null })
    const { client } = opened
    await createClickHouseUsageStore(client).insert('two', [itemAt(NOW - 600_000), itemAt(NOW + 1_200_000)])
    for (const [table, column, time] of [
      ['line_items', 'window_start', NOW - 600_000],
      ['line_items_hourly', 'hour', NOW - 3_600_000],
    ] as const) {
      const where = `${column} = toDateTime(${time / 1_000})`
      await client.command({ query: `ALTER TABLE ${table} DELETE WHERE ${where} SETTINGS mutations_sync = 2` })
    }
    expect(await countRows(client)).toEqual({ 'line_items/202606': 3, 'calls/202606': 9 })
    expect(await findPartFaults(client)).toEqual([])
  })

  it.each([
    ['columns.txt', replace('Decimal(38, 12)', 'Decimal(38, 13)')],
    ['primary.cidx', flipBit],
    ['data.bin', flipBit],
  ] as const)('is detached if %s is damaged and its loss is accepted; intact parts stay', async (name, change) => {
    damage('line_items', name, change)
    opened = await openLostStore({ dataDir, clickhouseUrl: null, clock: systemClock })
    expect(await countRows(opened.client)).toEqual({ 'line_items/202606': 1, 'calls/202606': 6 })
    expect(await findPartFaults(opened.client)).toEqual([])
  })
})
