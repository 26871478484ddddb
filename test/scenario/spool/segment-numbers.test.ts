/** Numbers of segments and records over restarts, releases and foreign files. */

import {
  copyFileSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  utimesSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { afterAll, describe, expect, it } from 'vitest'
import { keepDamaged } from '../../../src/storage/spool/damaged-segments.ts'
import { createSpoolGaugeMemory, openSpoolGauge } from '../../../src/storage/spool/spool-gauge.ts'
import { createSpoolWriter } from '../../../src/storage/spool/spool-writer.ts'
import { systemClock } from '../../../src/foundation/runtime/clock.ts'
import type { SpoolPosition } from '../../../src/storage/store/checkpoint.ts'
import { createRandom } from '../../random.ts'
import { createSpoolCopies, pathOf, segmentsOf, startProcess, type Written } from '../../fixtures/spool-copy.ts'
import { killedSpool, SOURCE } from './killed-spool.ts'

const copies = createSpoolCopies()
afterAll(() => copies.removeAll())

describe('numbers of segments and records', () => {
  function writer(folder: string, nowMs: number, after?: SpoolPosition[string]) {
    return createSpoolWriter({
      folder: join(folder, SOURCE),
      requestPrefix: '0123456789abcdef',
      after,
      sync: 'never',
      gauge: openSpoolGauge(createSpoolGaugeMemory(), 1 << 30),
      clock: { ...systemClock, nowMs: () => nowMs, after: () => () => {} },
      onGrowth() {},
      onFailure(cause) {
        throw cause
      },
    })
  }

  it('continue after the checkpoint in an emptied folder, even if the clock was set back', async () => {
    const { folder, position, segments } = await killedSpool(copies)
    for (const segment of segments) rmSync(pathOf(folder, SOURCE, segment))
    writer(folder, 1_000, position[SOURCE]).close()

    expect(segmentsOf(folder, SOURCE)).toEqual([segments.at(-1)! + 1])
    expect(readFileSync(pathOf(folder, SOURCE, segments.at(-1)! + 1)).readDoubleLE(32)).toBe(position[SOURCE]!.records)
  })

  it('continue after the last segment, also after its release', async () => {
    const { folder, written, segments } = await killedSpool(copies)
    const process = startProcess(folder, [])
    process.reader.release(process.read({}).position)
    process.kill()
    writer(folder, 1_000).close()

    const last = segments.at(-1)! + 1
    expect(segmentsOf(folder, SOURCE)).toEqual([last - 1, last])
    expect(readFileSync(pathOf(folder, SOURCE, last)).readDoubleLE(32)).toBe(written.length)
  })

  it('never replace the segment of a running writer, for any position of the checkpoint', async () => {
    const folder = copies.newFolder()
    const written: Written[] = []
    const process = startProcess(folder, written)
    await process.write(SOURCE, createRandom(1), 2)
    const [live] = segmentsOf(folder, SOURCE)
    process.reader.release({ [SOURCE]: { segment: live! + 1_000, offset: 64, records: 0 } })
    process.reader.release({ [SOURCE]: { segment: live!, offset: 1 << 30, records: 0 } })
    await process.write(SOURCE, createRandom(1), 2)

    expect(process.read({}).ids).toEqual(written.map(({ id }) => id))
    process.kill()
  })

  it('are read at any length, also after a foreign file with a high number', async () => {
    const folder = copies.newFolder()
    mkdirSync(join(folder, SOURCE))
    writeFileSync(join(folder, SOURCE, '9999999999.spool'), '')
    const written: Written[] = []
    const process = startProcess(folder, written)
    await process.write(SOURCE, createRandom(1), 20)

    expect(readdirSync(join(folder, SOURCE))).toContain('10000000000.spool')
    expect(process.read({}).ids).toEqual(written.map(({ id }) => id))
    process.kill()
  })

  it('refuse a writer if no segment number is left', () => {
    const folder = copies.newFolder()
    mkdirSync(join(folder, SOURCE))
    writeFileSync(join(folder, SOURCE, '999999999999999.spool'), '')
    expect(() => writer(folder, 1_000)).toThrow('has the highest possible number')
  })

  it('ignore a segment whose creation was interrupted by a crash', async () => {
    const { folder, segments, ids } = await killedSpool(copies)
    copyFileSync(pathOf(folder, SOURCE, segments[0]!), pathOf(folder, SOURCE, segments.at(-1)! + 1) + '.tmp')
    const process = startProcess(folder, [])

    expect(process.read({}).ids).toEqual(ids)
    expect(process.damages).toEqual([])
    expect(readdirSync(join(folder, SOURCE)).filter((name) => name.endsWith('.tmp'))).toEqual([])
    process.kill()
  })
})

it('keeps a bounded number of damaged segments, the latest ones', () => {
  const folder = copies.newFolder()
  mkdirSync(join(folder, SOURCE))
  for (let segment = 1; segment <= 40; segment++) {
    writeFileSync(pathOf(folder, SOURCE, segment), 'x')
    expect(keepDamaged(folder, SOURCE, segment)).toBe(true)
    utimesSync(pathOf(folder, SOURCE, segment), segment, segment)
  }
  expect(readdirSync(join(folder, 'damaged'))).toHaveLength(32)
  expect(existsSync(join(folder, 'damaged', 'gateway-0-0000000040.spool'))).toBe(true)
})
