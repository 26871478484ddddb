/** One kind of damage to a spool at a time: records that are read, reports, and the file afterwards. */

import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, describe, expect, it } from 'vitest'
import type { SpoolPosition } from '../../../src/storage/store/checkpoint.ts'
import { createRandom } from '../../random.ts'
import {
  createSpoolCopies,
  pathOf,
  segmentsOf,
  START_MS,
  startProcess,
  type Written,
} from '../../fixtures/spool-copy.ts'
import { batchesOf, consumersOf, flip, killedSpool, SOURCE } from './killed-spool.ts'

const copies = createSpoolCopies()
afterAll(() => copies.removeAll())

describe('a damaged batch', () => {
  it('loses its own records and those with unknown consumers, and attributes none to another consumer', async () => {
    const { folder, written, path, ids } = await killedSpool(copies, { segmentBytesMax: 1 << 20, turns: 40 })
    const batches = batchesOf(path(0))
    const defining = batches.findIndex(({ definitionBytes }, index) => index > 2 && definitionBytes > 0)
    flip(path(0), batches[defining]!.at + batches[defining]!.bytes - 9)
    const process = startProcess(folder, [])
    const read = process.read({})

    expect(read.consumers).toEqual(consumersOf(written, read.ids))
    expect(read.ids.length).toBeGreaterThan(batches[defining]!.records)
    const later = written.slice(batches.slice(0, defining + 1).reduce((sum, { records }) => sum + records, 0))
    expect(read.ids.some((id) => later.some((each) => each.id === id))).toBe(true)
    expect(process.damages).toEqual([
      expect.objectContaining({ file: expect.stringMatching(/^spool\/gateway-0\/\d{10}\.spool$/), isExact: true }),
    ])
    expect(process.damages[0]!.records).toBe(ids.length - read.ids.length)
    process.kill()
  })

  it('is skipped, and reported once with the number and the time range of its records', async () => {
    const { folder, written, path, ids } = await killedSpool(copies, { segmentBytesMax: 1 << 20 })
    const batches = batchesOf(path(0))
    // A batch without definitions, in the middle.
    const damaged = batches.findIndex(({ definitionBytes }, index) => index > 5 && definitionBytes === 0)
    flip(path(0), batches[damaged]!.at + 40)
    const before = batches.slice(0, damaged).reduce((sum, { records }) => sum + records, 0)
    const lost = ids.slice(before, before + batches[damaged]!.records)
    const process = startProcess(folder, [])
    const read = process.read({})
    process.read({}, { bytesMax: 700 })

    expect(read.ids).toEqual(ids.filter((id) => !lost.includes(id)))
    expect(read.consumers).toEqual(consumersOf(written, read.ids))
    expect(process.damages).toEqual([
      {
        file: expect.any(String),
        what: 'A part of a spool segment is damaged.',
        records: lost.length,
        isExact: true,
        fromMs: START_MS + lost[0]! - 1,
        toMs: START_MS + lost.at(-1)! + 1,
      },
    ])
    expect(process.torn).toEqual([])
    process.kill()
  })

  it('that is complete but does not verify at the end of a segment is damage, not a torn tail', async () => {
    const { folder, path, ids } = await killedSpool(copies, { segmentBytesMax: 1 << 20 })
    const last = batchesOf(path(0)).at(-1)!
    flip(path(0), last.at + 40)
    const process = startProcess(folder, [])
    await process.write(SOURCE, createRandom(3), 2)
    const read = process.read({})

    expect(read.ids.slice(0, ids.length - last.records)).toEqual(ids.slice(0, -last.records))
    expect(process.damages).toEqual([expect.objectContaining({ records: last.records, isExact: false })])
    process.kill()
  })

  it('leaves its segment in spool/damaged/ when the spool releases it', async () => {
    const { folder, path, segments } = await killedSpool(copies)
    flip(path(0), 100)
    const damaged = readFileSync(path(0))
    const process = startProcess(folder, [])
    const { position } = process.read({})
    process.reader.release(position)
    process.kill()

    expect(readdirSync(join(folder, SOURCE))).toHaveLength(1)
    const kept = readdirSync(join(folder, 'damaged'))
    expect(kept).toEqual([`gateway-0-${String(segments[0]).padStart(10, '0')}.spool`])
    expect(readFileSync(join(folder, 'damaged', kept[0]!))).toEqual(damaged)
    const next = startProcess(folder, [], position)
    expect(Object.keys(next.read({}).position)).toEqual([SOURCE])
    next.kill()
  })

  it('is reported without the records that were billed before the damage', async () => {
    const { folder, path, ids } = await killedSpool(copies, { segmentBytesMax: 1 << 20 })
    const [first, second, third] = batchesOf(path(0))
    const records = first!.records + second!.records
    const billed: SpoolPosition = {
      [SOURCE]: { segment: segmentsOf(folder, SOURCE)[0]!, offset: third!.at, records },
    }
    flip(path(0), second!.at + 40)
    const process = startProcess(folder, [], billed)
    const billing = process.read(billed)
    process.read({})

    expect(process.damages.filter(({ records, isExact }) => records > 0 || !isExact)).toEqual([])
    expect(billing.ids).toEqual(ids.slice(records))
    process.kill()
  })
})

