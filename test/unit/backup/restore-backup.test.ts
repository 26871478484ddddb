/** Backups that somebody made by hand: whatever the manifest says, nothing is written outside of the target, or read by it. */

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
import { describeFile, filesIn } from '../../../src/backup/copy-files.ts'
import { restoreBackup } from '../../../src/backup/restore-backup.ts'
import { StartRefused } from '../../../src/runtime/start-refused.ts'

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

/** Writes the manifest of what is there, changed by `change`. */
function note(change: (manifest: Record<string, unknown> & { files: unknown[] }) => unknown = () => {}): void {
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

it('restores what is as the manifest says, its links included', () => {
  note()
  expect(restoreBackup(backup, target).calls).toEqual({ stored: 1, inSpool: 0 })
  expect(readFileSync(join(target, 'clickhouse/metadata/default/part/data.bin'), 'utf8')).toBe('rows')
})

describe('a manifest is refused before anything is written', () => {
  const ofFile = { bytes: 5, sha256: 'f'.repeat(64) }

  it.each([
    ['a path above it', { path: '../outside', ...ofFile }],
    ['a path above it, hidden', { path: 'spool/../../outside', ...ofFile }],
    ['an absolute path', { path: '/etc/passwd', ...ofFile }],
    ['a path that is not plain', { path: './registry.db', ...ofFile }],
    ['an empty path', { path: '', ...ofFile }],
    ['a path with NUL', { path: 'a\0b', ...ofFile }],
    ['a path that is no text', { path: 5, ...ofFile }],
    ['a file without a hash', { path: 'lock', bytes: 5 }],
    ['a size below 0', { path: 'lock', bytes: -5, sha256: ofFile.sha256 }],
    ['a size that is none', { path: 'lock', bytes: '5', sha256: ofFile.sha256 }],
    ['no entry', null],
    ['a link that leads out', { path: 'clickhouse/data/x', link: '../../../other' }],
    ['a link to an absolute path', { path: 'clickhouse/data/x', link: '/other' }],
    ['a link to itself', { path: 'clickhouse', link: 'clickhouse' }],
    ['a link beside the store', { path: 'spool', link: 'clickhouse/store' }],
  ])('with %s', (_name, file) => {
    note(({ files }) => void files.push(file))
    expect(refusal()).toMatch(/backup\.json (is not the manifest|names|lists)/)
    expect(existsSync(target)).toBe(false)
  })

  it('with a file twice', () => {
    note(({ files }) => void files.push(files[0]))
    expect(refusal()).toMatch(/backup\.json/)
    expect(existsSync(target)).toBe(false)
  })

  it.each(['calls', 'checkpoint', 'spoolEnd', 'at', 'hasMasterKey', 'files'])('without %s', (name) => {
    note((manifest) => ({ ...manifest, [name]: undefined }))
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
])('refuses a backup in which %s is a link to %s, though its manifest says so', (path, to) => {
  link(path, to)
  note()
  expect(refusal()).toMatch(/backup\.json/)
  expect(existsSync(target)).toBe(false)
})

it('refuses a size that no file has, and a manifest that lists more than there is', () => {
  note(({ files }) => void Object.assign(files.at(-1) as object, { bytes: Number.MAX_SAFE_INTEGER }))
  expect(refusal()).toMatch(/differs from its entry in the manifest/)
  note(({ files }) => void files.push({ path: 'more', bytes: 2 ** 50, sha256: 'f'.repeat(64) }))
  expect(refusal()).toMatch(/is missing/)
  expect(existsSync(target)).toBe(false)
})

it('refuses a target that lies in the backup, whatever it is called and wherever it leads', () => {
  note()
  const inside = join(backup, 'inside')
  const before = readdirSync(backup)
  symlinkSync(backup, join(folder, 'elsewhere'))
  for (const path of [backup, inside, join(backup, '..inside'), join(folder, 'elsewhere/inside')]) {
    target = path
    expect(refusal()).toMatch(/lies in the backup/)
  }
  expect(readdirSync(backup)).toEqual(before)
})
