/**
 * Data folders whose parts do not match: an older copy of one file together with newer copies of the others, missing parts,
 * missing rows. A folder that starts has an exact bill; every other one is refused with a sentence.
 */

import {
  cpSync,
  existsSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  truncateSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { basename, join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { foldersIn } from '../../src/storage/spool/spool-folder.ts'
import {
  BILLED,
  billOf,
  createFolderCopies,
  database,
  earlyRefusal,
  NOT_FOUND,
  recordedLoss,
  recover,
  refusal,
  startOn,
  type FolderCopies,
} from './folder-copies.ts'
import { liveFilesIn } from './live-folder.ts'
import { endStarts } from './refused-starts.ts'
import { isEmbedded, type Service } from './service.ts'

let copies: FolderCopies

beforeAll(async () => {
  copies = await createFolderCopies()
})

afterAll(async () => {
  endStarts()
  await copies.close()
})

describe.skipIf(!isEmbedded)('an intact data folder (needs the registry and the store in the folder)', () => {
  it.each(['first', 'second', 'third'] as const)('starts and bills its calls: %s copy', async (name) => {
    const service = await startOn(copies.copyOf(name))
    expect(await billOf(service)).toBe(BILLED[name])
  })
})

describe.skipIf(!isEmbedded)('an older checkpoint.db (needs the registry and the store in the folder)', () => {
  it.each(['first', 'second'] as const)('is repaired from the store, and the bill is exact: %s copy', async (name) => {
    const service = await startOn(copies.mixed(database('checkpoint'), name))
    expect(service.errors()).toContain('continuing from the position recorded in the store')
    await service.stop()
    await service.start()
    expect(await billOf(service)).toBe(BILLED.third)
    expect(service.errors()).not.toContain('is an older copy')
  })

  it('makes the journals of leases untrusted, since they may be as old', async () => {
    const dataDir = copies.mixed(database('checkpoint'), 'second')
    writeFileSync(join(dataDir, 'leases.journal'), '')
    const service = await startOn(dataDir)
    expect(service.errors()).toContain('this node takes new leases')
    expect(existsSync(join(dataDir, 'leases.journal'))).toBe(false)
  })

  it('is refused if it belongs to another folder', async () => {
    const other = await startOn(mkdtempSync(join(tmpdir(), 'tollgate-other-')))
    await other.stop()
    const dataDir = copies.mixed()
    for (const file of [...database('checkpoint'), 'checkpoint.mark']) {
      rmSync(join(dataDir, file), { force: true })
      if (existsSync(join(other.dataDir, file))) cpSync(join(other.dataDir, file), join(dataDir, file))
    }
    expect(await refusal(dataDir)).toContain('checkpoint.db belongs to another data folder')
    writeFileSync(join(dataDir, 'leases.journal'), '')
    recover(dataDir, 'checkpoint')
    expect(existsSync(join(dataDir, 'leases.journal'))).toBe(false)
    const service = await startOn(dataDir)
    expect(await billOf(service)).toBe(BILLED.third)
    expect(await recordedLoss(service, 'checkpoint')).toContain('the last one in the store')
  })
})

describe.skipIf(!isEmbedded)('an older store (needs the registry and the store in the folder)', () => {
  it('is refilled from the spool if that holds its calls, and the bill is exact', async () => {
    const dataDir = copies.mixed(['clickhouse'], 'second')
    writeFileSync(join(dataDir, 'leases.journal'), '')
    const service = await startOn(dataDir)
    expect(service.errors()).toContain('storing them again from the spool')
    expect(existsSync(join(dataDir, 'leases.journal'))).toBe(true)
    await service.stop()
    await service.start()
    expect(await billOf(service)).toBe(BILLED.third)
  })

  it('is refused if the spool no longer holds its calls, until the loss is accepted', async () => {
    const dataDir = copies.mixed(['clickhouse'], 'first')
    releaseOldSegments(dataDir)
    expect(await refusal(dataDir)).toMatch(
      /the store is behind checkpoint\.db by \d+ flushes .*recover --accept-loss store/,
    )
    recover(dataDir, 'store')
    const service = await startOn(dataDir)
    // Calls that were in the spool at the kill are billed; lost calls are not.
    const bill = await billOf(service)
    expect(bill).toBeGreaterThanOrEqual(BILLED.first)
    expect(bill).toBeLessThan(BILLED.third)
    expect(await recordedLoss(service, 'store')).toContain('the store is behind')
  })

  it('is refused if rows are missing, and the error gives their number', async () => {
    const dataDir = copies.mixed()
    const removed = removeParts(dataDir, 'line_items')
    expect(removed).toBeGreaterThan(0)
    expect(await refusal(dataDir)).toMatch(/rows of the store are missing: \d+ of \d+ rows of line_items in \d{4}-\d\d/)
    expect(recover(dataDir, 'store')).toMatch(/line items of \d+ calls were made again from the hourly totals/)
    const service = await startOn(dataDir)
    expect(await billOf(service)).toBe(BILLED.third)
    expect(await itemizedOf(service)).toBe(BILLED.third)
    await service.stop()
    await service.start()
    expect(await itemizedOf(service)).toBe(BILLED.third)
  })
})

describe.skipIf(!isEmbedded)('a segment of the spool (needs the registry and the store in the folder)', () => {
  const lastIn = (folder: string): string => join(folder, readdirSync(folder).sort().at(-1)!)

  it('is refused in another place, before anything is written', async () => {
    const dataDir = copies.mixed()
    const own = lastIn(join(dataDir, 'spool/gateway-0'))
    const other = join(dataDir, 'spool/gateway-0/9000000000.spool')
    renameSync(own, other)
    const before = contentsOf(dataDir)
    expect(await refusal(dataDir)).toContain('9000000000.spool was renamed or moved')
    expect(contentsOf(dataDir)).toEqual(before)
  })

  it('is refused if it belongs to another folder, of a gateway thread and of the platform', async () => {
    const other = await startOn(mkdtempSync(join(tmpdir(), 'tollgate-other-')))
    await other.stop()
    for (const source of ['gateway-0', 'platform']) {
      const [from, dataDir] = [lastIn(join(other.dataDir, 'spool', source)), copies.mixed()]
      cpSync(from, join(dataDir, 'spool', source, basename(from)))
      expect(await refusal(dataDir)).toContain(`${basename(from)} was written in another data folder`)
    }
  })
})

/** Bytes of the segments, of their marks and of what a start writes beside them, by path. */
function contentsOf(dataDir: string): readonly string[] {
  const isCompared = /\/spool\/(gateway|platform).*k$|\.spool$|\/(checkpoint\.mark|running|folder\.json)$/
  const paths = liveFilesIn(dataDir).filter((path) => isCompared.test(path))
  return paths.map((path) => `${path} ${readFileSync(path, 'base64')}`).sort()
}

/** Calls of the line items. */
async function itemizedOf(service: Service): Promise<number> {
  const { items } = await service.platform.get<{ items: readonly { calls: number }[] }>('/v1?api=ledger-v1&limit=500')
  return items.reduce((sum, { calls }) => sum + calls, 0)
}

describe.skipIf(!isEmbedded)('an unreadable store (needs the registry and the store in the folder)', () => {
  it.each([
    ['damaged flush notes', 'flushes', /all_\d+_\d+_\d+$/],
    ['a damaged table definition', '', /line_items\.sql$/],
  ])('is refused, and starts without the damaged data once the loss is accepted: %s', async (_, table, name) => {
    const dataDir = copies.mixed()
    damage(dataDir, table, name)
    expect(await refusal(dataDir)).toMatch(/(the store cannot be read|cannot be opened).*recover --accept-loss store/)
    recover(dataDir, 'store')
    await startOn(dataDir)
  })
})

/** Overwrites the data of every part of a table, or its definition. */
function damage(dataDir: string, table: string, name: RegExp): void {
  const metadata = join(dataDir, 'clickhouse/metadata/default')
  const folder = table === '' ? metadata : join(dataDir, 'clickhouse/data/default', table)
  const found = readdirSync(folder).filter((entry) => name.test(entry))
  expect(found.length).toBeGreaterThan(0)
  for (const entry of found) {
    const path = table === '' ? join(folder, entry) : join(folder, entry, 'data.bin')
    writeFileSync(path, Buffer.alloc(statSync(path).size, 'garbage'))
  }
}

/** Removes all segments except the last of each source, as the service does with segments that it no longer needs. */
function releaseOldSegments(dataDir: string): void {
  for (const source of foldersIn(join(dataDir, 'spool'))) {
    const segments = readdirSync(join(dataDir, 'spool', source)).sort()
    for (const segment of segments.slice(0, -1)) rmSync(join(dataDir, 'spool', source, segment))
  }
}

/** Removes every part of a table of the embedded store, and returns their number. */
function removeParts(dataDir: string, table: string): number {
  const tableFolder = join(dataDir, 'clickhouse/data/default', table)
  const parts = readdirSync(tableFolder).filter((name) => /^\d{6}_/.test(name))
  for (const part of parts) rmSync(join(tableFolder, part), { recursive: true })
  return parts.length
}

describe.skipIf(!isEmbedded)('an older registry.db (needs the registry and the store in the folder)', () => {
  it('is refused by its mark, and without the mark by the positions in checkpoint and store', async () => {
    const dataDir = copies.mixed(database('registry'))
    expect(await earlyRefusal(dataDir)).toMatch(
      /registry\.db lacks its last \d+ changes.*recover --accept-loss registry/,
    )
    rmSync(join(dataDir, 'registry.mark'))
    expect(await refusal(dataDir)).toMatch(/registry\.db lacks its last \d+ changes.*recover --accept-loss registry/)
    recover(dataDir, 'registry')
    const service = await startOn(dataDir)
    expect(await billOf(service)).toBe(BILLED.third)
  })

  it('is refused if it belongs to another folder, also with its mark and its key', async () => {
    const other = await startOn(mkdtempSync(join(tmpdir(), 'tollgate-other-')))
    await other.stop()
    const dataDir = copies.mixed()
    for (const file of [...database('registry'), 'registry.mark', 'master.key', 'spool/registry.mark']) {
      rmSync(join(dataDir, file), { force: true })
      if (existsSync(join(other.dataDir, file))) cpSync(join(other.dataDir, file), join(dataDir, file))
    }
    expect(await earlyRefusal(dataDir)).toMatch(/registry\.db belongs to another data folder.*--accept-loss registry/)
    recover(dataDir, 'registry')
    const service = await startOn(dataDir)
    expect(await recordedLoss(service, 'registry')).not.toBe(NOT_FOUND)
    await service.stop()
    await service.start()
  })

  it('is refused with another master key', async () => {
    expect(await earlyRefusal(copies.mixed(), { MASTER_KEY: 'ab'.repeat(32) })).toContain(
      'the master key does not open the stored secrets',
    )
  })
})

describe.skipIf(!isEmbedded)('a missing part (needs the registry and the store in the folder)', () => {
  it.each([
    ['registry.db', 'registry'],
    ['checkpoint.db', 'checkpoint'],
    ['clickhouse', 'store'],
    ['spool', 'spool'],
    ['master.key', 'registry'],
  ])('refuses the start and names the command that accepts the loss: %s', async (file, part) => {
    const dataDir = copies.mixed()
    rmSync(join(dataDir, file), { recursive: true })
    const sentence = await earlyRefusal(dataDir)
    expect(sentence).toContain(`${file}`)
    expect(sentence).toContain(`npx tollgate recover --accept-loss ${part} --data-dir ${dataDir}`)

    expect(recover(dataDir, part)).toMatch(new RegExp(`^${part}: .*(lost|billed|flush|holds)`))
    const service = await startOn(dataDir)
    expect(await recordedLoss(service, part)).not.toBe(NOT_FOUND)
    if (part === 'checkpoint') expect(await billOf(service)).toBe(BILLED.third)
    await service.stop()
    await service.start()
  })

  it('is also detected without folder.json, if a later part exists', async () => {
    const dataDir = copies.mixed()
    rmSync(join(dataDir, 'folder.json'))
    truncateSync(join(dataDir, 'registry.db'), 0)
    expect(await earlyRefusal(dataDir)).toContain('registry.db is missing or empty')
  })
})

describe.skipIf(!isEmbedded)('a damaged file (needs the registry and the store in the folder)', () => {
  it('refuses the start with its name and the remedy', async () => {
    for (const [file, part] of [
      ['registry.db', 'registry'],
      ['checkpoint.db', 'checkpoint'],
    ] as const) {
      const dataDir = copies.mixed()
      writeFileSync(join(dataDir, file), Buffer.alloc(40_000, 'garbage'))
      const sentence = await earlyRefusal(dataDir)
      expect(sentence).toContain(`${join(dataDir, file)} is damaged`)
      expect(sentence).toContain(`recover --accept-loss ${part}`)
    }
  })

  it('does not stop the service if it is idempotency.db', async () => {
    const dataDir = copies.mixed()
    writeFileSync(join(dataDir, 'idempotency.db'), Buffer.alloc(40_000, 'garbage'))
    const service = await startOn(dataDir)
    expect(service.errors()).toContain('idempotency.db is damaged and was moved aside')
    expect(await billOf(service)).toBe(BILLED.third)
  })
})
