import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { describe, expect, it, onTestFinished } from 'vitest'
import { StartRefused, toStartRefused } from '../../../../src/foundation/runtime/start-refused.ts'

function folder(): string {
  const path = mkdtempSync(join(tmpdir(), 'tollgate-refused-'))
  onTestFinished(() => rmSync(path, { recursive: true, force: true }))
  return path
}

function errorOf(work: () => unknown): unknown {
  try {
    work()
  } catch (cause) {
    return cause
  }
  throw new Error('it did not fail')
}

/** Opens a database like the service. */
function openDatabase(path: string): void {
  const database = new DatabaseSync(path)
  try {
    database.exec('PRAGMA journal_mode = WAL')
  } finally {
    database.close()
  }
}

describe('toStartRefused', () => {
  it('names a file that is not a database, and the remedy', () => {
    const path = join(folder(), 'registry.db')
    writeFileSync(path, 'garbage'.repeat(1_000))
    const cause = errorOf(() => openDatabase(path))

    const refused = toStartRefused(path, cause)
    expect(refused).toBeInstanceOf(StartRefused)
    expect(refused.message).toBe(
      `${path} is damaged or not a database (file is not a database); restore it from a backup`,
    )
    expect(refused.cause).toBe(cause)
    expect(toStartRefused(path, cause, 'delete it').message).toMatch(/; delete it$/)
  })

  it('finds the cause of "unable to open database file"', () => {
    const path = join(folder(), 'registry.db')
    mkdirSync(path)
    const refused = toStartRefused(
      path,
      errorOf(() => openDatabase(path)),
    )
    expect(refused.message).toBe(
      `${path} is not the expected kind of file (EISDIR); move it away, or restore it from a backup`,
    )
  })

  it('names the companion file of a database that causes the fault', () => {
    const path = join(folder(), 'registry.db')
    openDatabase(path)
    mkdirSync(`${path}-wal`)
    const refused = toStartRefused(
      path,
      errorOf(() => openDatabase(path)),
    )
    expect(refused.message).toContain(`${path}-wal is not the expected kind of file (EISDIR)`)
  })

  it('names the path of an error of the file system', () => {
    const path = join(folder(), 'master.key')
    expect(
      toStartRefused(
        '/elsewhere',
        errorOf(() => readFileSync(path)),
      ).message,
    ).toBe(`${path} does not exist (ENOENT); restore it from a backup`)
  })

  it.each([
    ['ENOSPC', 'the disk or the quota is full; free some space'],
    ['EDQUOT', 'the disk or the quota is full; free some space'],
    ['EROFS', 'mount it writable'],
    ['EMFILE', 'raise the limit with ulimit -n'],
    ['EIO', 'the device reports errors'],
  ])('gives the remedy for %s', (code, remedy) => {
    const cause = Object.assign(new Error(code), { code })
    expect(toStartRefused('/data/lock', cause).message).toContain(remedy)
    expect(toStartRefused('/data/lock', cause).message).toContain('/data/lock')
  })

  it('returns a refusal and a bug unchanged', () => {
    const refused = new StartRefused('because')
    const bug = new TypeError('x is not a function')
    expect(toStartRefused('/data', refused)).toBe(refused)
    expect(toStartRefused('/data', bug)).toBe(bug)
  })
})
