import { appendFileSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import {
  discardJournals,
  openJournalFile,
  type JournalFile,
} from '../../../../src/boundary/leases/lease-journal-file.ts'
import type { JournalEntry } from '../../../../src/boundary/leases/lease-journal.ts'

const ENTRY: JournalEntry = { key: 'sub "1"\napi', startMs: 60_000, endMs: 120_000, claim: 7 }

let folder: string
let identities: number

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'tollgate-journal-'))
  identities = 0
})

afterEach(() => rmSync(folder, { recursive: true }))

const path = (): string => join(folder, 'leases.journal')

function open(overrides: { bootId?: string | null; retained?: readonly JournalEntry[] } = {}): JournalFile {
  const { bootId = 'boot-1', retained = [] } = overrides
  return openJournalFile({
    folder,
    bootId,
    newIdentity: () => `identity-${++identities}`,
    retained: () => retained,
    bytesMax: 200,
  })
}

function writeOne(): void {
  const journal = open()
  journal.write([ENTRY])
  journal.close()
}

describe('The journal of leases', () => {
  it('keeps identity and claims over a crash of the process, and counts its starts', () => {
    writeOne()
    const journal = open()
    expect(journal).toMatchObject({ identity: 'identity-1', session: 2, restored: [ENTRY] })
    journal.close()
    expect(open()).toMatchObject({ identity: 'identity-1', session: 3, restored: [ENTRY] })
  })

  it.each([
    ['the machine has started anew', () => {}, 'boot-2'],
    ['the platform does not name its start', () => {}, null],
    ['a line is damaged', () => appendFileSync(path(), '["k",1]\n["k",1,2,3]\n'), 'boot-1'],
    ['the header is damaged', () => writeFileSync(path(), 'x\n'), 'boot-1'],
    ['the file is gone', () => rmSync(path()), 'boot-1'],
  ])('takes a new identity if %s', (_, damage, bootId) => {
    writeOne()
    damage()
    expect(open({ bootId })).toMatchObject({ identity: 'identity-2', session: 1, restored: [] })
  })

  it('takes a new identity once it was discarded', () => {
    writeOne()
    expect(discardJournals(folder)).toEqual(['leases.journal'])
    expect(discardJournals(folder)).toEqual([])
    expect(open()).toMatchObject({ identity: 'identity-2', session: 1, restored: [] })
  })

  it('ignores the beginning of a line that a killed process left', () => {
    writeOne()
    appendFileSync(path(), '["k",1,2')
    expect(open()).toMatchObject({ identity: 'identity-1', restored: [ENTRY] })
  })

  it('replaces a file that has grown by the retained claims', () => {
    const journal = open({ retained: [ENTRY] })
    for (let claim = 1; claim <= 100; claim++) journal.write([{ ...ENTRY, key: 'k', claim }])
    expect(statSync(path()).size).toBeLessThan(400)
    const restored = open().restored
    expect(restored).toContainEqual(ENTRY)
    expect(restored.at(-1)).toMatchObject({ key: 'k', claim: 100 })
  })

  it('is not replaced at each write by claims that need more than its size', () => {
    const retained = Array.from({ length: 50 }, (_, claim) => ({ ...ENTRY, key: `k${claim}`, claim }))
    const journal = open({ retained })
    const inodes = new Set<number>()
    for (let claim = 1; claim <= 100; claim++) {
      journal.write([{ ...ENTRY, claim }])
      inodes.add(statSync(path()).ino)
    }
    expect(inodes.size).toBeLessThan(6)
  })

  it('has a file of its own for slices', () => {
    writeOne()
    const slices = openJournalFile({
      folder,
      name: 'slices.journal',
      bootId: 'boot-1',
      newIdentity: () => 'identity of slices',
      retained: () => [],
    })
    expect(slices).toMatchObject({ identity: 'identity of slices', session: 1, restored: [] })
    slices.close()
  })

  it('is readable by its owner only', () => {
    writeOne()
    expect(statSync(path()).mode & 0o777).toBe(0o600)
    expect(readFileSync(path(), 'utf8')).toContain('identity-1')
  })
})
