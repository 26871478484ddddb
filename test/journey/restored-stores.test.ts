/**
 * Backups of the systems that nodes share, and what is lost when they are restored: PostgreSQL at a point in time and from a dump,
 * ClickHouse from an older copy and from nothing.
 */

// @module-tag postgres
// @module-tag redis-server

import { appendFileSync, chmodSync, cpSync, mkdtempSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { executeSql } from '../fixtures/test-postgres.ts'
import { ledgerDocument, startLedgerBackend, type LedgerBackend } from './ledger-backend.ts'
import { createService, enrol, publish, type Enrolled, type Service } from './service.ts'
import { callOne, pendingAfter, startSeveralNodes, type SeveralNodes } from './several-nodes.ts'
import { tollgate } from './tollgate.ts'

const PATH = '/ledger-v1/entries?n=1'
const MINUTE = 60_000
const WAIT = { timeout: MINUTE, interval: 100 }
const UNITS = 100
const ARCHIVE = [
  'wal_level=replica',
  'archive_mode=on',
  'archive_command=mkdir -p FOLDER/archive && cp %p FOLDER/archive/%f',
  'restore_command=cp FOLDER/archive/%f %p',
]

let several: SeveralNodes
let backend: LedgerBackend
let ada: Enrolled
/** Calls that were served. */
let served = 0
const copies = mkdtempSync(join(tmpdir(), 'restored-'))

beforeAll(async () => {
  backend = await startLedgerBackend()
  several = await startSeveralNodes(['a', 'b'], {}, { postgresSettings: ARCHIVE })
  await publish(node(0), 'ledger-v1', ledgerDocument(), backend.url)
  await publish(node(0), 'free-v1', { ...ledgerDocument(), info: { title: 'Free', version: '1.0.0' } }, backend.url)
  const quotas = { period: 'Annual', resourceUnits: UNITS }
  const declaration = { opensla: '1.0.0', info: { title: 'Limits', version: '1.0.0' }, quotas }
  const specification = Buffer.from(JSON.stringify(declaration)).toString('base64')
  await node(0).platform.post('/v1/openslaspecs', { api: 'ledger-v1', specification })
  ada = await enrol(node(0), 'ledger-v1', { name: 'Ada' })
}, 2 * MINUTE)

afterAll(async () => {
  await several.remove()
  await backend.close()
  rmSync(copies, { recursive: true, force: true })
})

function node(turn: number): Service {
  return several.nodes[turn % several.nodes.length]!
}

const sql = (text: string) => executeSql(several.settings['DATABASE_URL']!, text)

/** Calls the nodes in turn, and returns the statuses. */
async function call({ apiKey }: Enrolled, calls: number, path = PATH): Promise<readonly number[]> {
  const statuses: number[] = []
  for (let turn = 0; turn < calls; turn++) statuses.push(await callOne(node(turn), path, apiKey))
  served += statuses.filter((status) => status === 200).length
  return statuses
}

const SERVED = (calls: number): readonly number[] => Array.from({ length: calls }, () => 200)

const stopAll = () => Promise.all(several.nodes.map((each) => each.stop()))

async function billed(): Promise<number> {
  const { items } = await node(1).platform.get<{ items: readonly { calls: number }[] }>('/v1/summaries')
  return items.reduce((sum, { calls }) => sum + calls, 0)
}

async function metricOf({ baseUrl }: Service, name: string): Promise<number> {
  const text = await (await fetch(`${baseUrl}/metrics`)).text()
  const line = text.split('\n').find((each) => each.startsWith(`tollgate_${name} `))
  return Number(line?.split(' ')[1] ?? 0)
}

const countOf = (service: Service, reason: string) => metricOf(service, `events_total{reason="${reason}"}`)

/** Waits until all that happened is archived, and replaces the files by the base backup, recovered up to a time. */
async function restoreTo(time: string): Promise<void> {
  const { postgres } = several
  const { rows } = await sql('SELECT pg_walfile_name(pg_switch_wal()) AS file')
  const file = String(rows[0]?.['file'])
  const isArchived = async () =>
    (await sql(`SELECT last_archived_wal >= '${file}' AS done FROM pg_stat_archiver`)).rows[0]
  await expect.poll(isArchived, WAIT).toEqual({ done: true })
  await postgres.stop('SIGINT')
  const data = join(postgres.folder, 'data')
  renameSync(data, join(postgres.folder, 'lost'))
  renameSync(join(postgres.folder, 'base'), data)
  appendFileSync(
    join(data, 'postgresql.auto.conf'),
    `recovery_target_time = '${time}'\nrecovery_target_action = 'promote'\n`,
  )
  writeFileSync(join(data, 'recovery.signal'), '')
  chmodSync(join(data, 'recovery.signal'), 0o666)
  await postgres.start()
}

describe('PostgreSQL restored to a point in time', () => {
  let eve: Enrolled
  let bea: Enrolled
  let before = 0

  it('ends the nodes, because it lacks changes that they serve', { timeout: 3 * MINUTE }, async () => {
    eve = await enrol(node(0), 'free-v1', { name: 'Eve' })
    const { postgres } = several
    const base = ['-h', postgres.host, '-p', String(postgres.port), '-U', 'tollgate', '-c', 'fast', '--no-sync']
    postgres.run('pg_basebackup', ...base, '-D', join(postgres.folder, 'base'))
    expect(await call(ada, 30)).toEqual(SERVED(30))
    const { rows } = await sql('SELECT clock_timestamp()::text AS now')

    expect(await pendingAfter(node(0), `/v1/subscriptions/${eve.subscription}/suspend`)).toBe('')
    expect(await call(eve, 2, '/free-v1/entries?n=1')).toEqual([403, 403])
    bea = await enrol(node(1), 'free-v1', { name: 'Bea' })
    expect(await call(bea, 4, '/free-v1/entries?n=1')).toEqual(SERVED(4))
    expect(await call(ada, 20)).toEqual(SERVED(20))
    await expect.poll(billed, WAIT).toBeGreaterThanOrEqual(served)
    before = await billed()
    for (const each of several.nodes) await expect.poll(() => metricOf(each, 'last_good_lag'), WAIT).toBe(0)

    await restoreTo(String(rows[0]?.['now']))
    for (const each of several.nodes) {
      await expect.poll(each.errors, WAIT).toContain('PostgreSQL lacks changes that this node has applied')
      expect(await each.stop()).toBe(2)
    }
  })

  it('takes back what was committed after it, revocations too, and says so', { timeout: 3 * MINUTE }, async () => {
    await node(0).start()
    // More changes than were lost.
    for (const name of ['Cleo', 'Dan', 'Finn']) await enrol(node(0), 'free-v1', { name })
    await node(1).start()
    for (const each of several.nodes) {
      expect(await countOf(each, 'registry_went_back')).toBe(1)
      expect(each.errors()).toContain('what was revoked meanwhile may be valid again')
    }
    expect(await call(eve, 2, '/free-v1/entries?n=1')).toEqual([200, 200])
    expect(await call(bea, 2, '/free-v1/entries?n=1')).toEqual([401, 401])
    expect(await pendingAfter(node(0), `/v1/subscriptions/${eve.subscription}/suspend`)).toBe('')
    expect(await call(eve, 2, '/free-v1/entries?n=1')).toEqual([403, 403])
  })

  it('leaves the bill of calls after it, and admits nothing above a quota', { timeout: 3 * MINUTE }, async () => {
    expect(await billed()).toBeGreaterThanOrEqual(before)
    let units = 50
    const more = async () => (units += (await call(ada, 2)).filter((status) => status === 200).length)
    await expect.poll(more, WAIT).toBeGreaterThan(50)
    let refused = 0
    while (refused < 20) {
      const statuses = await call(ada, 2)
      units += statuses.filter((status) => status === 200).length
      refused += statuses.filter((status) => status !== 200).length
    }
    expect(units).toBeLessThanOrEqual(UNITS)
  })
})

describe('ClickHouse restored from an older copy', () => {
  it('gets from the spools what they still hold, once each node has started', { timeout: 3 * MINUTE }, async () => {
    const gus = await enrol(node(0), 'free-v1', { name: 'Gus' })
    const path = '/free-v1/entries?n=1'
    expect(await call(gus, 10, path)).toEqual(SERVED(10))
    const all = async () => (await billed()) >= served
    await expect.poll(all, WAIT).toBe(true)
    const copy = join(copies, 'store')
    await several.clickHouse.restart((data) => cpSync(data, copy, { recursive: true }))
    expect(await call(gus, 20, path)).toEqual(SERVED(20))
    await expect.poll(all, WAIT).toBe(true)
    const complete = await billed()

    await stopAll()
    await several.clickHouse.restart((data) => {
      rmSync(data, { recursive: true })
      cpSync(copy, data, { recursive: true })
    })
    await Promise.all(several.nodes.map((each) => each.start()))
    await expect.poll(billed, WAIT).toBe(complete)
    for (const each of several.nodes) expect(await countOf(each, 'checkpoint_repaired')).toBe(1)
  })

  it('is refused if it is empty, until the loss is accepted for each node', { timeout: 3 * MINUTE }, async () => {
    await stopAll()
    await several.clickHouse.restart((data) => rmSync(data, { recursive: true }))
    for (const each of several.nodes) {
      await expect(each.start()).rejects.toThrow(/npx tollgate recover --accept-loss store/)
      const folder = ['--data-dir', each.dataDir]
      const registry = await tollgate(['recover', '--accept-loss', 'registry', ...folder], several.settings)
      expect(registry).toMatchObject({ code: 2, err: expect.stringContaining('restore it there') })
      const { code, out } = await tollgate(['recover', '--accept-loss', 'store', ...folder], several.settings)
      expect({ code, out }).toMatchObject({ code: 0, out: expect.stringContaining('store: the store') })
    }
    await Promise.all(several.nodes.map((each) => each.start()))
    const hal = await enrol(node(0), 'free-v1', { name: 'Hal' })
    expect(await call(hal, 10, '/free-v1/entries?n=1')).toEqual(SERVED(10))
    await expect.poll(billed, WAIT).toBeGreaterThanOrEqual(10)
  })
})

describe('a dump of PostgreSQL', () => {
  it('serves in another database, with the same keys', { timeout: 3 * MINUTE }, async () => {
    await stopAll()
    const { postgres } = several
    const file = join(postgres.folder, 'dump')
    postgres.run('pg_dump', '-Fc', '-f', file, several.settings['DATABASE_URL']!)
    const url = await postgres.createDatabase()
    postgres.run('pg_restore', '-d', url, file)
    const env = { ...several.settings, NODE_NAME: 'a', DATABASE_URL: url }
    const restored = await createService({ args: ['--empty'], env, dataDir: node(0).dataDir })
    await restored.start()
    const { apiKey } = await enrol(restored, 'free-v1', { name: 'Ivy' })
    expect(await callOne(restored, '/free-v1/entries?n=1', apiKey)).toBe(200)
    expect([200, 402, 503]).toContain(await callOne(restored, PATH, ada.apiKey))
    expect(await countOf(restored, 'registry_went_back')).toBe(0)
    await restored.stop()
  })
})
