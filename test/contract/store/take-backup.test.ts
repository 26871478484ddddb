/** Backups of unusual data folders and to unusual targets, without the embedded store. */

import {
  existsSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it, onTestFinished } from 'vitest'
import type { Holds } from '../../../src/storage/backup/control-session.ts'
import { openControlSocket } from '../../../src/storage/backup/control-socket.ts'
import type { Manifest } from '../../../src/storage/backup/manifest.ts'
import { takeBackup } from '../../../src/storage/backup/take-backup.ts'
import { openMarkFile } from '../../../src/foundation/runtime/mark-file.ts'
import { systemClock } from '../../../src/foundation/runtime/clock.ts'
import { openSqliteCheckpoint } from '../../../src/storage/store/sqlite/checkpoint.ts'
import { lockDataFolder } from '../../../src/storage/store/sqlite/data-folder.ts'
import { openSqliteRegistry } from '../../../src/storage/store/sqlite/registry.ts'

let folder: string
let dataDir: string

beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), 'tollgate-take-backup-'))
  dataDir = join(folder, 'data')
  mkdirSync(join(dataDir, 'spool'), { recursive: true })
  const registry = openSqliteRegistry({ path: join(dataDir, 'registry.db'), clock: systemClock })
  const author = { tenant: 'acme', consumer: 'system' }
  await registry.commit(author, 'test', [{ kind: 'note', id: 'n1', tenant: 'acme', expected: 0, body: {} }])
  await registry.close()
  const checkpoint = openSqliteCheckpoint({ path: join(dataDir, 'checkpoint.db'), newInstance: () => 'abc' })
  await checkpoint.close()
  writeFileSync(join(dataDir, 'master.key'), 'a'.repeat(64))
})

afterEach(() => rmSync(folder, { recursive: true, force: true }))

const backup = (target: string, from = dataDir): Promise<Manifest> =>
  takeBackup({ dataDir: from, target, version: '0', nowMs: () => 0, server: 'http://elsewhere' })

it.each([
  ['the folder itself', () => dataDir],
  ['a name that begins with two dots', () => join(dataDir, '..copy')],
  ['a link to it', () => join(folder, 'link/copy')],
  ['a link to its spool', () => join(folder, 'spool-link/deep/copy')],
])('a backup to a target in the data folder is refused: %s', async (_name, target) => {
  symlinkSync(dataDir, join(folder, 'link'))
  symlinkSync(join(dataDir, 'spool'), join(folder, 'spool-link'))
  const before = readdirSync(dataDir, { recursive: true })
  for (const from of [dataDir, join(folder, 'link')]) {
    await expect(backup(target(), from)).rejects.toThrow('lies in the data folder')
  }
  expect(readdirSync(dataDir, { recursive: true })).toEqual(before)
})

it.each([
  ['a file', (target: string) => writeFileSync(target, 'kept'), /is not the expected kind of file|is not empty/],
  ['a link', (target: string) => symlinkSync(folder, target), /is a symbolic link/],
  ['a link to nothing', (target: string) => symlinkSync(join(folder, 'nothing'), target), /is a symbolic link/],
  ['a backup under way', (target: string) => mkdirSync(`${target}.partial`), /\.partial is left/],
  ['a link for one', (target: string) => symlinkSync(folder, `${target}.partial`), /\.partial is left/],
  ['a link to nothing for one', (t: string) => symlinkSync(join(folder, 'no'), `${t}.partial`), /\.partial is left/],
])('a backup is refused if the target is %s, which is not changed', async (_name, make, message) => {
  make(join(folder, 'target'))
  const before = readdirSync(folder)
  await expect(backup(join(folder, 'target'))).rejects.toThrow(message)
  expect(readdirSync(folder)).toEqual(before)
})

it('a backup accepts any name of the target folder', async () => {
  const target = join(folder, 'deep', "a\nb 'c' $(d)")
  await backup(target)
  expect(readdirSync(join(folder, 'deep'))).toEqual(["a\nb 'c' $(d)"])
})

