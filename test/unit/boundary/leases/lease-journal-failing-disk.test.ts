/** The journal of leases on a failing disk: real files, with writes and syncs that fail. */

import { closeSync, fstatSync, mkdirSync, mkdtempSync, openSync, rmdirSync, rmSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, it, onTestFinished } from 'vitest'
import { openJournalFile, type JournalFile } from '../../../../src/boundary/leases/lease-journal-file.ts'
import type { JournalEntry } from '../../../../src/boundary/leases/lease-journal.ts'
import { withFilesLimited } from '../../../file-size-limit.ts'
import { injectFaults } from '../../../inject-faults.ts'
import { openFiles } from '../../storage/spool/failing-disk-writer.ts'

const BYTES_MAX = 200

const entry = (claim: number): JournalEntry => ({ key: 'k', startMs: 60_000, endMs: 120_000, claim })

function makeFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), 'tollgate-journal-'))
  onTestFinished(() => rmSync(folder, { recursive: true }))
  return folder
}

function open(folder: string): JournalFile {
  const journal = openJournalFile({
    folder,
    bootId: 'boot',
    newIdentity: () => 'identity',
    retained: () => [entry(1)],
    bytesMax: BYTES_MAX,
  })
  onTestFinished(() => journal.close())
  return journal
}

/** Opens a journal that its next write replaces. */
function openGrown(folder: string): JournalFile {
  const journal = open(folder)
  while (statSync(join(folder, 'leases.journal')).size <= BYTES_MAX) journal.write([entry(2)])
  return journal
}

const claimsIn = (folder: string): readonly number[] => open(folder).restored.map(({ claim }) => claim)

describe('The journal of leases that cannot be replaced', () => {
  it('closes no descriptor of another file, and is written further when it can be replaced', () => {
    const folder = makeFolder()
    const journal = openGrown(folder)
    const blocked = join(folder, 'leases.journal.next')
    mkdirSync(blocked)
    expect(() => journal.write([entry(11)])).toThrow('EISDIR')
    // It takes the lowest number that is free.
    const other = openSync(join(folder, 'other'), 'w')
    expect(() => journal.write([entry(12)])).toThrow('EISDIR')
    expect(fstatSync(other).isFile()).toBe(true)
    closeSync(other)
    rmdirSync(blocked)
    journal.write([entry(13)])
    expect(claimsIn(folder)).toEqual([1, 13])
  })

  it('keeps no descriptor of the new file', { tags: ['prlimit'] }, async () => {
    const folder = makeFolder()
    const journal = openGrown(folder)
    await withFilesLimited(0, async () => {
      for (let time = 0; time < 5; time++) expect(() => journal.write([entry(11)])).toThrow('EFBIG')
    })
    expect(openFiles().filter((path) => path.startsWith(folder))).toEqual([join(folder, 'leases.journal')])
  })

  it('is written to the new file if only its folder cannot be synced', { tags: ['strace', 'root'] }, async () => {
    const folder = makeFolder()
    const journal = openGrown(folder)
    const faults = await injectFaults(process.pid, { calls: ['fsync'], error: 'EIO', paths: [folder] })
    try {
      expect(() => journal.write([entry(11)])).toThrow('EIO')
    } finally {
      await faults.stop()
    }
    journal.write([entry(12)])
    expect(claimsIn(folder)).toEqual([1, 12])
  })
})

describe('The journal of leases that is closed', () => {
  it('writes to no file that has taken its descriptor', () => {
    const journal = open(makeFolder())
    journal.close()
    expect(() => journal.write([entry(1)])).toThrow('the journal of leases is closed')
    expect(() => journal.close()).not.toThrow()
  })
})
