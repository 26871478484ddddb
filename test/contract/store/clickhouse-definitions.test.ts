/** A store whose definition files were damaged is opened with the definitions of its migrations, or not at all. */

import { cpSync, globSync, mkdtempSync, readFileSync, rmSync, truncateSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import { openStore, type OpenedStore } from '../../../src/storage/recovery/open-store.ts'
import { StartRefused } from '../../../src/foundation/runtime/start-refused.ts'
import { openClickHouse, type ClickHouse } from '../../../src/storage/store/clickhouse/client.ts'
import { compareDefinitions } from '../../../src/storage/store/clickhouse/definitions.ts'
import { countRows } from '../../../src/storage/store/clickhouse/flush-notes.ts'
import { migrate, SQL_FOLDER } from '../../../src/storage/store/clickhouse/migrations.ts'
import { createClickHouseUsageStore } from '../../../src/storage/store/clickhouse/usage-store.ts'

const HEADER = `-- The tables and views that the files of \`schema\` add up to, as the engine formats them. A start compares the store with this file,
-- and a contract test compares this file with the migrations.
`
const NOW = Date.UTC(2026, 5, 15, 12)
const VIEW = 'line_items_to_hourly'
const WHOLE = { missingTables: [], changedTables: [], lostDerived: [] }
const NAMES = [
  'flushes',
  'kept_usage',
  'line_items',
  'line_items_hourly',
  VIEW,
  'request_log',
  'risk_events',
  'schema_changes',
  'service_levels',
  'statement_corrections',
  'statement_lines',
  'usage_daily',
  'usage_daily_by_price',
  'usage_hourly_by_api',
  'usage_monthly',
]

let folder: string
/** The definition files of each schema in the order of its versions; the last is the newest. */
const versions = new Map<string, string[]>(NAMES.map((name) => [name, []]))
let dataDir = ''
let opened: OpenedStore | null = null

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'definitions-'))
  const store = join(folder, 'base', 'clickhouse')
  for (const migrations of ['0001', '0004', '9999']) {
    const client = openClickHouse({ url: null, folder: store })
    await migrate(client, migrationsUpTo(migrations))
    if (migrations === '0001') await insertRow(client, 'first')
    await client.close()
    for (const [name, texts] of versions) {
      const [file] = definitionFiles(join(folder, 'base'), name)
      const text = file === undefined ? '' : readFileSync(file, 'utf8')
      if (text !== '' && texts.at(-1) !== text) texts.push(text)
    }
  }
})

afterEach(async () => {
  await opened?.client.close()
  opened = null
  rmSync(dataDir, { recursive: true, force: true })
})

afterAll(() => rmSync(folder, { recursive: true, force: true }))

function migrationsUpTo(last: string): string {
  const copy = join(folder, `migrations-${last}`)
  cpSync(join(SQL_FOLDER, 'schema'), copy, {
    recursive: true,
    filter: (path) => !/\d{4}_\w+\.sql$/.test(path) || numberOf(path) <= last,
  })
  return copy
}

const numberOf = (path: string): string => /(\d{4})_\w+\.sql$/.exec(path)?.[1] ?? ''

function definitionFiles(dir: string, name: string): string[] {
  return globSync(join(dir, `clickhouse/store/*/*/${name}.sql`))
}

async function insertRow(client: ClickHouse, token: string): Promise<void> {
  const item = {
    windowStartMs: NOW,
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
  }
  await createClickHouseUsageStore(client).insert(token, [item])
}

/** Opens a copy of the store after `damage` to the definition file of `name`; null: refused with a remedy. */
async function openDamaged(name: string, damage: (file: string) => void): Promise<OpenedStore | null> {
  rmSync(dataDir, { recursive: true, force: true })
  dataDir = join(folder, 'damaged')
  cpSync(join(folder, 'base'), dataDir, { recursive: true, verbatimSymlinks: true })
  damage(definitionFiles(dataDir, name)[0]!)
  try {
    opened = await openStore({ dataDir, clickhouseUrl: null })
    return opened
  } catch (cause) {
    expect(cause).toBeInstanceOf(StartRefused)
    expect((cause as Error).message).toContain('recover --accept-loss store')
    return null
  }
}

