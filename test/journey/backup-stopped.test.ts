/** `tollgate backup` and `tollgate restore` of a stopped service: the copy has its bill; what is no whole backup is refused. */

import { appendFileSync, chmodSync, existsSync, mkdirSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { openBackupStage, openRestored, type BackupStage } from './backup-stage.ts'
import { billOf, startLoad } from './load.ts'
import { createService, isEmbedded, type Enrolled, type Service } from './service.ts'
import { tollgate } from './tollgate.ts'

let stage: BackupStage
let service: Service
let callers: readonly Enrolled[]
let folder: string

beforeAll(async () => {
  stage = await openBackupStage()
  ;({ service, callers, folder } = stage)
})

afterAll(() => stage.remove())

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
    const bill = await stage.settledBill()

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
    ['a restore without a target', () => ['restore', join(folder, 'stopped')], /needs --data-dir/],
    [
      'a restore into a folder in use',
      () => ['restore', join(folder, 'stopped'), '--data-dir', service.dataDir],
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
