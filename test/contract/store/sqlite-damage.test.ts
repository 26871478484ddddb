import { copyFileSync, existsSync, mkdtempSync, readFileSync, rmSync, truncateSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { describe, expect, it, onTestFinished } from 'vitest'
import { StartRefused } from '../../../src/foundation/runtime/start-refused.ts'
import { openSqliteCheckpoint, type SqliteCheckpoint } from '../../../src/storage/store/sqlite/checkpoint.ts'
import { checkLargeFiles } from '../../../src/storage/store/sqlite/database-check.ts'
import { openSqliteIdempotencyStore } from '../../../src/storage/store/sqlite/idempotency-store.ts'
import { markPathOf, readMark } from '../../../src/foundation/runtime/mark-file.ts'
import { documentKind } from '../../../src/storage/store/registry.ts'
import { openSqliteRegistry, type SqliteRegistry } from '../../../src/storage/store/sqlite/registry.ts'

const THING = documentKind<unknown>('thing', 'hidden')

const clock = { nowMs: () => 5_000, after: () => () => {}, every: () => () => {} }
const AUTHOR = { tenant: 'acme', consumer: 'con_1' }
const GARBAGE = Buffer.alloc(8_192, 'garbage ')

function newFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), 'sqlite-damage-'))
  onTestFinished(() => rmSync(folder, { recursive: true }))
  return folder
}

function closing<T extends { close(): void }>(opened: T): T {
  onTestFinished(() => {
    try {
      opened.close()
    } catch {
      // The test closed it already.
    }
  })
  return opened
}

const openRegistry = (path: string): SqliteRegistry => closing(openSqliteRegistry({ path, clock }))
const openCheckpoint = (path: string): SqliteCheckpoint =>
  closing(openSqliteCheckpoint({ path, newInstance: () => 'here' }))

const thing = (expected: number, body: unknown, id = 'a') => [{ kind: 'thing', id, tenant: 'acme', expected, body }]

async function fillRegistry(path: string, changes = 3): Promise<void> {
  const registry = openRegistry(path)
  for (let revision = 0; revision < changes; revision++) {
    await registry.commit(AUTHOR, 'write', thing(revision, { text: `revision ${revision}` }))
  }
  registry.close()
}

function fillCheckpoint(path: string, flushes = 3): void {
  const checkpoint = openCheckpoint(path)
  for (let number = 1; number <= flushes; number++) {
    checkpoint.commit(checkpoint.begin({ 'gateway-0': { segment: 1, offset: number * 100 } }))
  }
  checkpoint.saveCounters({}, [{ subscription: 's', api: 'a', counters: [], breachesMs: [], refusedMs: 7 }], 9)
  checkpoint.close()
}

/** Changes text in the file without damage to its structure. */
function flip(path: string, from: string, to: string): void {
  const bytes = readFileSync(path)
  let changed = 0
  for (let at = bytes.indexOf(from); at >= 0; at = bytes.indexOf(from, at + 1)) {
    bytes.write(to, at)
    changed++
  }
  expect(changed).toBeGreaterThan(0)
  writeFileSync(path, bytes)
}

function refusal(open: () => unknown): string {
  try {
    open()
  } catch (cause) {
    expect(cause).toBeInstanceOf(StartRefused)
    return (cause as Error).message
  }
  throw new Error('it opened')
}

const FILES = [
  ['registry', fillRegistry, openRegistry],
  ['checkpoint', fillCheckpoint, openCheckpoint],
] as const