/** Expects a refusal, or the definitions of the migrations and a rollup that receives new rows. */
async function expectWholeOrRefused(name: string, damage: (file: string) => void): Promise<void> {
  const store = await openDamaged(name, damage)
  if (store !== null) await expectWhole(store)
}

async function expectWhole({ client }: OpenedStore): Promise<void> {
  expect(await compareDefinitions(client)).toEqual(WHOLE)
  await insertRow(client, 'first')
  await insertRow(client, 'second')
  expect(await countRows(client)).toEqual({ 'line_items/202606': 2, 'calls/202606': 6 })
  await client.close()
  opened = null
}

describe('definitions of the embedded store', () => {
  it('are those of sql/definitions.sql, which `vitest -u` writes after a migration was added', async () => {
    dataDir = join(folder, 'new')
    opened = await openStore({ dataDir, clickhouseUrl: null })
    const result = await opened.client.query({
      query: `SELECT formatQuery(replaceAll(create_table_query, 'default.', '')) AS text
              FROM system.tables WHERE database = 'default' ORDER BY name`,
      format: 'JSONEachRow',
    })
    const statements = (await result.json<{ text: string }>()).map(({ text }) => `\n${text};\n`)
    await expect(HEADER + statements.join('')).toMatchFileSnapshot(join(SQL_FOLDER, 'definitions.sql'))
    expect(await compareDefinitions(opened.client)).toEqual(WHOLE)
  })

  it('are created again if the file of a view is missing, empty, not a statement, or truncated', async () => {
    const text = versions.get(VIEW)!.at(-1)!
    const ends = [
      0,
      text.indexOf('`tenant`'),
      text.indexOf('\n    agent,\n    currency,\n    sum'),
      text.indexOf('\nFROM'),
      text.indexOf('\nGROUP BY'),
      text.lastIndexOf(',\n    subscription,'),
    ]
    const damages = [rmSync, ...ends.map((end) => (file: string) => truncateSync(file, end))]
    for (const damage of damages) {
      const store = await openDamaged(VIEW, damage)
      expect(store?.remade).toContain(VIEW)
      await expectWhole(store!)
    }
  })

  it('refuse a table without its settings or its retention, although it is valid', async () => {
    for (const [table, clause] of [
      ['line_items', '\nSETTINGS'],
      ['service_levels', '\nTTL'],
    ] as const) {
      const text = versions.get(table)!.at(-1)!
      expect(text).toContain(clause)
      expect(await openDamaged(table, (file) => truncateSync(file, text.indexOf(clause)))).toBeNull()
    }
  })

  it.each(['line_items', 'line_items_hourly', 'request_log'])('refuse an older version of %s', async (name) => {
    const older = versions.get(name)!.slice(0, -1)
    expect(older).toHaveLength(1)
    expect(await openDamaged(name, (file) => writeFileSync(file, older[0]!))).toBeNull()
  })

  describe.each(NAMES)('with a damaged file of %s', (name) => {
    it('are whole or refused if the file is truncated at the end of a clause', async () => {
      for (const { index } of versions
        .get(name)!
        .at(-1)!
        .matchAll(/\n(?=[A-Z)])/g)) {
        await expectWholeOrRefused(name, (file) => truncateSync(file, index))
      }
    })

    it('are whole or refused if the file is empty', () => expectWholeOrRefused(name, (file) => truncateSync(file)))

    it('are whole or refused if the file is missing', () => expectWholeOrRefused(name, (file) => rmSync(file)))

    it('are whole or refused if the file belongs to another table or view', async () => {
      for (const other of ['risk_events', 'line_items', VIEW].filter((each) => each !== name).slice(-2)) {
        await expectWholeOrRefused(name, (file) => writeFileSync(file, versions.get(other)!.at(-1)!))
      }
    })
  })
})
