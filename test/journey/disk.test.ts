/**
 * A disk that is full or fails under load: calls are refused instead of lost, the platform reports the reason, and the
 * service recovers together with the disk. Each call that was answered 200 is billed once, and no other call is billed.
 */

import { basename, join } from 'node:path'
import { request } from 'undici'
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest'
import { injectFaults, type Faults } from '../inject-faults.ts'
import { useDisk } from '../fixtures/use-disk.ts'
import { ledgerDocument, startLedgerBackend, type LedgerBackend } from './ledger-backend.ts'
import { liveFilesIn } from './live-folder.ts'
import { startLoad, type Load } from './refusable-load.ts'
import { createService, enrol, publish, type Enrolled, type Service, isEmbedded, TWO_THREADS } from './service.ts'
import { openSmallDisk, type SmallDisk } from './small-disk.ts'

useDisk()

const CLIENTS = 4
const DISK_BYTES = 64 * 1024 * 1024
const EVENTUALLY = { timeout: 60_000, interval: 100 }
/** Slightly less than ten seconds, because the lines have their own time. */
const LINES_APART_MS = 9_900

let backend: LedgerBackend
beforeAll(async () => {
  backend = await startLedgerBackend()
})
afterAll(() => backend.close())

interface Bench {
  readonly service: Service
  readonly proxy: string
  readonly caller: Enrolled
  /** All loads, also those of tests that failed: their calls are billed too. */
  readonly loads: Load[]
}

async function open(dataDir?: string): Promise<Bench> {
  const service = await createService({ args: ['--empty'], env: TWO_THREADS, dataDir })
  await service.start()
  const proxy = await publish(service, 'ledger-v1', ledgerDocument(), backend.url)
  return { service, proxy, caller: await enrol(service, 'ledger-v1'), loads: [] }
}

const answeredBy = ({ loads }: Bench): number => loads.reduce((sum, { answered }) => sum + answered(), 0)

function load({ service, caller, loads }: Bench): Load {
  const { gatewayUrl: origin } = service
  const made = startLoad({ origin, path: '/ledger-v1/entries?n=1', apiKey: caller.apiKey, clients: CLIENTS })
  loads.push(made)
  onTestFinished(made.stop)
  return made
}

/** Resolves when `calls` more calls were answered. */
async function answersMore({ answered }: Load, calls = 100): Promise<void> {
  const goal = answered() + calls
  await expect.poll(answered, EVENTUALLY).toBeGreaterThanOrEqual(goal)
}

interface Answer {
  readonly status: number
  readonly text: string
}

async function ask({ service }: Bench, method: 'GET' | 'POST' | 'DELETE', path: string, token = ''): Promise<Answer> {
  const { statusCode, body } = await request(service.baseUrl + path, {
    method,
    headers: token === '' ? {} : { authorization: `Bearer ${token}` },
  })
  return { status: statusCode, text: await body.text() }
}

async function eventsOf(bench: Bench, reason: string): Promise<number> {
  const { text } = await ask(bench, 'GET', '/metrics')
  return Number(new RegExp(`tollgate_events_total\\{reason="${reason}"\\} (\\d+)`).exec(text)?.[1] ?? 0)
}

async function billed({ service }: Bench): Promise<number> {
  const { items } = await service.platform.get<{ items: readonly { calls: number }[] }>('/v1/summaries?api=ledger-v1')
  return items.reduce((sum, { calls }) => sum + calls, 0)
}

/** Stops the load; resolves when every answered call is billed. A call that is billed twice shows then, or after a restart. */
async function settle(bench: Bench, { stop, others }: Load): Promise<void> {
  await stop()
  await expect.poll(() => billed(bench), EVENTUALLY).toBeGreaterThanOrEqual(answeredBy(bench))
  expect(await billed(bench), JSON.stringify([...others])).toBe(answeredBy(bench))
}

async function settleForGood(bench: Bench): Promise<void> {
  expect(await bench.service.stop()).toBe(0)
  await bench.service.start()
  expect(await billed(bench)).toBe(answeredBy(bench))
}

const spoolFiles = (dataDir: string): readonly string[] => liveFilesIn(join(dataDir, 'spool'))

