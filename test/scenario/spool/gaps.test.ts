/** Missing segments, ranges and batches of a spool, and their reports. */

import { appendFileSync, copyFileSync, readFileSync, rmSync, truncateSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, describe, expect, it } from 'vitest'
import { createRandom } from '../../random.ts'
import { createSpoolCopies, pathOf, sizeOf, START_MS, startProcess, type Written } from '../../fixtures/spool-copy.ts'
import { batchesOf, killedSpool, SOURCE } from './killed-spool.ts'

const copies = createSpoolCopies()
afterAll(() => copies.removeAll())

const garbage = (bytes: number): Buffer => Buffer.alloc(bytes, 0x5a)

describe('a gap', () => {
  it('of a missing segment is reported with the exact number of its records', async () => {
    const { folder, path, idsIn, segments, ids } = await killedSpool(copies)
    rmSync(path(1))
    const process = startProcess(folder, [])
    const read = process.read({})
    const lost = idsIn(segments[1]!)

    expect(read.ids).toEqual(ids.filter((id) => !lost.includes(id)))
    expect(process.damages).toEqual([
      expect.objectContaining({ records: lost.length, isExact: true, fromMs: START_MS + lost[0]! - 1 }),
    ])
    process.kill()
  })

  it.each([
    ['empty', (path: string) => truncateSync(path, 0)],
    ['cut in its header', (path: string) => truncateSync(path, 30)],
    ['all garbage', (path: string) => writeFileSync(path, Buffer.alloc(sizeOf(path), 0x5a))],
    ['all zeros', (path: string) => writeFileSync(path, Buffer.alloc(sizeOf(path)))],
  ])('of a segment that is %s is reported with the exact number of its records', async (_, damage) => {
    const { folder, path, idsIn, segments, ids } = await killedSpool(copies)
    damage(path(2))
    const process = startProcess(folder, [])
    const read = process.read({})
    const lost = idsIn(segments[2]!)

    expect(read.ids).toEqual(ids.filter((id) => !lost.includes(id)))
    expect(process.damages.reduce((sum, { records }) => sum + records, 0)).toBe(lost.length)
    expect(process.damages.every(({ isExact }) => isExact)).toBe(true)
    process.kill()
  })

  it('of a missing last segment, which the previous one announces, is reported with the number from the mark', async () => {
    const { folder, path, idsIn, segments, ids } = await killedSpool(copies, { turns: 31 })
    rmSync(path(-1))
    const later: Written[] = []
    const process = startProcess(folder, later)
    await process.write(SOURCE, createRandom(3), 1)
    const read = process.read({})
    const lost = idsIn(segments.at(-1)!)

    expect(lost.length).toBeGreaterThan(0)
    expect(read.ids).toEqual([...ids.filter((id) => !lost.includes(id)), ...later.map(({ id }) => id)])
    expect(process.damages).toEqual([
      expect.objectContaining({ records: 0, isExact: false }),
      expect.objectContaining({ records: lost.length, isExact: false }),
    ])
    process.kill()
  })

  it.each([
    ['at the end of a batch', 0],
    ['within a batch', 40],
  ])('after a truncation %s is reported, unlike a batch that a crash truncated', async (_, inside) => {
    const { folder, path, idsIn, segments } = await killedSpool(copies, { segmentBytesMax: 1_000_000 })
    const { at, records } = batchesOf(path(-1)).at(-1)!
    truncateSync(path(-1), at + inside)
    const process = startProcess(folder, [])
    await process.write(SOURCE, createRandom(3), 1)
    const read = process.read({})

    expect(read.ids).toEqual(expect.arrayContaining(idsIn(segments.at(-1)!).slice(0, -records)))
    expect(process.damages.map((damage) => damage.records)).toEqual([records])
    process.kill()
  })

  it('of an uncounted batch that a crash truncated is not reported', async () => {
    const { folder, path } = await killedSpool(copies, { segmentBytesMax: 1_000_000 })
    const { at, bytes } = batchesOf(path(-1)).at(-1)!
    const batch = readFileSync(path(-1)).subarray(at, at + bytes - 8)
    appendFileSync(path(-1), batch)
    const process = startProcess(folder, [])
    await process.write(SOURCE, createRandom(3), 1)
    process.read({})

    expect(process.damages).toEqual([])
    process.kill()
  })

  it('after the position of the checkpoint is reported once over restarts if the segment is missing', async () => {
    const { folder, position } = await killedSpool(copies)
    rmSync(join(folder, SOURCE), { recursive: true })
    const process = startProcess(folder, [], position)
    process.read(position)
    expect(process.damages).toEqual([
      expect.objectContaining({ what: 'A spool segment that the checkpoint refers to is missing.', isExact: false }),
    ])
    process.kill()

    const more: Written[] = []
    const next = startProcess(folder, more, position)
    await next.write(SOURCE, createRandom(3), 3)
    expect(next.read(position).ids).toEqual(more.map(({ id }) => id))
    expect(next.damages).toEqual([])
    next.kill()
  })

  it('is reported if a segment is shorter than the position of the checkpoint, and nothing is read twice', async () => {
    const { folder, path, position } = await killedSpool(copies, { segmentBytesMax: 1 << 20 })
    truncateSync(path(0), batchesOf(path(0))[4]!.at)
    const more: Written[] = []
    const process = startProcess(folder, more, position)
    await process.write(SOURCE, createRandom(3), 3)

    expect(process.read(position).ids).toEqual(more.map(({ id }) => id))
    expect(process.damages).toEqual([
      expect.objectContaining({
        what: 'A spool segment is shorter than the position in the checkpoint.',
        isExact: false,
      }),
    ])
    process.kill()
  })

  it('in a range that was read before is reported, and the range has the same end', async () => {
    const { folder, path, position } = await killedSpool(copies, { segmentBytesMax: 1 << 20 })
    const batches = batchesOf(path(0))
    truncateSync(path(0), batches[4]!.at)
    const records = batches.slice(0, 4).reduce((sum, batch) => sum + batch.records, 0)
    const process = startProcess(folder, [])
    const range = process.read({}, { until: position })

    expect(range.ids).toHaveLength(records)
    expect(range.position).toEqual(position)
    expect(process.damages).toEqual([
      expect.objectContaining({ records: position[SOURCE]!.records! - records, isExact: true }),
    ])
    process.kill()
  })

  it('between batches is detected by record numbers alone', async () => {
    const { folder, path, ids } = await killedSpool(copies, { segmentBytesMax: 1 << 20 })
    const batches = batchesOf(path(0))
    const cut = batches.findIndex(({ definitionBytes }, index) => index > 5 && definitionBytes === 0)
    const bytes = readFileSync(path(0))
    const { at, bytes: length, records } = batches[cut]!
    writeFileSync(path(0), Buffer.concat([bytes.subarray(0, at), bytes.subarray(at + length)]))
    const process = startProcess(folder, [])

    expect(process.read({}).ids).toHaveLength(ids.length - records)
    expect(process.damages).toEqual([
      expect.objectContaining({ what: 'A part of a spool segment is missing.', records, isExact: true }),
    ])
    process.kill()
  })
})

