/**
 * What the rollups cost: CPU of the store a line item, of this commit and of one before, alternately.
 *
 * Each run is a process with an empty embedded store. It inserts the flushes of a month, day by day; this commit rolls up each day when
 * it is over, and closes the month. The CPU of all threads counts, until the merges in the background have ended.
 *
 *   git worktree add --detach /tmp/before 1098e901 && cp -al node_modules /tmp/before/
 *   node bench/ingestion.ts --before /tmp/before [--rounds 5] [--days 30]
 */

import { execFileSync } from 'node:child_process'
import { existsSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { parseArgs } from 'node:util'
import type { ClickHouse } from '../src/storage/store/clickhouse/client.ts'
import type { LineItem, UsageStore } from '../src/storage/store/usage-store.ts'
import { createRandom } from '../test/random.ts'
import { describeMachine } from './machine.ts'
import { spreadOf, toText } from './spread.ts'

const FIRST = Date.UTC(2026, 9, 1)
const DAY = 86_400_000
const FLUSHES_A_DAY = 12
const ITEMS_A_FLUSH = 8_000
/** 16 line items a key and day, as in `generate-usage.ts`. */
const APIS = 20
const CONSUMERS = 300
const RATIO_MAX = 1.3
const QUIET_POLLS = 5
const POLLS_MAX = 600

const { values } = parseArgs({
  options: {
    before: { type: 'string' },
    rounds: { type: 'string', default: '5' },
    days: { type: 'string', default: '30' },
    /** Measures one repository, and prints the CPU a line item in µs. */
    measure: { type: 'string' },
  },
})
const days = Number(values.days)

if (values.measure !== undefined) {
  console.log(await measure(values.measure))
} else {
  if (values.before === undefined) throw new Error('name the folder of the commit before: --before DIR')
  console.log(`machine: ${describeMachine()}`)
  console.log(`${days * FLUSHES_A_DAY * ITEMS_A_FLUSH} line items in ${days} days, ${values.rounds} rounds`)
  const here = join(import.meta.dirname, '..')
  const pairs = Array.from({ length: Number(values.rounds) }, () => ({
    before: measureApart(values.before!),
    here: measureApart(here),
  }))
  console.log(`before, µs of CPU a line item  ${toText(spreadOf(pairs.map(({ before }) => before)), 2)}`)
  console.log(`here, µs of CPU a line item    ${toText(spreadOf(pairs.map((pair) => pair.here)), 2)}`)
  const ratio = spreadOf(pairs.map((pair) => pair.here / pair.before))
  console.log(`here ÷ before                  ${toText(ratio, 3)}`)
  console.log(`at most ${RATIO_MAX}: ${ratio.median <= RATIO_MAX ? 'holds' : 'does not hold'}`)
}

function measureApart(root: string): number {
  const args = [import.meta.filename, '--measure', root, '--days', String(days)]
  return Number(execFileSync(process.execPath, args, { encoding: 'utf8', timeout: 900_000 }))
}

async function measure(root: string): Promise<number> {
  const folder = mkdtempSync(join(tmpdir(), 'ingestion-'))
  const load = async <Module>(path: string): Promise<Module> =>
    (await import(join(root, 'src/storage/store', path))) as Module
  const { openClickHouse } =
    await load<typeof import('../src/storage/store/clickhouse/client.ts')>('clickhouse/client.ts')
  const { migrate } =
    await load<typeof import('../src/storage/store/clickhouse/migrations.ts')>('clickhouse/migrations.ts')
  const [client, other] = [openClickHouse({ url: null, folder }), openClickHouse({ url: null, folder })]
  try {
    await migrate(client)
    const background = Object.assign(other, { newParts: client.newParts })
    const { usage, whenOver } = await openUsage(root, client, background)
    const start = process.cpuUsage()
    for (let day = 0; day < days; day++) {
      for (let flush = 0; flush < FLUSHES_A_DAY; flush++) await insert(usage, day, flush)
      await whenOver(FIRST + (day + 1) * DAY + 3_600_000)
    }
    await whenOver(FIRST + (days + 3) * DAY)
    await untilMerged(client)
    const { user, system } = process.cpuUsage(start)
    return (user + system) / (days * FLUSHES_A_DAY * ITEMS_A_FLUSH)
  } finally {
    await other.close()
    await client.close()
    rmSync(folder, { recursive: true, force: true })
  }
}

interface Opened {
  readonly usage: UsageStore
  /** Does the work of the background at this time. */
  readonly whenOver: (nowMs: number) => Promise<void>
}

/** The commit before has neither rollups nor statements. */
async function openUsage(root: string, client: ClickHouse, background: ClickHouse): Promise<Opened> {
  const folder = join(root, 'src/storage/store/clickhouse')
  const load = async <Module>(name: string): Promise<Module> => (await import(join(folder, name))) as Module
  const { createClickHouseUsageStore } =
    await load<typeof import('../src/storage/store/clickhouse/usage-store.ts')>('usage-store.ts')
  if (!existsSync(join(folder, 'rollups.ts'))) {
    return { usage: createClickHouseUsageStore(client), whenOver: () => Promise.resolve() }
  }
  const { createRollups } = await load<typeof import('../src/storage/store/clickhouse/rollups.ts')>('rollups.ts')
  const { createReaders } = await load<typeof import('../src/storage/store/clickhouse/readers.ts')>('readers.ts')
  const { createClickHouseStatementStore } =
    await load<typeof import('../src/storage/store/clickhouse/statement-store.ts')>('statement-store.ts')
  const rollups = createRollups(background)
  const readers = createReaders([client])
  const usage = createClickHouseUsageStore(client, { readers, rollups })
  const statements = createClickHouseStatementStore({ client: background, readers, usage })
  return {
    usage,
    async whenOver(nowMs) {
      await rollups.roll(nowMs)
      await statements.close(nowMs)
    },
  }
}

function insert(usage: UsageStore, day: number, flush: number): Promise<void> {
  const random = createRandom(day * FLUSHES_A_DAY + flush + 1)
  const windows = DAY / FLUSHES_A_DAY / 10_000
  const items = Array.from({ length: ITEMS_A_FLUSH }, (): LineItem => {
    const [api, consumer] = [random.below(APIS), random.below(CONSUMERS)]
    return {
      windowStartMs: FIRST + day * DAY + (flush * windows + random.below(windows)) * 10_000,
      tenant: 'default',
      api: `api-${api}-v1`,
      operation: `operation${api % 3}`,
      consumer: `con_${String(consumer).padStart(16, '0')}`,
      consumerName: 'A consumer',
      subscription: `sub_${String(api * CONSUMERS + consumer).padStart(16, '0')}`,
      agent: '',
      variant: '',
      currency: 'EUR',
      priceMicro: 2_500,
      calls: 1 + random.below(7),
      unitsMicro: 3_000_000n,
    }
  })
  return usage.insert(`flush-${day}-${flush}`, items)
}

/** Merges begin some time after the insert, so several polls in a row must find none. */
async function untilMerged(client: ClickHouse): Promise<void> {
  let quiet = 0
  for (let polls = 0; quiet < QUIET_POLLS; polls++) {
    if (polls > POLLS_MAX) throw new Error('the merges of the store do not end')
    const result = await client.query({ query: 'SELECT 1 FROM system.merges', format: 'JSONEachRow' })
    quiet = (await result.json<unknown>()).length === 0 ? quiet + 1 : 0
    await pause(200)
  }
}
