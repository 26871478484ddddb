/**
 * `tollgate backup` and `tollgate restore`: a copy has the bill of its point in time, and the service continues during the copy.
 *
 * `BACKUPS` sets the number of backups under load (2 in the suite; `npm run backups` makes it 20).
 */

import { spawnSync } from 'node:child_process'
import {
  appendFileSync,
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { connect } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { MANIFEST_NAME, type Manifest } from '../../src/backup/manifest.ts'
import { ledgerDocument, startLedgerBackend, type LedgerBackend } from './ledger-backend.ts'
import { billOf, lineItemsOf, startLoad, sumOf, type Load } from './load.ts'
import { createService, enrol, publish, type Enrolled, type Service, isEmbedded } from './service.ts'
import { tollgate } from './tollgate.ts'

const BACKUPS = Number(process.env['BACKUPS'] ?? 2)
const CONSUMERS = ['Ada', 'Bea', 'Cid']
const CALLS_BETWEEN = 200

let backend: LedgerBackend
let service: Service
let callers: Enrolled[]
let folder: string

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'tollgate-backup-'))
  backend = await startLedgerBackend()
  service = await createService({ args: ['--empty'] })
  await service.start()
  await publish(service, 'ledger-v1', ledgerDocument(), backend.url)
  callers = []
  for (const name of CONSUMERS) callers.push(await enrol(service, 'ledger-v1', { name }))
})

afterAll(async () => {
  await service.remove()
  await backend.close()
  rmSync(folder, { recursive: true, force: true })
})

const manifestOf = (backup: string): Manifest =>
  JSON.parse(readFileSync(join(backup, MANIFEST_NAME), 'utf8')) as Manifest

/** Restores a backup and starts a service on it, on other ports. */
async function openRestored(backup: string): Promise<Service> {
  const dataDir = `${backup}-restored`
  const { code, err } = await tollgate(['restore', backup, '--data-dir', dataDir])
  expect([code, err]).toEqual([0, ''])
  const restored = await createService({ args: ['--empty'], dataDir })
  await restored.start()
  // A clean stop stores all recorded calls.
  await restored.stop()
  await restored.start()
  return restored
}

describe.skipIf(!isEmbedded)('backup of a running service (needs the registry and the store in the folder)', () => {
  it(
    `holds every call answered before it and none twice, in ${BACKUPS} backups under load`,
    { timeout: BACKUPS * 60_000 + 60_000 },
    async () => {
      const load = startLoad(service, callers)
      try {
        for (let round = 1; round <= BACKUPS; round++) {
          await load.reached(round * CALLS_BETWEEN)
          await compareOne(load, join(folder, `under-load-${round}`))
        }
      } finally {
        await load.stop()
      }
      const total = new Map(load.tallies.map(({ caller, whole }) => [caller.consumer, whole]))
      await service.stop()
      await service.start()
      expect(await billOf(service)).toEqual(total)
      expect(await lineItemsOf(service)).toEqual(total)
    },
  )

  async function compareOne(load: Load, backup: string): Promise<void> {
    const before = load.tallies.map(({ whole }) => whole)
    const { code, out, err } = await tollgate(['backup', backup, '--data-dir', service.dataDir])
    const after = load.tallies.map(({ sent }) => sent)
    expect([code, err]).toEqual([0, ''])
    expect(out).toContain('verified')

    const restored = await openRestored(backup)
    try {
      const bill = await billOf(restored)
      const { calls } = manifestOf(backup)
      expect(sumOf(bill)).toBe((calls.stored ?? NaN) + calls.inSpool)
      expect(await lineItemsOf(restored)).toEqual(bill)
      for (const [index, { caller }] of load.tallies.entries()) {
        expect(bill.get(caller.consumer)).toBeGreaterThanOrEqual(before[index]!)
        expect(bill.get(caller.consumer)).toBeLessThanOrEqual(after[index]!)
      }
    } finally {
      await restored.remove()
    }
  }

  it('contains exactly the calls of its point in time if no call arrives meanwhile, also calls that are only in the spool', async () => {
    const load = startLoad(service, callers)
    await load.reached(50)
    await load.stop()
    const bill = await settledBill()
    const backup = join(folder, 'quiet')
    expect((await tollgate(['backup', backup, '--data-dir', service.dataDir])).code).toBe(0)

    const restored = await openRestored(backup)
    expect(await billOf(restored)).toEqual(bill)
    // The copy is independent of the original.
    const more = startLoad(restored, callers)
    await more.reached(1)
    await more.stop()
    expect(await settledBill()).toEqual(bill)
    await restored.remove()
  })

  it('is readable only by its owner, and lists every file with its hash', async () => {
    const backup = join(folder, 'private')
    await tollgate(['backup', backup, '--data-dir', service.dataDir])
    const open = spawnSync('find', ['.', '-perm', '/077', '!', '-type', 'l'], { cwd: backup, encoding: 'utf8' })
    expect([open.status, open.stdout]).toEqual([0, ''])
    const found = spawnSync('find', ['.', '!', '-type', 'd', '!', '-name', MANIFEST_NAME], {
      cwd: backup,
      encoding: 'utf8',
    })
    const listed = manifestOf(backup).files.map(({ path }) => `./${path}`)
    expect(found.stdout.trim().split('\n').toSorted()).toEqual(listed.toSorted())
    expect(listed).toContain('./master.key')
  })

  it('leaves nothing in the data folder, and no pause behind', async () => {
    expect(existsSync(join(service.dataDir, 'clickhouse/shadow'))).toBe(false)
    expect(statSync(join(service.dataDir, 'control.sock')).mode & 0o777).toBe(0o600)
  })

  it('does not stop billing if a client freezes the service and dies', async () => {
    const socket = connect(join(service.dataDir, 'control.sock'))
    const { promise: frozen, resolve } = Promise.withResolvers<void>()
    socket.once('data', () => resolve())
    socket.write('{"ask":"freeze"}\n')
    await frozen
    const second = await tollgate(['backup', join(folder, 'second'), '--data-dir', service.dataDir])
    expect([second.code, second.err]).toEqual([2, expect.stringContaining('another backup is running')])
    expect(readdirSync(folder).filter((name) => name.startsWith('second'))).toEqual([])
    const load = startLoad(service, callers)
    await load.reached(10)
    await load.stop()
    const before = await billOf(service)
    socket.destroy()
    const bill = await settledBill()
    expect(sumOf(bill)).toBeGreaterThanOrEqual(sumOf(before) + 30)
    expect((await tollgate(['backup', join(folder, 'third'), '--data-dir', service.dataDir])).code).toBe(0)
  })
})