describe('records that were read before', () => {
  const REPEATED = 'A spool segment has records that were read before; they are not billed again.'

  it.each([
    ['behind it', (count: number) => count],
    ['in the middle', (count: number) => count >> 1],
    ['in front', () => 0],
  ])('are not read again if a batch is copied within its segment: %s', async (_, placeOf) => {
    const { folder, path, ids } = await killedSpool(copies, { segmentBytesMax: 1 << 20 })
    const bytes = readFileSync(path(0))
    const batches = batchesOf(path(0))
    const place = placeOf(batches.length)
    const copied = batches.slice(0, 3).map(({ at, bytes: length }) => bytes.subarray(at, at + length))
    const to = batches[place]?.at ?? bytes.length
    writeFileSync(path(0), Buffer.concat([bytes.subarray(0, to), ...copied, bytes.subarray(to)]))
    const later: Written[] = []
    const process = startProcess(folder, later)
    await process.write(SOURCE, createRandom(3), 3)

    expect(process.read({}).ids).toEqual([...ids, ...later.map(({ id }) => id)])
    expect(process.damages).toEqual([expect.objectContaining({ records: 0, isExact: true })])
    process.kill()
  })

  it('are not read again if the end of a segment is copied behind another one, and later records are', async () => {
    const { folder, path, ids } = await killedSpool(copies, { segmentBytesMax: 1 << 20 })
    const bytes = readFileSync(path(0))
    const { at } = batchesOf(path(0)).at(-4)!
    appendFileSync(path(0), bytes.subarray(at))
    const later: Written[] = []
    for (let restarts = 0; restarts < 3; restarts++) {
      const process = startProcess(folder, later)
      await process.write(SOURCE, createRandom(restarts), 3)
      process.kill()
    }
    const process = startProcess(folder, [])
    expect(process.read({}).ids).toEqual([...ids, ...later.map(({ id }) => id)])
    expect(process.damages.map(({ what }) => what)).toEqual([REPEATED])
    process.kill()
  })

  it('are not read again if a segment is copied behind the others', async () => {
    const { folder, path, segments, ids } = await killedSpool(copies, { turns: 31 })
    copyFileSync(path(-1), pathOf(folder, SOURCE, segments.at(-1)! + 1))
    const process = startProcess(folder, [])
    expect(process.read({}).ids).toEqual(ids)
    expect(process.damages).toEqual([expect.objectContaining({ what: REPEATED, records: 0 })])
    process.kill()
  })

  it.each([
    ['whole', 0, 0],
    ['damaged', 8, 0],
    ['damaged in front of them', 0, 8],
  ])(
    'give no number to later ones, without the mark of their source: in a segment that is %s',
    async (_, before, behind) => {
      const { folder, path, ids } = await killedSpool(copies, { segmentBytesMax: 1 << 20 })
      const bytes = readFileSync(path(0))
      const [from, to] = [-4, -3].map((index) => batchesOf(path(0)).at(index)!.at)
      const parts = [bytes.subarray(0, from), garbage(before), bytes.subarray(from), garbage(behind)]
      writeFileSync(path(0), Buffer.concat([...parts, bytes.subarray(from, to)]))
      rmSync(join(folder, `${SOURCE}.mark`))
      const later: Written[] = []
      const process = startProcess(folder, later)
      await process.write(SOURCE, createRandom(3), 3)
      expect(process.read({}).ids).toEqual([...ids, ...later.map(({ id }) => id)])
      expect(process.damages.every(({ records }) => records === 0)).toBe(true)
      process.kill()
    },
  )
})