describe.each(FILES)('%s.db', (name, fill, open) => {
  it('is refused with its name and the remedy if it is not a database', async () => {
    const path = join(newFolder(), `${name}.db`)
    await fill(path)
    writeFileSync(path, GARBAGE)

    const message = refusal(() => open(path))
    expect(message).toContain(`${path} is damaged`)
    expect(message).toContain(`tollgate recover --accept-loss ${name}`)
  })

  it('is refused if it was truncated', async () => {
    const path = join(newFolder(), `${name}.db`)
    await fill(path)
    truncateSync(path, 8_192)

    expect(refusal(() => open(path))).toContain(`${path} is damaged`)
  })

  it('is refused if it is a folder', () => {
    expect(refusal(() => open(newFolder()))).toContain('is not the expected kind of file (EISDIR); move it away')
  })

  it('gets a new mark if the mark is missing or damaged', async () => {
    const path = join(newFolder(), `${name}.db`)
    await fill(path)
    const mark = readMark(markPathOf(path))
    expect(mark).toBeGreaterThan(0)
    for (const text of ['', 'tollgate mark 1 9999999999999999 00000000\n']) {
      writeFileSync(markPathOf(path), text)
      open(path).close()
      await (name === 'registry' ? bumpRegistry(path) : fillCheckpoint(path, 1))
      expect(readMark(markPathOf(path))).toBeGreaterThan(mark!)
    }
  })
})

async function bumpRegistry(path: string): Promise<void> {
  const registry = openRegistry(path)
  await registry.audit(AUTHOR, 'read', { kind: 'thing', id: 'a', tenant: 'acme' })
  registry.close()
}

describe('a damaged or older registry', () => {
  it('is refused if it is an older copy', async () => {
    const path = join(newFolder(), 'registry.db')
    await fillRegistry(path, 2)
    copyFileSync(path, `${path}.old`)
    const registry = openRegistry(path)
    await registry.commit(AUTHOR, 'write', thing(2, 'newer'))
    await registry.audit(AUTHOR, 'read', { kind: 'thing', id: 'a', tenant: 'acme' })
    registry.close()
    copyFileSync(`${path}.old`, path)

    expect(refusal(() => openRegistry(path))).toContain('lacks its last 2 changes')
    const accepted = openSqliteRegistry({ path, clock, isLossAccepted: true })
    accepted.close()
    openRegistry(path)
  })

  it('is refused if it was copied without its write-ahead log', async () => {
    const folder = newFolder()
    const path = join(folder, 'registry.db')
    await fillRegistry(path, 1)
    const registry = openRegistry(path)
    await registry.commit(AUTHOR, 'write', thing(1, 'in the log only'))
    const copy = join(newFolder(), 'registry.db')
    copyFileSync(path, copy)
    copyFileSync(markPathOf(path), markPathOf(copy))

    expect(refusal(() => openRegistry(copy))).toContain('lacks its last 1 change')
  })

  it('is refused if text inside a document changed, which SQLite does not detect', async () => {
    const path = join(newFolder(), 'registry.db')
    await fillRegistry(path)
    flip(path, '{"text":"revision 2"}', '{"text":"revision 7"}')

    expect(refusal(() => openRegistry(path))).toContain('a row of document does not match its checksum')
  })

  it('never returns a document whose row was changed while it is open', async () => {
    const path = join(newFolder(), 'registry.db')
    await fillRegistry(path)
    const registry = openRegistry(path)
    const other = new DatabaseSync(path)
    other.exec(`UPDATE document SET tenant = 'other'`)
    other.close()

    await expect(registry.get(THING, 'a')).rejects.toMatchObject({ name: 'RowDamaged' })
  })

  it('is refused if a document is not at the revision of its last change', async () => {
    const path = join(newFolder(), 'registry.db')
    await fillRegistry(path)
    const database = new DatabaseSync(path)
    database.exec('DELETE FROM document')
    database.close()

    expect(refusal(() => openRegistry(path))).toContain('1 documents are not at the revision of their last change')
  })

  it('is refused in the folder of another one, until it belongs there', async () => {
    const path = join(newFolder(), 'registry.db')
    await fillRegistry(path)
    const registry = openRegistry(path)
    registry.claim('inst-1')
    registry.close()
    const openIn = (instance: string, isLossAccepted = false) =>
      closing(openSqliteRegistry({ path, clock, instance, isLossAccepted }))
    openIn('inst-1').close()
    expect(refusal(() => openIn('inst-2'))).toContain('belongs to another data folder')
    const accepted = openIn('inst-2', true)
    accepted.claim('inst-2')
    accepted.close()
    openIn('inst-2').close()
  })

  it('keeps what it has noted of the checkpoint', async () => {
    const path = join(newFolder(), 'registry.db')
    const registry = openRegistry(path)
    expect(registry.notedChanges()).toBe(0)
    for (const changes of [7, 12, 3]) registry.noteChanges(changes)
    registry.close()
    expect(openRegistry(path).notedChanges()).toBe(3)
  })

  it('gets checksums for documents that were written before checksums existed', async () => {
    const path = join(newFolder(), 'registry.db')
    await fillRegistry(path)
    const database = new DatabaseSync(path)
    database.exec('ALTER TABLE document DROP COLUMN checksum; PRAGMA user_version = 4')
    database.close()
    openRegistry(path).close()
    flip(path, '{"text":"revision 2"}', '{"text":"revision 7"}')

    expect(refusal(() => openRegistry(path))).toContain('does not match its checksum')
  })
})