/** Returns the bill once it contains every answered call. */
async function settledBill(): Promise<ReadonlyMap<string, number>> {
  await service.stop()
  await service.start()
  return billOf(service)
}

describe.skipIf(!isEmbedded)('backup of a stopped service (needs the registry and the store in the folder)', () => {
  it.each(['stopped', 'killed'] as const)('has the bill of a service that was %s', async (how) => {
    const load = startLoad(service, callers)
    await load.reached(100)
    await load.stop()
    await (how === 'killed' ? service.kill() : service.stop())
    const backup = join(folder, how)
    const { code, err } = await tollgate(['backup', backup, '--data-dir', service.dataDir])
    expect([code, err]).toEqual([0, ''])
    await service.start()
    const bill = await settledBill()

    const restored = await openRestored(backup)
    expect(await billOf(restored)).toEqual(bill)
    await restored.remove()
  })
})

describe.skipIf(!isEmbedded)('backup and restore refuse (needs the registry and the store in the folder)', () => {
  it.each([
    ['a target that is not empty', () => ['backup', folder], /is not empty/],
    ['a target within the data folder', () => ['backup', join(service.dataDir, 'copy')], /lies in the data folder/],
    [
      'a folder that is none of tollgate',
      () => ['backup', join(folder, 'x'), '--data-dir', tmpdir()],
      /not a data folder/,
    ],
    ['no target', () => ['backup'], /takes exactly one folder/],
    ['a restore without a target', () => ['restore', join(folder, 'quiet')], /needs --data-dir/],
    [
      'a restore into a folder in use',
      () => ['restore', join(folder, 'quiet'), '--data-dir', service.dataDir],
      /is not empty/,
    ],
    [
      'a restore of a folder that is not a backup',
      () => ['restore', tmpdir(), '--data-dir', join(folder, 'x')],
      /is not a backup/,
    ],
  ] as const)('%s', async (_name, args, message) => {
    const { code, err } = await tollgate(args(), { DATA_DIR: service.dataDir })
    expect([code, err]).toEqual([2, expect.stringMatching(message)])
    expect(existsSync(join(folder, 'x'))).toBe(false)
  })

  it.each([
    ['changed', (path: string) => appendFileSync(path, 'x'), /differs from its entry in the manifest/],
    ['missing', (path: string) => rmSync(path), /is missing/],
    ['added', (path: string) => writeFileSync(`${path}-wal`, 'x'), /is not listed in the manifest/],
  ] as const)('a backup of which a file is %s', async (name, change, message) => {
    const backup = join(folder, `damaged-${name}`)
    expect((await tollgate(['backup', backup, '--data-dir', service.dataDir])).code).toBe(0)
    change(join(backup, 'checkpoint.db'))
    const target = join(folder, `not-restored-${name}`)
    const { code, err } = await tollgate(['restore', backup, '--data-dir', target])
    expect([code, err]).toEqual([2, expect.stringMatching(message)])
    expect(existsSync(target)).toBe(false)
  })

  it('a start on an unfinished restore', async () => {
    const dataDir = join(folder, 'half-restored')
    mkdirSync(dataDir)
    writeFileSync(join(dataDir, 'restore.incomplete'), '')
    chmodSync(dataDir, 0o700)
    const half = await createService({ args: ['--empty'], dataDir })
    await expect(half.start()).rejects.toThrow(/ended with 2[^]*holds an unfinished restore/)
  })
})
