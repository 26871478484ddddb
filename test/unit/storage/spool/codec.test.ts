import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { isDeepStrictEqual } from 'node:util'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { ANONYMOUS, type Attribution } from '../../../../src/foundation/domain/attribution.ts'
import { OUTCOMES } from '../../../../src/foundation/domain/outcome.ts'
import type { CallRecord } from '../../../../src/storage/spool/call-record.ts'
import { BATCH_HEADER_BYTES, BatchBuffer } from '../../../../src/storage/spool/codec.ts'
import { openSegment } from '../../../../src/storage/spool/segment-file.ts'
import { encodeHeader, HEADER_BYTES } from '../../../../src/storage/spool/segment-header.ts'
import { createRandom, type Random } from '../../../random.ts'
import { readSeed } from '../../../random-seed.ts'

const SEED = readSeed(1)
const PREFIX = '0123456789abcdef'
const HEADER = encodeHeader({ madeMs: 1, requestPrefix: PREFIX })
const NAMES = ['', 'a', '"\\', 'Ölüm', '\u0000', '🏦', '\ud800', ' ', 'x'.repeat(500)]

let folder: string
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'codec-'))
})
afterAll(() => rmSync(folder, { recursive: true, force: true }))

function anyAttribution(random: Random): Attribution {
  const name = (): string => NAMES[random.below(NAMES.length)]! + String(random.below(100))
  return { ...ANONYMOUS, tenant: name(), api: name(), operation: name(), consumer: name(), priceMicro: random.below(9) }
}

function anyRecord(random: Random, attribution: Attribution): CallRecord {
  return {
    attribution,
    timeMs: random.below(2 ** 43),
    durationUs: random.below(2 ** 32),
    upstreamUs: random.below(2 ** 32),
    admittedAgoMs: random.below(2 ** 32),
    status: random.below(2 ** 16),
    outcome: random.below(OUTCOMES.length),
    flags: random.below(2 ** 8),
    unitsMicro: random.below(2 ** 50),
    requestBytes: random.below(2 ** 50),
    responseBytes: random.below(2 ** 50),
    sequence: random.below(2 ** 32),
  }
}

/** A segment of several batches, and the offset of the end of each. */
function anySegment(random: Random, recordsMax = 40) {
  const chunks: Buffer[] = [HEADER]
  const batches: CallRecord[][] = []
  const ends: number[] = []
  const attributions: Attribution[] = []
  for (let batch = 0; batch < 1 + random.below(6); batch++) {
    const buffer = new BatchBuffer(recordsMax)
    const first = attributions.length
    const records = Array.from({ length: 1 + random.below(recordsMax) }, () => {
      if (attributions.length === 0 || random.below(4) === 0) attributions.push(anyAttribution(random))
      const id = random.below(attributions.length)
      const record = anyRecord(random, attributions[id]!)
      buffer.add(record, id)
      if (random.below(3) === 0) buffer.explain(NAMES[random.below(NAMES.length)]!)
      if (random.below(3) === 0) buffer.trace(`trace ${random.below(10)}`)
      return record
    })
    chunks.push(Buffer.from(buffer.seal(attributions.slice(first), first)))
    batches.push(records)
    ends.push(chunks.reduce((sum, { length }) => sum + length, 0))
  }
  return { bytes: Buffer.concat(chunks), batches, ends }
}

let files = 0
function readAll(bytes: Uint8Array): { records: CallRecord[]; end: number } {
  const path = join(folder, String(files++))
  writeFileSync(path, bytes)
  const file = openSegment(path, 1)
  const records: CallRecord[] = []
  const end = file.read(0, Infinity, Infinity, (batch) => {
    for (let index = 0; index < batch.count; index++) records.push(batch.at(index))
  })
  file.close()
  rmSync(path)
  return { records, end }
}

const wholeUpTo = (ends: readonly number[], bytes: number) => ends.filter((end) => end <= bytes).length

/** Expects all batches before the damaged byte, and after it only records that were written, in their order. */
function expectOnlyWritten({ bytes, batches, ends }: ReturnType<typeof anySegment>, at: number, label: string): void {
  const { records } = readAll(bytes)
  const damaged = wholeUpTo(ends, at)
  const before = batches.slice(0, damaged).flat()
  const text = `byte ${at}, ${label}`
  expect(records.slice(0, before.length), text).toEqual(before)
  const allowed = batches.slice(damaged + 1).flat()
  for (const record of records.slice(before.length)) {
    const found = allowed.findIndex((each) => isDeepStrictEqual(each, record))
    expect(found, text).toBeGreaterThanOrEqual(0)
    allowed.splice(0, found + 1)
  }
}