describe('a damaged header', () => {
  it('loses nothing, because the batches contain the prefix of request ids', async () => {
    const { folder, path, ids } = await killedSpool(copies)
    flip(path(1), 20)
    const process = startProcess(folder, [])
    const requestIds: string[] = []
    process.reader.read({}, (batch) => {
      for (let index = 0; index < batch.count; index++) requestIds.push(batch.requestId(index))
    })

    expect(requestIds).toHaveLength(ids.length)
    expect(requestIds.every((id) => id.startsWith('0123456789abcdef'))).toBe(true)
    expect(process.damages).toEqual([
      expect.objectContaining({ what: 'The header of a spool segment is damaged.', records: 0, isExact: true }),
    ])
    process.kill()
  })
})

describe('a position that is not at the beginning of a batch', () => {
  it('is resynchronised at the next batch, and the bytes before it are reported', async () => {
    const { folder, path, segments, ids } = await killedSpool(copies, { segmentBytesMax: 1 << 20 })
    const batches = batchesOf(path(0))
    const records = batches.slice(0, 3).reduce((sum, batch) => sum + batch.records, 0)
    for (const shift of [1, 8, 20, 64]) {
      const offset = batches[3]!.at + shift
      const from = { [SOURCE]: { segment: segments[0]!, offset, records } }
      const process = startProcess(folder, [], from)
      expect(process.read(from).ids).toEqual(ids.slice(records + batches[3]!.records))
      expect(process.damages).toEqual([expect.objectContaining({ records: batches[3]!.records, isExact: true })])
      process.kill()
    }
  })

  it('attributes no record to another consumer if bytes before it are cut out and bytes after it are damaged', async () => {
    const spool = await killedSpool(copies, { segmentBytesMax: 1 << 20 })
    const segment = spool.segments[0]!
    const batches = batchesOf(spool.path(0))
    for (let index = 1; index < batches.length - 2; index++) {
      const { at } = batches[index]!
      const folder = copies.copyOf(spool.folder)
      const path = pathOf(folder, SOURCE, segment)
      flip(path, batches[index + 1]!.at + 40)
      const bytes = readFileSync(path)
      writeFileSync(path, Buffer.concat([bytes.subarray(0, at - 64), bytes.subarray(at)]))
      const records = batches.slice(0, index).reduce((sum, batch) => sum + batch.records, 0)
      const from = { [SOURCE]: { segment, offset: at, records } }
      const process = startProcess(folder, [], from)
      const read = process.read(from)

      expect(read.consumers).toEqual(consumersOf(spool.written, read.ids))
      expect(process.read(from).ids).toEqual(read.ids)
      const reported = process.damages.reduce((sum, each) => sum + each.records, 0)
      expect(reported).toBe(spool.ids.length - records - read.ids.length)
      process.kill()
    }
  })
})

describe('a file that cannot be read', () => {
  it('stops neither the reader nor the other sources', async () => {
    const { folder, path, ids } = await killedSpool(copies)
    rmSync(path(1))
    mkdirSync(path(1))
    const process = startProcess(folder, [])
    const more: Written[] = []
    const other = startProcess(folder, more)
    await other.write('gateway-1', createRandom(4), 3)
    const read = process.read({})

    expect(read.ids.length).toBeGreaterThan(0)
    expect(read.ids.length).toBeLessThan(ids.length + more.length)
    expect(more.every(({ id }) => read.ids.includes(id))).toBe(true)
    expect(process.damages.reduce((sum, { records }) => sum + records, 0)).toBe(
      ids.length + more.length - read.ids.length,
    )
    process.reader.release(read.position)
    expect(existsSync(path(1))).toBe(false)
    process.kill()
    other.kill()
  })
})
