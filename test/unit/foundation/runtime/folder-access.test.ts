import { spawnSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, it, onTestFinished } from 'vitest'
import { checkFolderAccess } from '../../../../src/foundation/runtime/folder-access.ts'

function folder(): string {
  const path = mkdtempSync(join(tmpdir(), 'tollgate-access-'))
  onTestFinished(() => rmSync(path, { recursive: true, force: true }))
  mkdirSync(join(path, 'spool'))
  return path
}

const NAMES = [
  'folder.json',
  'running',
  'registry.mark',
  'checkpoint.mark',
  'spool/gateway-0.mark',
  'master.key',
  'registry.db',
  'checkpoint.db-wal',
  'lock',
]

it.each(NAMES)('a folder or a named pipe in place of %s is refused with its name, without blocking', (name) => {
  for (const [make, reason] of [
    [(path: string) => mkdirSync(path), 'EISDIR'],
    [(path: string) => spawnSync('mkfifo', [path]), 'not a file'],
  ] as const) {
    const path = join(folder(), name)
    make(path)
    expect(() => checkFolderAccess(join(path, name.includes('/') ? '../..' : '..'))).toThrow(
      `${path} is not the expected kind of file (${reason}); move it away, or restore it from a backup`,
    )
  }
})

it('a link to a file is accepted as a file, and files of others are ignored', () => {
  const path = folder()
  writeFileSync(join(path, 'secret'), '')
  symlinkSync(join(path, 'secret'), join(path, 'master.key'))
  spawnSync('mkfifo', [join(path, 'pipe')])
  mkdirSync(join(path, 'spool/other.mark.d'))
  expect(() => checkFolderAccess(path)).not.toThrow()
})