describe(`a segment file (seed ${SEED})`, () => {
  it('returns every record as it was written', () => {
    const random = createRandom(SEED)
    for (let round = 0; round < 50; round++) {
      const { bytes, batches, ends } = anySegment(random)
      expect(readAll(bytes)).toEqual({ records: batches.flat(), end: ends.at(-1) })
      expect(bytes.length % 8).toBe(0)
    }
  })

  it('returns only the whole batches if it is truncated at any byte', () => {
    const { bytes, batches, ends } = anySegment(createRandom(SEED), 5)
    for (let size = 0; size <= bytes.length; size++) {
      const whole = wholeUpTo(ends, size)
      const { records, end } = readAll(bytes.subarray(0, size))
      expect(records, `torn at ${size}`).toEqual(batches.slice(0, whole).flat())
      expect(end).toBe(size < HEADER_BYTES ? 0 : whole === 0 ? HEADER_BYTES : ends[whole - 1])
    }
  })

  it('skips a batch with any changed bit, and returns all batches before it and only written ones after it', () => {
    const random = createRandom(SEED)
    for (let round = 0; round < 400; round++) {
      const segment = anySegment(random, 5)
      const at = HEADER_BYTES + random.below(segment.bytes.length - HEADER_BYTES)
      segment.bytes[at]! ^= 1 << random.below(8)
      expectOnlyWritten(segment, at, `round ${round}`)
    }
  })

  it('skips a batch with any changed bit in its header, with and without definitions and explanations', () => {
    const random = createRandom(SEED)
    for (let round = 0; round < 8; round++) {
      const segment = anySegment(random, 3)
      for (const from of [HEADER_BYTES, ...segment.ends.slice(0, -1)]) {
        for (let bit = 0; bit < BATCH_HEADER_BYTES * 8; bit++) {
          const at = from + (bit >> 3)
          segment.bytes[at]! ^= 1 << (bit & 7)
          expectOnlyWritten(segment, at, `bit ${bit & 7}, round ${round}`)
          segment.bytes[at]! ^= 1 << (bit & 7)
        }
      }
    }
  })

  it('skips a batch whose magic number is changed to that of another kind of batch', () => {
    const random = createRandom(SEED)
    for (let round = 0; round < 50; round++) {
      const segment = anySegment(random, 3)
      const at = [HEADER_BYTES, ...segment.ends][random.below(segment.ends.length)]!
      const kind = segment.bytes[at]!
      for (const other of [1, 2, 3, 4, 5].filter((each) => each !== kind)) {
        segment.bytes[at] = other
        expectOnlyWritten(segment, at, `kind ${kind} as ${other}, round ${round}`)
      }
    }
  })

  it('returns no record and no error for arbitrary bytes', () => {
    const random = createRandom(SEED)
    for (let round = 0; round < 400; round++) {
      const { bytes, batches, ends } = anySegment(random, 3)
      const cut = HEADER_BYTES + random.below(bytes.length - HEADER_BYTES)
      const noise = Buffer.from(Array.from({ length: random.below(200) }, () => random.below(256)))
      // Random bytes that often begin like a batch.
      if (random.below(2) === 0) bytes.copy(noise, 0, HEADER_BYTES, HEADER_BYTES + BATCH_HEADER_BYTES / 2)
      const { records } = readAll(Buffer.concat([bytes.subarray(0, cut), noise]))
      const whole = wholeUpTo(ends, cut)
      expect(records.slice(0, batches.slice(0, whole).flat().length)).toEqual(batches.slice(0, whole).flat())
      expect(records.length).toBeLessThanOrEqual(batches.flat().length)
    }
  })

  it('has the complete table of attributions from any batch on', () => {
    const random = createRandom(SEED)
    for (let round = 0; round < 30; round++) {
      const { bytes, batches, ends } = anySegment(random)
      const path = join(folder, String(files++))
      writeFileSync(path, bytes)
      const from = random.below(ends.length)
      const file = openSegment(path, 1)
      const records: CallRecord[] = []
      file.read(ends[from]!, Infinity, Infinity, (batch) => {
        for (let index = 0; index < batch.count; index++) records.push(batch.at(index))
      })
      file.close()
      expect(records).toEqual(batches.slice(from + 1).flat())
    }
  })

  it('returns a batch that is larger than the read buffer', () => {
    const random = createRandom(SEED)
    const buffer = new BatchBuffer(30_000)
    const attribution = anyAttribution(random)
    const records = Array.from({ length: 30_000 }, () => anyRecord(random, attribution))
    for (const record of records) buffer.add(record, 0)
    const { records: found } = readAll(Buffer.concat([HEADER, buffer.seal([attribution], 0)]))
    expect(found).toHaveLength(records.length)
    expect(found.at(-1)).toEqual(records.at(-1))
  })
})