interface LogLine {
  readonly time: string
  readonly level: string
  readonly msg: string
  readonly thread?: number
  readonly err?: { readonly type?: string; readonly code?: string }
}

/** Returns the lines that are repeated sooner than allowed. */
function repeatedLines(log: string): readonly string[] {
  const last = new Map<string, number>()
  return log.split('\n').flatMap((line) => {
    if (!line.startsWith('{') || !line.endsWith('}')) return []
    const { time, level, msg, thread, err } = JSON.parse(line) as LogLine
    const key = JSON.stringify([level, msg, thread, err?.type, err?.code])
    const before = last.get(key)
    last.set(key, Date.parse(time))
    return before !== undefined && Date.parse(time) - before < LINES_APART_MS ? [line] : []
  })
}

describe.skipIf(!isEmbedded)(
  'a full disk (needs the registry and the store in the folder)',
  { tags: ['prlimit'] },
  () => {
    let disk: SmallDisk
    let bench: Bench
    beforeAll(async () => {
      disk = openSmallDisk(DISK_BYTES)
      bench = await open(disk.dataDir)
    })
    afterAll(async () => {
      await bench.service.remove()
      disk.remove()
    })

    it('refuses calls and commands, answers reads, and has an exact bill after the recovery', async () => {
      const { service, proxy, caller } = bench
      const { platform } = service
      const path = `/v1/subscriptions/${caller.subscription}/credentials`
      const credentials = await platform.get<{ items: readonly { id: string; lastUsedAt: string | null }[] }>(path)
      await platform.post('/v1/proxies', { api: 'ledger-v1', fromRevision: 1 })
      const staged = await platform.get<object>(`/v1/proxies/${proxy}`)
      const token = await platform.token()
      const files = spoolFiles(disk.dataDir)
      const calls = load(bench)
      await answersMore(calls)

      disk.fill(service.pid())
      await expect.poll(async () => (await ask(bench, 'GET', '/readyz')).text, EVENTUALLY).toContain(disk.code)
      expect(await ask(bench, 'GET', '/readyz')).toMatchObject({ status: 503 })
      const refused = calls.refused()
      await expect.poll(calls.refused, EVENTUALLY).toBeGreaterThan(refused + 1_000)
      // The last page of the platform's spool may have room for some records.
      await expect
        .poll(async () => {
          expect(await ask(bench, 'GET', `/v1/proxies/${proxy}`, token)).toMatchObject({ status: 200 })
          return eventsOf(bench, 'platform_call_unrecorded')
        }, EVENTUALLY)
        .toBeGreaterThan(0)
      expect(await ask(bench, 'GET', '/healthz')).toMatchObject({ status: 200 })
      expect(await eventsOf(bench, 'spool_write_failed')).toBeGreaterThan(0)
      expect(await ask(bench, 'GET', '/v1/summaries?api=ledger-v1', token)).toMatchObject({ status: 200 })
      // A client token writes nothing to the disk, so an operator can still obtain one and read.
      expect(await caller.token()).toMatch(/^ey/)
      for (const [method, command] of [
        ['POST', `/v1/proxies/${proxy}/activate`],
        ['POST', `${path}/rotate`],
        ['DELETE', `${path}/${credentials.items[0]?.id}`],
      ] as const) {
        const answer = await ask(bench, method, command, token)
        expect(answer.status, command).toBe(503)
        expect(JSON.parse(answer.text), command).toMatchObject({ code: 'unavailable' })
      }

      disk.free(service.pid())
      await answersMore(calls)
      await expect.poll(async () => (await ask(bench, 'GET', '/readyz')).status, EVENTUALLY).toBe(200)
      expect(repeatedLines(service.errors())).toEqual([])
      expect(spoolFiles(disk.dataDir).length).toBeLessThanOrEqual(2 * files.length)
      await settle(bench, calls)

      expect(await platform.get(`/v1/proxies/${proxy}`)).toEqual(staged)
      const withoutUse = ({ items }: typeof credentials) => items.map((each) => ({ ...each, lastUsedAt: null }))
      const after = await platform.get<typeof credentials>(path)
      expect(withoutUse(after)).toEqual(withoutUse(credentials))
      await platform.post(`/v1/proxies/${proxy}/activate`)
      await platform.post(`${path}/rotate`)
      await platform.delete(`${path}/${credentials.items[0]?.id}`)
      await settleForGood(bench)
      const used = (await platform.get<typeof credentials>(path)).items.filter(({ lastUsedAt }) => lastUsedAt !== null)
      expect(used).not.toEqual([])
    })
  },
)

