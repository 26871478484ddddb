/** One kind of damage to a spool at a time: records that are read, reports, and the file afterwards. */

import {
  appendFileSync,
  copyFileSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  truncateSync,
  utimesSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { crc32 } from 'node:zlib'
import { afterAll, describe, expect, it } from 'vitest'
import { keepDamaged } from '../../../src/record/damaged-segments.ts'
import { createSpoolGaugeMemory, openSpoolGauge } from '../../../src/record/spool-gauge.ts'
import { createSpoolWriter } from '../../../src/record/spool-writer.ts'
import { systemClock } from '../../../src/runtime/clock.ts'
import type { SpoolPosition } from '../../../src/store/checkpoint.ts'
import { createRandom } from '../../random.ts'
import {
  createSpoolCopies,
  pathOf,
  segmentsOf,
  sizeOf,
  START_MS,
  startProcess,
  type Written,
} from '../../fixtures/spool-copy.ts'

const SOURCE = 'gateway-0'
const copies = createSpoolCopies()
afterAll(() => copies.removeAll())

/** A source of several segments, written by a killed process; none of its records is billed. */
async function killedSpool(options: { turns?: number; segmentBytesMax?: number; seed?: number } = {}) {
  const { turns = 30, segmentBytesMax = 2_000, seed = 1 } = options
  const folder = copies.newFolder()
  const written: Written[] = []
  const process = startProcess(folder, written, {}, segmentBytesMax)
  await process.write(SOURCE, createRandom(seed), turns)
  const { position } = process.read({})
  process.kill()
  const segments = segmentsOf(folder, SOURCE)
  const idsIn = (segment: number) => written.filter((each) => each.segment === segment).map(({ id }) => id)
  const path = (index: number) => pathOf(folder, SOURCE, segments.at(index)!)
  return { folder, written, segments, idsIn, path, position, ids: written.map(({ id }) => id) }
}

/** Offsets of the batches of an intact segment. */
function batchesOf(path: string): { at: number; bytes: number; records: number; definitionBytes: number }[] {
  const file = readFileSync(path)
  const batches = []
  for (let at = 64; at < file.length; at += file.readUInt32LE(at + 4)) {
    const [bytes, records] = [file.readUInt32LE(at + 4), file.readUInt32LE(at + 12)]
    if (records > 0) batches.push({ at, bytes, records, definitionBytes: file.readUInt32LE(at + 16) })
  }
  return batches
}

function flip(path: string, at: number): void {
  const bytes = readFileSync(path)
  bytes[at]! ^= 4
  writeFileSync(path, bytes)
}

const consumersOf = (written: readonly Written[], ids: readonly number[]) => {
  const byId = new Map(written.map(({ id, consumer }) => [id, consumer]))
  return ids.map((id) => byId.get(id))
}

describe('a damaged batch', () => {
  it('loses its own records and those with unknown consumers, and attributes none to another consumer', async () => {
    const { folder, written, path, ids } = await killedSpool({ segmentBytesMax: 1 << 20, turns: 40 })
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
    const { folder, written, path, ids } = await killedSpool({ segmentBytesMax: 1 << 20 })
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
    const { folder, path, ids } = await killedSpool({ segmentBytesMax: 1 << 20 })
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
    const { folder, path, segments } = await killedSpool()
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
    const { folder, path, ids } = await killedSpool({ segmentBytesMax: 1 << 20 })
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

describe('a gap', () => {
  it('of a missing segment is reported with the exact number of its records', async () => {
    const { folder, path, idsIn, segments, ids } = await killedSpool()
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
    const { folder, path, idsIn, segments, ids } = await killedSpool()
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
    const { folder, path, idsIn, segments, ids } = await killedSpool()
    rmSync(path(-1))
    const process = startProcess(folder, [])
    await process.write(SOURCE, createRandom(3), 1)
    const read = process.read({})

    expect(read.ids.slice(0, -idsIn(segments.at(-1)!).length || undefined).every((id) => ids.includes(id))).toBe(true)
    expect(process.damages).toEqual([
      expect.objectContaining({ records: 0, isExact: false }),
      expect.objectContaining({ records: idsIn(segments.at(-1)!).length, isExact: false }),
    ])
    process.kill()
  })

  it.each([
    ['at the end of a batch', 0],
    ['within a batch', 40],
  ])('of the last batches, cut off %s, is told from a batch that a crash cut off', async (_, inside) => {
    const { folder, path, idsIn, segments } = await killedSpool({ segmentBytesMax: 1_000_000 })
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
    const { folder, path } = await killedSpool({ segmentBytesMax: 1_000_000 })
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
    const { folder, position } = await killedSpool()
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
    const { folder, path, position } = await killedSpool({ segmentBytesMax: 1 << 20 })
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
    const { folder, path, position } = await killedSpool({ segmentBytesMax: 1 << 20 })
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
    const { folder, path, ids } = await killedSpool({ segmentBytesMax: 1 << 20 })
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

describe('a damaged header', () => {
  it('loses nothing, because the batches contain the prefix of request ids', async () => {
    const { folder, path, ids } = await killedSpool()
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
    const { folder, path, segments, ids } = await killedSpool({ segmentBytesMax: 1 << 20 })
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
})

describe('a file that cannot be read', () => {
  it('stops neither the reader nor the other sources', async () => {
    const { folder, path, ids } = await killedSpool()
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

describe('a spool of format 1', () => {
  it('is read; after a damaged batch, only records with a known consumer are read', () => {
    const folder = copies.newFolder()
    mkdirSync(join(folder, SOURCE))
    const definitions = ['a', 'b', 'c', 'd'].map((consumer) => ({ tenant: 't', api: 'x', operation: 'o', consumer }))
    const batches = [
      oldBatch([[0, 1], [0, 2]], definitions.slice(0, 1), 0), // prettier-ignore
      oldBatch([[1, 3], [0, 4]], definitions.slice(1, 2), 1), // prettier-ignore
      oldBatch([[2, 5], [0, 6]], definitions.slice(2, 3), 2), // prettier-ignore
      oldBatch([[1, 7]], [], 3),
      oldBatch([[3, 8], [0, 9]], definitions.slice(3), 3), // prettier-ignore
    ]
    batches[1]![60]! ^= 1
    const header = Buffer.alloc(64)
    header.write('TGSPOOL1', 0, 'latin1')
    header.write('0123456789abcdef', 16, 'latin1')
    writeFileSync(pathOf(folder, SOURCE, 7), Buffer.concat([header, ...batches]))
    const process = startProcess(folder, [])
    const read = process.read({})

    expect(read.ids).toEqual([1, 2, 5, 6, 8, 9])
    expect(read.consumers).toEqual(['a', 'a', 'c', 'a', 'd', 'a'])
    expect(process.damages).toEqual([expect.objectContaining({ records: 3, isExact: false })])
    process.kill()
  })

  it('is intact if its last segment was emptied on release', async () => {
    const folder = copies.newFolder()
    mkdirSync(join(folder, SOURCE))
    writeFileSync(pathOf(folder, SOURCE, 7), '')
    const position = { [SOURCE]: { segment: 7, offset: 4_096 } }
    const process = startProcess(folder, [], position)
    const read = process.read(position)
    process.reader.release(read.position)
    expect(process.damages).toEqual([])
    process.kill()

    const more: Written[] = []
    const next = startProcess(folder, more, position)
    await next.write(SOURCE, createRandom(2), 3)
    expect(next.read(position).ids).toEqual(more.map(({ id }) => id))
    expect(next.damages).toEqual([])
    next.kill()
  })
})

/** Encodes a batch of format 1; each record is the number of its definition and its id. */
function oldBatch(
  records: readonly (readonly [number, number])[],
  definitions: readonly object[],
  first: number,
): Buffer {
  const text = definitions.length === 0 ? '' : JSON.stringify(definitions)
  const tail = Buffer.from(text.padEnd(Math.ceil(text.length / 8) * 8))
  const bytes = Buffer.concat([Buffer.alloc(24 + records.length * 56), tail])
  bytes.writeUInt32LE(0x42_47_54_01, 0)
  bytes.writeUInt32LE(bytes.length, 4)
  bytes.writeUInt32LE(records.length, 12)
  bytes.writeUInt32LE(tail.length, 16)
  bytes.writeUInt32LE(first, 20)
  for (const [index, [definition, id]] of records.entries()) {
    bytes.writeUInt32LE(definition, 24 + index * 56)
    bytes.writeDoubleLE(START_MS + id, 24 + index * 56 + 8)
    bytes.writeDoubleLE(id, 24 + index * 56 + 16)
  }
  bytes.writeUInt32LE(crc32(bytes.subarray(12)), 8)
  return bytes
}

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
    const { folder, position, segments } = await killedSpool()
    for (const segment of segments) rmSync(pathOf(folder, SOURCE, segment))
    writer(folder, 1_000, position[SOURCE]).close()

    expect(segmentsOf(folder, SOURCE)).toEqual([segments.at(-1)! + 1])
    expect(readFileSync(pathOf(folder, SOURCE, segments.at(-1)! + 1)).readDoubleLE(32)).toBe(position[SOURCE]!.records)
  })

  it('continue after the last segment, also after its release', async () => {
    const { folder, written, segments } = await killedSpool()
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
    const { folder, segments, ids } = await killedSpool()
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
