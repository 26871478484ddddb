/** Forged backups: no manifest makes the restore read or write outside of the target. */

import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { describeFile, filesIn } from '../../../../src/storage/backup/copy-files.ts'
import { restoreBackup } from '../../../../src/storage/backup/restore-backup.ts'
import { StartRefused } from '../../../../src/foundation/runtime/start-refused.ts'

let folder: string
let backup: string
let target: string

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'tollgate-restore-'))
  backup = join(folder, 'backup')
  target = join(folder, 'target')
  add('registry.db', 'registry')
  add('clickhouse/store/abc/part/data.bin', 'rows')
  link('clickhouse/metadata/default', '../store/abc')
})

afterEach(() => rmSync(folder, { recursive: true, force: true }))

function add(path: string, text: string): void {
  mkdirSync(dirname(join(backup, path)), { recursive: true })
  writeFileSync(join(backup, path), text)
}

function link(path: string, to: string): void {
  mkdirSync(dirname(join(backup, path)), { recursive: true })
  symlinkSync(to, join(backup, path))
}

/** Writes the manifest of the present files, changed by `change`. */
function writeManifest(change: (manifest: Record<string, unknown> & { files: unknown[] }) => unknown = () => {}): void {
  const manifest = {
    format: 1,
    version: '0.1.0',
    at: '2026-01-01T00:00:00.000Z',
    dataDir: '/data',
    wasRunning: true,
    hasMasterKey: false,
    server: null,
    checkpoint: { instance: 'abc', flushes: 1, position: {}, isFlushPending: false },
    spoolEnd: {},
    calls: { stored: 1, inSpool: 0 },
    files: filesIn(backup).map((path) => describeFile(backup, path)) as unknown[],
  }
  const changed = change(manifest) ?? manifest
  writeFileSync(join(backup, 'backup.json'), JSON.stringify(changed))
}

const refusal = (): string => {
  try {
    restoreBackup(backup, target)
  } catch (cause) {
    expect(cause).toBeInstanceOf(StartRefused)
    return (cause as Error).message
  }
  return 'restored'
}

it('a backup is restored with its links if it matches its manifest', () => {
  writeManifest()
  expect(restoreBackup(backup, target).calls).toEqual({ stored: 1, inSpool: 0 })
  expect(readFileSync(join(target, 'clickhouse/metadata/default/part/data.bin'), 'utf8')).toBe('rows')
})

describe('a restore writes nothing and refuses a manifest', () => {
  const ofFile = { bytes: 5, sha256: 'f'.repeat(64) }

  it.each([
    ['a path outside of the backup', { path: '../outside', ...ofFile }],
    ['a path that leaves the backup by `..`', { path: 'spool/../../outside', ...ofFile }],
    ['an absolute path', { path: '/etc/passwd', ...ofFile }],
    ['a path that is not normalised', { path: './registry.db', ...ofFile }],
    ['an empty path', { path: '', ...ofFile }],
    ['a path with NUL', { path: 'a\0b', ...ofFile }],
    ['a path that is not a string', { path: 5, ...ofFile }],
    ['a file without a hash', { path: 'lock', bytes: 5 }],
    ['a size below 0', { path: 'lock', bytes: -5, sha256: ofFile.sha256 }],
    ['a size that is not a number', { path: 'lock', bytes: '5', sha256: ofFile.sha256 }],
    ['an entry that is null', null],
    ['a link that points outside', { path: 'clickhouse/data/x', link: '../../../other' }],
    ['a link to an absolute path', { path: 'clickhouse/data/x', link: '/other' }],
    ['a link to itself', { path: 'clickhouse', link: 'clickhouse' }],
    ['a link outside of the store', { path: 'spool', link: 'clickhouse/store' }],
  ])('with %s', (_name, file) => {
    writeManifest(({ files }) => void files.push(file))
    expect(refusal()).toMatch(/backup\.json (is not the manifest|names|lists)/)
    expect(existsSync(target)).toBe(false)
  })

  it('that lists a file twice', () => {
    writeManifest(({ files }) => void files.push(files[0]))
    expect(refusal()).toMatch(/backup\.json/)
    expect(existsSync(target)).toBe(false)
  })

  it.each(['calls', 'checkpoint', 'spoolEnd', 'at', 'hasMasterKey', 'files'])('without %s', (name) => {
    writeManifest((manifest) => ({ ...manifest, [name]: undefined }))
    expect(refusal()).toMatch(/backup\.json is not the manifest/)
    expect(existsSync(target)).toBe(false)
  })

  it.each(['null', '[]', '5', '{', '', '{"format":1,"files":{}}'])('that is %s', (text) => {
    writeFileSync(join(backup, 'backup.json'), text)
    expect(refusal()).toMatch(/backup\.json/)
    expect(existsSync(target)).toBe(false)
  })
})

it.each([
  ['spool', '/somewhere'],
  ['clickhouse/data/default', '/somewhere'],
  ['clickhouse/data/default', '../../../somewhere'],
  ['master.key', '../../master.key'],
])('a restore refuses a backup in which %s is a link to %s, even if the manifest lists it', (path, to) => {
  link(path, to)
  writeManifest()
  expect(refusal()).toMatch(/backup\.json/)
  expect(existsSync(target)).toBe(false)
})

it('a restore refuses a size that differs from the file, and a listed file that does not exist', () => {
  writeManifest(({ files }) => void Object.assign(files.at(-1) as object, { bytes: Number.MAX_SAFE_INTEGER }))
  expect(refusal()).toMatch(/differs from its entry in the manifest/)
  writeManifest(({ files }) => void files.push({ path: 'more', bytes: 2 ** 50, sha256: 'f'.repeat(64) }))
  expect(refusal()).toMatch(/is missing/)
  expect(existsSync(target)).toBe(false)
})

it('a restore refuses a target within the backup, also through a link', () => {
  writeManifest()
  const inside = join(backup, 'inside')
  const before = readdirSync(backup)
  symlinkSync(backup, join(folder, 'elsewhere'))
  for (const path of [backup, inside, join(backup, '..inside'), join(folder, 'elsewhere/inside')]) {
    target = path
    expect(refusal()).toMatch(/lies in the backup/)
  }
  expect(readdirSync(backup)).toEqual(before)
})
