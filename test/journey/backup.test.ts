/**
 * `tollgate backup` of a running service: a copy has the bill of its point in time, and the service continues during the copy.
 *
 * `BACKUPS` sets the number of backups under load (2 in the suite; `npm run backups` makes it 20).
 */

import { spawnSync } from 'node:child_process'
import { existsSync, readdirSync, readFileSync, statSync } from 'node:fs'
import { connect } from 'node:net'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { MANIFEST_NAME, type Manifest } from '../../src/storage/backup/manifest.ts'
import { openBackupStage, openRestored, type BackupStage } from './backup-stage.ts'
import { billOf, lineItemsOf, startLoad, sumOf, type Load } from './load.ts'
import { isEmbedded, type Enrolled, type Service } from './service.ts'
import { tollgate } from './tollgate.ts'

const BACKUPS = Number(process.env['BACKUPS'] ?? 2)
const CALLS_BETWEEN = 200

let stage: BackupStage
let service: Service
let callers: readonly Enrolled[]
let folder: string

beforeAll(async () => {
  stage = await openBackupStage()
  ;({ service, callers, folder } = stage)
})

afterAll(() => stage.remove())

const manifestOf = (backup: string): Manifest =>
  JSON.parse(readFileSync(join(backup, MANIFEST_NAME), 'utf8')) as Manifest

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
    const bill = await stage.settledBill()
    const backup = join(folder, 'quiet')
    expect((await tollgate(['backup', backup, '--data-dir', service.dataDir])).code).toBe(0)

    const restored = await openRestored(backup)
    expect(await billOf(restored)).toEqual(bill)
    // The copy is independent of the original.
    const more = startLoad(restored, callers)
    await more.reached(1)
    await more.stop()
    expect(await stage.settledBill()).toEqual(bill)
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
    const bill = await stage.settledBill()
    expect(sumOf(bill)).toBeGreaterThanOrEqual(sumOf(before) + 30)
    expect((await tollgate(['backup', join(folder, 'third'), '--data-dir', service.dataDir])).code).toBe(0)
  })
})
