/** Retention settings of a real service: usage is removed, refused, and stays refused under a longer setting. */

import { join } from 'node:path'
import { afterEach, expect, it } from 'vitest'
import { acceptRows } from '../../src/storage/recovery/recover-store.ts'
import { openClickHouse } from '../../src/storage/store/clickhouse/client.ts'
import { createClickHouseUsageStore } from '../../src/storage/store/clickhouse/usage-store.ts'
import { openSqliteCheckpoint } from '../../src/storage/store/sqlite/checkpoint.ts'
import { createService, type Service, isEmbedded } from './service.ts'

const DAY = 86_400_000
const HOUR = 3_600_000
const OLD = Math.floor((Date.now() - 100 * DAY) / HOUR) * HOUR
const RECENT = Math.floor((Date.now() - 2 * DAY) / HOUR) * HOUR
const SHORT = { RETENTION_LINE_ITEMS_DAYS: '31' }

const services: Service[] = []
afterEach(async () => {
  for (const service of services.splice(0)) await service.remove()
})

async function open(env: Readonly<Record<string, string>>, dataDir?: string): Promise<Service> {
  const service = await createService({ args: ['--empty'], env, dataDir })
  services.push(service)
  await service.start()
  return service
}

/** Adds usage of two days to a stopped service, as if its flushes had stored it. */
async function addUsage(dataDir: string): Promise<void> {
  const client = openClickHouse({ url: null, folder: join(dataDir, 'clickhouse') })
  const item = {
    tenant: 'default',
    api: 'payments-v1',
    operation: 'pay',
    consumer: 'con_1',
    consumerName: 'Ada',
    subscription: 'sub_1',
    agent: '',
    variant: '',
    currency: 'EUR',
    priceMicro: 250_000,
    calls: 1,
    unitsMicro: 1_000_000n,
  }
  const items = [OLD, OLD + 60_000, RECENT].map((windowStartMs) => ({ ...item, windowStartMs }))
  await createClickHouseUsageStore(client).insert('earlier', items)
  const checkpoint = openSqliteCheckpoint({ path: join(dataDir, 'checkpoint.db'), newInstance: () => 'unused' })
  await acceptRows(client, checkpoint.claims(), { registryEnd: 0, nowMs: Date.now() })
  checkpoint.close()
  await client.close()
}

interface Answer {
  readonly status: number
  readonly keptFrom?: string
  readonly detail?: string
  readonly items?: readonly { readonly calls: number }[]
}

async function read(service: Service, path: string): Promise<Answer> {
  const headers = { authorization: `Bearer ${await service.platform.token()}` }
  const response = await fetch(service.baseUrl + path, { headers })
  return { ...((await response.json()) as Omit<Answer, 'status'>), status: response.status }
}

const time = (timeMs: number): string => new Date(timeMs).toISOString()
const callsOf = ({ items = [] }: Answer): number => items.reduce((sum, { calls }) => sum + calls, 0)

it.skipIf(!isEmbedded)(
  'removes line items, keeps their sums, and starts with another setting (needs the store in the folder)',
  { timeout: 120_000 },
  async () => {
    const first = await open({})
    const { dataDir } = first
    await first.stop()
    await addUsage(dataDir)
    const range = `from=${time(OLD)}&to=${time(RECENT + HOUR)}`
    const list = `/v1?api=payments-v1&${range}`
    const summary = `/v1/summaries?api=payments-v1&${range}`
    await first.start()
    expect(callsOf(await read(first, list))).toBe(3)
    expect(callsOf(await read(first, summary))).toBe(3)
    await first.stop()

    const short = await open(SHORT, dataDir)
    let answer: Answer
    do answer = await read(short, list)
    while (answer.status === 200)
    expect(answer).toMatchObject({
      status: 400,
      code: 'payload_invalid',
      keptFrom: expect.stringMatching(/-01T00:00:00/),
    })
    expect(answer.detail).toContain('RETENTION_LINE_ITEMS_DAYS')
    expect(callsOf(await read(short, summary))).toBe(3)
    expect(callsOf(await read(short, list.replace(time(OLD), answer.keptFrom ?? '')))).toBe(1)
    await short.kill()

    const long = await open({ RETENTION_LINE_ITEMS_DAYS: '3660' }, dataDir)
    expect(await read(long, list)).toMatchObject({ status: 400, keptFrom: answer.keptFrom })
    expect(callsOf(await read(long, summary))).toBe(3)
    const inHour = await read(long, summary.replace(time(OLD), time(OLD + 1_000)))
    expect(inHour).toMatchObject({ status: 400, keptFrom: answer.keptFrom })
  },
)