const segments = ({ service }: Bench) => spoolFiles(service.dataDir).filter((path) => path.endsWith('.spool'))
const databases = ({ service }: Bench) =>
  ['checkpoint.db', 'registry.db', 'idempotency.db'].flatMap((name) =>
    [name, `${name}-wal`].map((each) => join(service.dataDir, each)),
  )
/** The files in which the store logs the tokens of its inserts. */
const tokenLogs = ({ service }: Bench) =>
  liveFilesIn(join(service.dataDir, 'clickhouse')).filter((path) => basename(path).startsWith('deduplication_log'))

interface Case {
  readonly what: string
  readonly calls: Faults['calls']
  readonly paths: (bench: Bench) => readonly string[]
  /** Counter that shows that the fault took effect; null: there is none. */
  readonly reason: string | null
  readonly isReady: boolean
}

const CASES: readonly Case[] = [
  {
    what: 'writes of the spool',
    calls: ['pwrite64'],
    paths: segments,
    reason: 'spool_write_failed',
    isReady: false,
  },
  {
    what: 'writes and syncs of SQLite',
    calls: ['pwrite64', 'fsync'],
    paths: databases,
    reason: 'flush_failed',
    isReady: true,
  },
  // Only the store creates folders while it runs: one per insert.
  { what: 'new parts of the store', calls: ['mkdir'], paths: () => [], reason: 'flush_failed', isReady: true },
  // The store continues without them while it runs.
  { what: 'insert tokens of the store', calls: ['write'], paths: tokenLogs, reason: null, isReady: true },
]

describe.skipIf(!isEmbedded)(
  'a failing disk (needs the registry and the store in the folder)',
  { tags: ['strace', 'root'] },
  () => {
    let bench: Bench
    beforeAll(async () => {
      bench = await open()
    })
    afterAll(() => bench.service.remove())

    describe.each(['ENOSPC', 'EIO'] as const)('with %s', (error) => {
      it.each(CASES)('for $what loses no call and bills none twice', async ({ calls, paths, reason, isReady }) => {
        const { service } = bench
        const made = load(bench)
        await answersMore(made)
        const faults = await injectFaults(service.pid(), { calls, error, paths: paths(bench) })
        try {
          const effects = async (): Promise<number> => (reason === null ? faults.count() : eventsOf(bench, reason))
          const before = await effects()
          await expect.poll(effects, EVENTUALLY).toBeGreaterThan(before + 1)
          expect((await ask(bench, 'GET', '/readyz')).status).toBe(isReady ? 200 : 503)
          if (isReady) await answersMore(made)
        } finally {
          expect(await faults.stop()).toBeGreaterThan(0)
        }
        await answersMore(made)
        await expect.poll(async () => (await ask(bench, 'GET', '/readyz')).status, EVENTUALLY).toBe(200)
        await settle(bench, made)
      })
    })

    it('that does not sync the spool causes refusals until a new segment is on the disk, and a report of the uncertain calls', async () => {
      const { service } = bench
      const made = load(bench)
      await answersMore(made)
      const files = segments(bench)
      const faults = await injectFaults(service.pid(), { calls: ['fdatasync'], error: 'EIO' })
      try {
        await expect.poll(() => eventsOf(bench, 'records_uncertain'), EVENTUALLY).toBeGreaterThan(0)
        await expect.poll(async () => (await ask(bench, 'GET', '/readyz')).text, EVENTUALLY).toContain('EIO')
      } finally {
        expect(await faults.stop()).toBeGreaterThan(0)
      }
      await answersMore(made)
      await expect.poll(async () => (await ask(bench, 'GET', '/readyz')).status, EVENTUALLY).toBe(200)
      expect(segments(bench).some((path) => !files.includes(path))).toBe(true)
      await settle(bench, made)
    })

    it('leaves a bill that is the same after a restart', () => settleForGood(bench))
  },
)