it('a backup contains the master key, not a link to it', async () => {
  renameSync(join(dataDir, 'master.key'), join(folder, 'mounted'))
  symlinkSync(join(folder, 'mounted'), join(dataDir, 'master.key'))
  const target = join(folder, 'target')
  expect((await backup(target)).hasMasterKey).toBe(true)
  expect(lstatSync(join(target, 'master.key')).isFile()).toBe(true)
  expect(readFileSync(join(target, 'master.key'), 'utf8')).toBe('a'.repeat(64))
})

it('a backup is refused if a segment is a link, which a restore would not accept', async () => {
  mkdirSync(join(dataDir, 'spool/gateway-0'))
  symlinkSync('/etc/hostname', join(dataDir, 'spool/gateway-0/x.spool'))
  await expect(backup(join(folder, 'target'))).rejects.toThrow('x.spool is a symbolic link')
  expect(readdirSync(folder)).toEqual(['data'])
})

it('a backup is refused if the registry is an older copy', async () => {
  const mark = openMarkFile(join(dataDir, 'registry.mark'))
  mark.write((mark.found ?? 0) + 3)
  mark.close()
  await expect(backup(join(folder, 'target'))).rejects.toThrow('registry.db lacks its last 3 changes')
  expect(existsSync(join(folder, 'target'))).toBe(false)
})

it('a backup contains the marks, so that a restored service detects missing records', async () => {
  const mark = openMarkFile(join(dataDir, 'spool/gateway-0.mark'))
  mark.write(7)
  mark.close()
  const target = join(folder, 'target')
  const { files } = await backup(target)
  const marks = files.map(({ path }) => path).filter((path) => path.endsWith('.mark'))
  expect(marks).toEqual(['checkpoint.mark', 'registry.mark', 'spool/gateway-0.mark', 'spool/registry.mark'])
  for (const path of marks) {
    expect(readFileSync(join(target, path), 'utf8')).toBe(readFileSync(join(dataDir, path), 'utf8'))
  }
})

describe('a backup of a running service', () => {
  /** Holds the lock and answers like the service. */
  async function serve(holds: Partial<Holds>): Promise<void> {
    const unlock = lockDataFolder(dataDir)
    const control = await openControlSocket({
      dataDir,
      clock: systemClock,
      onFailure: (cause) => expect.unreachable(String(cause)),
      holdStore: async () => () => {},
      keepSpool: () => () => {},
      freezeStore: async () => ({ folder: null, server: 'http://elsewhere', calls: 0 }),
      thawStore: async () => {},
      spoolShare: () => 0,
      hasMasterKey: true,
      ...holds,
    })
    onTestFinished(async () => {
      await control.close()
      unlock()
    })
  }

  it('does not contain the master key if the service has another one from its environment', async () => {
    await serve({ hasMasterKey: false })
    const target = join(folder, 'target')
    expect((await backup(target)).hasMasterKey).toBe(false)
    expect(existsSync(join(target, 'master.key'))).toBe(false)
  })

  it('is refused if the master key of the service is missing, because no copy could be used', async () => {
    rmSync(join(dataDir, 'master.key'))
    await serve({ hasMasterKey: true })
    await expect(backup(join(folder, 'target'))).rejects.toThrow(`${join(dataDir, 'master.key')} is missing`)
    expect(readdirSync(folder)).toEqual(['data'])
  })

  it('is refused if a part of the store disappears before it is copied', async () => {
    const frozen = join(folder, 'frozen')
    const part = join(frozen, 'store/abc/def/all_1_1_0')
    mkdirSync(part, { recursive: true })
    mkdirSync(join(dataDir, 'clickhouse'))
    writeFileSync(join(part, 'data.bin'), 'rows')
    await serve({
      freezeStore: async () => ({ folder: frozen, server: null, calls: 0 }),
      keepSpool: () => () => rmSync(part, { recursive: true, force: true }),
    })
    await expect(backup(join(folder, 'target'))).rejects.toThrow(`${join(part, 'data.bin')} does not exist`)
    expect(existsSync(join(folder, 'target'))).toBe(false)
  })

  it('is refused while another backup runs', async () => {
    await serve({})
    const ends = await Promise.allSettled([backup(join(folder, 'a')), backup(join(folder, 'b'))])
    expect(ends.map(({ status }) => status).toSorted()).toEqual(['fulfilled', 'rejected'])
    expect(readdirSync(folder)).toHaveLength(2)
  })
})
