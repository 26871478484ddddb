import { mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, it, onTestFinished } from 'vitest'
import { segmentName } from '../../../../src/storage/spool/segment-name.ts'
import { segmentsIn, syncSegmentsLater } from '../../../../src/storage/spool/spool-folder.ts'

describe('syncSegmentsLater', () => {
  it('skips a segment that was removed after it was listed, and syncs the others', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'tollgate-spool-folder-'))
    onTestFinished(() => rmSync(folder, { recursive: true }))
    // Listed, but not there when it is opened.
    symlinkSync('gone', join(folder, segmentName(1)))
    writeFileSync(join(folder, segmentName(2)), 'records')
    expect(segmentsIn(folder)).toEqual([1, 2])

    const synced = Promise.withResolvers<unknown>()
    syncSegmentsLater(folder, synced.resolve)
    expect(await synced.promise).toBe(null)
  })
})