describe('a damaged or older checkpoint', () => {
  it('reports the number of missing changes each time', () => {
    const path = join(newFolder(), 'checkpoint.db')
    fillCheckpoint(path, 2)
    copyFileSync(path, `${path}.old`)
    for (let round = 0; round < 2; round++) {
      fillCheckpoint(path, 1)
      copyFileSync(`${path}.old`, path)
      const checkpoint = openCheckpoint(path)
      expect(checkpoint.claims().wentBackBy).toBe(3 * (round + 1))
      checkpoint.close()
    }
  })

  it.each([
    ['"offset":300', '"offset":700', 'a row of state'],
    ['"refusedMs":7', '"refusedMs":9', 'a row of counter'],
  ])('is refused if %s became %s', (from, to, row) => {
    const path = join(newFolder(), 'checkpoint.db')
    fillCheckpoint(path)
    flip(path, from, to)

    expect(refusal(() => openCheckpoint(path))).toContain(`${row} does not match its checksum`)
  })
})

describe('a file that is too large to be checked before use', () => {
  const checked = async (dataDir: string) => {
    const { promise, resolve } = Promise.withResolvers<string>()
    const stop = checkLargeFiles({
      dataDir,
      bytesMin: 0,
      onDamaged: resolve,
      onFailed: (cause) => resolve(`failed: ${String(cause)}`),
    })
    const sentence = await promise
    await stop()
    return sentence
  }

  it('is checked during the start, and a changed row is reported with the file and the remedy', async () => {
    const folder = newFolder()
    await fillRegistry(join(folder, 'registry.db'))
    flip(join(folder, 'registry.db'), '{"text":"revision 2"}', '{"text":"revision 7"}')

    const sentence = await checked(folder)
    expect(sentence).toContain(`${join(folder, 'registry.db')} is damaged (a row of document does not match`)
    expect(sentence).toContain(`recover --accept-loss registry --data-dir ${folder}`)
  })

  it('is reported if SQLite cannot read it', async () => {
    const folder = newFolder()
    fillCheckpoint(join(folder, 'checkpoint.db'))
    truncateSync(join(folder, 'checkpoint.db'), 8_192)

    expect(await checked(folder)).toContain(`${join(folder, 'checkpoint.db')} is damaged`)
  })
})

describe('idempotency.db', () => {
  it('is moved aside if it is damaged, and replaced by a new file', async () => {
    const path = join(newFolder(), 'idempotency.db')
    writeFileSync(path, GARBAGE)
    const moved: string[] = []
    const store = closing(
      openSqliteIdempotencyStore({ path, clock, onDamaged: (cause, aside) => moved.push(cause.message, aside) }),
    )

    expect(await store.claim('key', 'hash')).toBeNull()
    expect(moved).toEqual([expect.stringContaining('file is not a database'), `${path}.damaged`])
    expect(readFileSync(`${path}.damaged`)).toEqual(GARBAGE)
    expect(existsSync(path)).toBe(true)
  })
})
