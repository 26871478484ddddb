/** The spool writer on a failing disk: real files, with writes and syncs that fail. */

// @module-tag prlimit

import { rmdirSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { withFilesLimited } from '../../../file-size-limit.ts'
import { injectFaults } from '../../../inject-faults.ts'
import { placeOf } from '../../../../src/storage/spool/segment-header.ts'
import { openFiles, openWriter, SOURCE, START_MS } from './failing-disk-writer.ts'

describe('a spool writer whose write fails', () => {
  it('refuses calls without a new file or another attempt, and continues in the same segment', async () => {
    const spool = openWriter()
    await spool.turn('a')
    const size = spool.size()
    await withFilesLimited(size, async () => {
      for (let turn = 0; turn < 500; turn++) await spool.turn('a')
      expect(spool.writer.accepting).toBe(false)
    })
    expect(spool.failures).toEqual(['EFBIG'])
    expect(spool.outcomes.filter((outcome) => outcome.startsWith('refused'))).toHaveLength(500)
    expect([spool.segments().length, spool.size()]).toEqual([1, size])

    spool.second()
    expect(spool.writer.accepting).toBe(true)
    await spool.turn('a')
    expect(spool.outcomes.at(-1)).toBe('safe 502')
    expect([spool.segments().length, spool.read()]).toEqual([1, ['a', 'a']])
    expect(spool.states).toEqual(['EFBIG', null])
  })

  it('probes once a second while the disk refuses, and creates no file', async () => {
    const spool = openWriter()
    await spool.turn('a')
    const size = spool.size()
    await withFilesLimited(size, async () => {
      await spool.turn('a')
      for (let second = 1; second <= 100; second++) {
        spool.second()
        expect(spool.writer.accepting).toBe(false)
        await spool.turn('a')
        expect(spool.failures).toHaveLength(1 + second)
      }
    })
    expect([spool.segments().length, spool.size()]).toEqual([1, size])
    expect(spool.states).toEqual(['EFBIG'])
  })

  it('resumes without new calls', async () => {
    const spool = openWriter()
    await withFilesLimited(0, () => spool.turn('a'))
    spool.second()
    expect(spool.states).toEqual(['EFBIG', null])
  })

  it('waits until there is space for more than a few records', async () => {
    const spool = openWriter()
    await spool.turn('a')
    await withFilesLimited(spool.size(), () => spool.turn('a'))
    await withFilesLimited(spool.size() + 10_000, async () => spool.second())
    expect(spool.states).toEqual(['EFBIG'])
    spool.second()
    expect(spool.states).toEqual(['EFBIG', null])
  })

  it('truncates a partially written batch, at any byte', async () => {
    const spool = openWriter()
    await spool.turn('a')
    const size = spool.size()
    for (const bytes of [1, 23, 24, 25, 100, 200]) {
      await withFilesLimited(size + bytes, () => spool.turn('b', 'c', 'd'))
      expect(spool.size()).toBe(size)
      spool.second()
      expect(spool.writer.accepting).toBe(true)
    }
    await spool.turn('b', 'c', 'd')
    expect(spool.read()).toEqual(['a', 'b', 'c', 'd'])
    expect(spool.segments()).toHaveLength(1)
  })

  it('defines consumers of refused calls again, so that no record is attributed to another consumer', async () => {
    const spool = openWriter()
    await spool.turn('a', 'b')
    await withFilesLimited(spool.size(), async () => {
      await spool.turn('c', 'd')
      await spool.turn('e', 'a', 'f')
    })
    spool.second()
    await spool.turn('f')
    await spool.turn('b', 'd', 'a')
    await spool.turn('c', 'e')
    expect(spool.read()).toEqual(['a', 'b', 'f', 'b', 'd', 'a', 'c', 'e'])
  })

  it('writes records that are pending when it resumes with their own consumers', async () => {
    const spool = openWriter()
    await spool.turn('a')
    await withFilesLimited(spool.size(), () => spool.turn('b'))
    const turn = spool.turn('c')
    spool.second()
    await turn
    await spool.turn('d', 'c')
    expect(spool.outcomes).toEqual(['safe 1', 'refused 2', 'refused 3', 'safe 4', 'safe 5'])
    expect(spool.read()).toEqual(['a', 'd', 'c'])
  })

  it('loses nothing if the next segment cannot be created, and creates it later', async () => {
    const spool = openWriter({ segmentBytesMax: 100 })
    await spool.turn('a')
    const made = spool.segments()
    const folder = spool.blocked()
    await spool.turn('b')
    expect(spool.outcomes.at(-1)).toBe('safe 2')
    for (let second = 0; second < 5; second++) {
      spool.second()
      await spool.turn('c')
    }
    expect(spool.outcomes.slice(2).every((outcome) => outcome.startsWith('refused'))).toBe(true)
    rmdirSync(folder)
    expect(spool.segments()).toEqual(made)
    spool.second()
    await spool.turn('d')
    expect(spool.read()).toEqual(['a', 'b', 'd'])
    expect(spool.states).toEqual(['EISDIR', null])
  })
})

describe('a spool writer whose sync fails', { tags: ['strace', 'root'] }, () => {
  it('reports the records that no sync has covered, and accepts calls when the next segment is on the disk', async () => {
    const spool = openWriter({ sync: 'second' })
    await spool.turn('a')
    spool.second()
    await expect.poll(() => process.getActiveResourcesInfo()).not.toContain('FSReqCallback')
    await spool.turn('b', 'c')
    const faults = await injectFaults(process.pid, { calls: ['fdatasync'], error: 'EIO' })
    try {
      spool.second()
      await expect.poll(() => spool.states).toEqual(['EIO'])
      await spool.turn('d')
      for (const failures of [2, 3, 4]) {
        spool.second()
        await expect.poll(() => spool.failures.length).toBe(failures)
        expect(spool.writer.accepting).toBe(false)
      }
    } finally {
      expect(await faults.stop()).toBeGreaterThanOrEqual(4)
    }
    expect(spool.segments()).toHaveLength(2)
    expect(spool.uncertain).toMatchObject([
      { file: join('spool', SOURCE, spool.segments()[0] ?? ''), records: 2, isExact: false },
    ])
    expect(spool.uncertain[0]).toMatchObject({ fromMs: START_MS + 1_000, toMs: START_MS + 1_000 })

    spool.second()
    await expect.poll(() => spool.writer.accepting).toBe(true)
    await spool.turn('e', 'b')
    expect(spool.segments()).toHaveLength(2)
    expect(spool.read()).toEqual(['a', 'b', 'c', 'e', 'b'])
    // It was written again after the failed syncs.
    expect(spool.header()?.place).toBe(placeOf(join(SOURCE, spool.segments()[1]!)))
  })

  it('refuses the calls of the batch under SPOOL_SYNC=always, and does not bill them', async () => {
    const spool = openWriter({ sync: 'always' })
    await spool.turn('a')
    const faults = await injectFaults(process.pid, { calls: ['fdatasync'], error: 'EIO' })
    try {
      await spool.turn('b', 'c')
      spool.second()
      await expect.poll(() => spool.failures.length).toBe(2)
    } finally {
      await faults.stop()
    }
    spool.second()
    await expect.poll(() => spool.writer.accepting).toBe(true)
    await spool.turn('c')
    expect(spool.outcomes).toEqual(['safe 1', 'refused 2', 'refused 3', 'safe 4'])
    expect(spool.read()).toEqual(['a', 'c'])
    expect(spool.segments()).toHaveLength(2)
    expect(spool.uncertain).toEqual([])
  })

  it('reports refused calls that may be billed if their batch can neither be synced nor truncated', async () => {
    const spool = openWriter({ sync: 'always' })
    const faults = await injectFaults(process.pid, { calls: ['fdatasync', 'ftruncate'], error: 'EIO' })
    try {
      await spool.turn('a', 'b')
    } finally {
      await faults.stop()
    }
    expect(spool.outcomes).toEqual(['refused 1', 'refused 2'])
    expect(spool.failures).toEqual(['EIO'])
    expect(spool.uncertain).toMatchObject([{ records: 2, isExact: false }])
  })
})

it(
  'a spool writer that is closed while the disk refuses reports it and closes its file',
  { tags: ['strace', 'root'] },
  async () => {
    const spool = openWriter({ sync: 'second' })
    await spool.turn('a')
    const faults = await injectFaults(process.pid, { calls: ['fdatasync'], error: 'EIO' })
    try {
      spool.writer.close()
    } finally {
      await faults.stop()
    }
    expect(spool.failures).toEqual(['EIO'])
    expect(spool.uncertain).toMatchObject([{ records: 1 }])
    expect(openFiles().filter((path) => path.endsWith('.spool'))).toEqual([])
  },
)
