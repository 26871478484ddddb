/**
 * A node that is cut off, or stands still, while another process starts on a copy of its data folder, on the folder, or with its name on
 * an empty folder: answers name the former process as long as it may serve, and limits hold over both.
 *
 * `SCHEDULES=all` runs every combination.
 */

// @module-tag postgres
// @module-tag redis-server

import { cpSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { request } from 'undici'
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest'
import { createProxyBefore, type FaultyProxy } from '../fixtures/faulty-proxy.ts'
import { ledgerDocument, startLedgerBackend, type LedgerBackend } from './ledger-backend.ts'
import { declareLimit, LimitedCaller, publishAs } from './limited-calls.ts'
import { createService, enrol, publish, type Service } from './service.ts'
import { callOne, pendingAfter, startSeveralNodes, type SeveralNodes } from './several-nodes.ts'

const MINUTE = 60_000
const [DAILY, QUOTA] = [150, 120]
const WAIT = { timeout: MINUTE, interval: 200 }
const CUTS = ['PostgreSQL', 'PostgreSQL and Redis', 'SIGSTOP'] as const
const PLACES = ['a copy', 'the folder', 'an empty folder'] as const
type Cut = (typeof CUTS)[number]
type Place = (typeof PLACES)[number]

const ALL = CUTS.flatMap((cut) => PLACES.map((place) => [cut, place] as const))
const SOME: readonly (readonly [Cut, Place])[] = [
  ['PostgreSQL', 'a copy'],
  ['SIGSTOP', 'the folder'],
]

let several: SeveralNodes
let backend: LedgerBackend
let first: Service

beforeAll(async () => {
  backend = await startLedgerBackend()
  several = await startSeveralNodes(['a'])
  first = several.nodes[0]!
  for (const title of ['Daily', 'Quota']) await publishAs(first, title, backend.url)
  await publish(first, 'ledger-v1', ledgerDocument(), backend.url)
  await declareLimit(first, { totals: { day: DAILY } }, 'daily-v1')
  const quotas = {
    opensla: '1.0.0',
    info: { title: 'Quota', version: '1.0.0' },
    quotas: { period: 'Annual', resourceUnits: QUOTA },
  }
  const specification = Buffer.from(JSON.stringify(quotas)).toString('base64')
  await first.platform.post('/v1/openslaspecs', { api: 'quota-v1', specification })
}, 2 * MINUTE)

afterAll(async () => {
  await several.remove()
  await backend.close()
})

interface Former {
  readonly service: Service
  cut(): void
  /** Resolves with the exit code. */
  heal(): Promise<number | null>
}

/** Starts the node `b`, which reaches its servers through proxies. */
async function startFormer(cut: Cut): Promise<Former> {
  const { DATABASE_URL = '', REDIS_URL = '' } = several.settings
  const [postgres, redis] = [await createProxyBefore(DATABASE_URL), await createProxyBefore(REDIS_URL)]
  const env = { ...several.settings, NODE_NAME: 'b', DATABASE_URL: postgres.url, REDIS_URL: redis.url }
  const service = await createService({ args: ['--empty'], env })
  onTestFinished(async () => {
    await service.remove()
    await Promise.all([postgres.proxy.remove(), redis.proxy.remove()])
  })
  await service.start()
  const proxies = { PostgreSQL: [postgres.proxy], 'PostgreSQL and Redis': [postgres.proxy, redis.proxy], SIGSTOP: [] }
  const refuse = (isRefusing: boolean): void =>
    proxies[cut].forEach((proxy: FaultyProxy) => {
      proxy.refuse(isRefusing)
      if (isRefusing) proxy.cut()
    })
  return {
    service,
    cut() {
      refuse(true)
      if (cut === 'SIGSTOP') process.kill(service.pid(), 'SIGSTOP')
    },
    heal() {
      refuse(false)
      return service.stop('SIGCONT')
    },
  }
}

/** Starts another node `b`. The lock of the folder holds on one machine only. */
async function startLater({ service }: Former, place: Place, copy: string): Promise<Service> {
  if (place === 'the folder') rmSync(join(service.dataDir, 'lock'))
  const dataDir = { 'a copy': copy, 'the folder': service.dataDir, 'an empty folder': undefined }[place]
  const later = await createService({ args: ['--empty'], env: { ...several.settings, NODE_NAME: 'b' }, dataDir })
  onTestFinished(() => later.remove())
  await later.start()
  return later
}

/** Copies the folder of a node while its process writes nothing. */
function copyPaused(node: Service): string {
  const copy = mkdtempSync(join(tmpdir(), 'tollgate-copy-'))
  onTestFinished(() => rmSync(copy, { recursive: true, force: true }))
  process.kill(node.pid(), 'SIGSTOP')
  cpSync(node.dataDir, copy, { recursive: true, verbatimSymlinks: true })
  process.kill(node.pid(), 'SIGCONT')
  return copy
}

/** Calls until the limit is used up at the nodes that answer; the former one may have ended. */
async function useUp(caller: LimitedCaller, nodes: readonly Service[], former: Service): Promise<void> {
  const ofFormer = () => caller.call(former).catch(() => 0)
  const isUsedUp = async () => {
    const [statuses] = await Promise.all([caller.burst(nodes, 10), ...Array.from({ length: 10 }, ofFormer)])
    return statuses.every((status) => status === 429 || status === 402)
  }
  await expect.poll(isUsedUp, WAIT).toBe(true)
}

async function removeFormer(): Promise<void> {
  const headers = { authorization: `Bearer ${await first.platform.token()}` }
  const { statusCode, body } = await request(`${first.baseUrl}/v1/nodes/b`, { method: 'DELETE', headers })
  await body.dump()
  expect(statusCode).toBe(204)
}

const formerNodes = async (): Promise<number> => {
  const { items } = await first.platform.get<{ items: readonly { name: string; isLive: boolean }[] }>('/v1/nodes')
  return items.filter(({ name, isLive }) => name === 'b' && !isLive).length
}

describe.each(process.env['SCHEDULES'] === 'all' ? ALL : SOME)('a node cut off by %s', (cut, place) => {
  it(`is named, and its leases count, while another one runs on ${place}`, { timeout: 4 * MINUTE }, async () => {
    const former = await startFormer(cut)
    const [daily, quota] = [
      await LimitedCaller.enrol(first, `${cut} ${place}`, 'daily-v1', '/daily-v1/entries?n=1'),
      await LimitedCaller.enrol(first, `${cut} ${place}`, 'quota-v1', '/quota-v1/entries?n=1'),
    ]
    const { subscription, apiKey } = await enrol(first, 'ledger-v1', { name: `${cut} ${place}` })
    const both = [first, former.service]
    for (const caller of [daily, quota]) expect(await caller.burst(both, 10)).toEqual([200])
    const copy = copyPaused(former.service)
    for (const caller of [daily, quota]) expect(await caller.burst(both, 10)).toEqual([200])
    former.cut()
    const later = await startLater(former, place, copy)
    expect(await pendingAfter(first, `/v1/subscriptions/${subscription}/suspend`)).toBe('b')
    expect([
      await callOne(first, '/ledger-v1/entries?n=1', apiKey),
      await callOne(later, '/ledger-v1/entries?n=1', apiKey),
    ]).toEqual([403, 403])
    if (cut !== 'SIGSTOP') for (const caller of [daily, quota]) await useUp(caller, [first, later], former.service)
    if (place === 'an empty folder') {
      await former.service.kill()
      await removeFormer()
    } else {
      expect(await former.heal()).toBe(2)
      expect(former.service.errors()).toContain('another process runs with a copy of DATA_DIR')
      expect(later.errors()).toContain('the former process of this data folder did not leave the list of nodes')
    }
    for (const caller of [daily, quota]) await useUp(caller, [first, later], former.service)
    expect(daily.admitted).toBeLessThanOrEqual(DAILY)
    expect(quota.admitted).toBeLessThanOrEqual(QUOTA)
    await expect.poll(formerNodes, WAIT).toBe(0)
    expect(await pendingAfter(first, `/v1/subscriptions/${subscription}/resume`)).toBe('')
    expect(await later.stop()).toBe(0)
  })
})
