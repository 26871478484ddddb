import { appendFileSync, mkdtempSync, readdirSync, rmSync, truncateSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { ANONYMOUS, type Attribution } from '../../../src/domain/attribution.ts'
import type { Damage } from '../../../src/record/damage.ts'
import type { CallRecord } from '../../../src/record/call-record.ts'
import type { SpoolPosition } from '../../../src/store/checkpoint.ts'
import { createSpoolGaugeMemory, openSpoolGauge } from '../../../src/record/spool-gauge.ts'
import { openSpoolReader } from '../../../src/record/spool-reader.ts'
import { createSpoolWriter, type RecordedCall } from '../../../src/record/spool-writer.ts'
import { systemClock } from '../../../src/runtime/clock.ts'

let folder: string
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'spool-'))
})
afterEach(() => rmSync(folder, { recursive: true, force: true }))

const attribution = (consumer: string): Attribution => ({
  ...ANONYMOUS,
  tenant: 't',
  api: 'payments-v1',
  operation: 'pay',
  consumer,
})

function call(sequence: number, by: Attribution, outcomes?: string[]): RecordedCall {
  return {
    attribution: by,
    timeMs: 1_700_000_000_000 + sequence,
    durationUs: 1_500,
    upstreamUs: 1_000,
    admittedAgoMs: 3,
    status: 201,
    outcome: 3,
    flags: 1,
    unitsMicro: 2_500_000,
    requestBytes: 6_000_000_000,
    responseBytes: 7,
    sequence,
    onSafe: () => outcomes?.push(`safe ${sequence}`),
    onRefused: () => outcomes?.push(`refused ${sequence}`),
  }
}

function open(options: { segmentBytesMax?: number; bytesMax?: number; source?: string } = {}) {
  const gauge = openSpoolGauge(createSpoolGaugeMemory(), options.bytesMax ?? 1 << 30)
  const torn: number[] = []
  const damages: Damage[] = []
  const reader = openSpoolReader({
    folder,
    gauge,
    onTornTail: (_, bytes) => torn.push(bytes),
    onDamage: (damage) => damages.push(damage),
  })
  const start = (source = 'gateway-0') =>
    createSpoolWriter({
      folder: join(folder, source),
      requestPrefix: '0123456789abcdef',
      sync: 'never',
      gauge,
      clock: systemClock,
      onGrowth: () => reader.notify(),
      onFailure: () => {},
      ...(options.segmentBytesMax && { segmentBytesMax: options.segmentBytesMax }),
    })
  return { gauge, reader, torn, damages, start }
}

/** Reads everything after `from` and returns the records. */
function drain(reader: ReturnType<typeof openSpoolReader>, from: SpoolPosition = {}, until?: SpoolPosition) {
  const records: CallRecord[] = []
  const ids: string[] = []
  const position = reader.read(
    from,
    (batch) => {
      for (let index = 0; index < batch.count; index++) {
        records.push(batch.at(index))
        ids.push(batch.requestId(index))
      }
    },
    until && { until },
  )
  return { records, ids, position }
}

const turn = () => new Promise<void>((resolve) => setImmediate(() => setImmediate(resolve)))
const segments = () => readdirSync(join(folder, 'gateway-0')).sort()

describe('the spool', () => {
  it('returns every field of a record as it was written', async () => {
    const { reader, start } = open()
    const writer = start()
    const record = call(7, attribution('con_1'))
    writer.append(record)
    await turn()
    const { records, ids } = drain(reader)

    expect(records).toEqual([
      Object.fromEntries(Object.entries(record).filter(([, value]) => typeof value !== 'function')),
    ])
    expect(ids).toEqual(['0123456789abcdef00000007'])
    writer.close()
  })

  it('writes the records of one turn together, before their responses end', async () => {
    const { reader, start } = open()
    const writer = start()
    const outcomes: string[] = []
    writer.append(call(1, attribution('a'), outcomes))
    writer.append(call(2, attribution('a'), outcomes))
    expect(outcomes).toEqual([])
    expect(drain(reader).records).toEqual([])

    await turn()
    expect(outcomes).toEqual(['safe 1', 'safe 2'])
    expect(drain(reader).records).toHaveLength(2)
    writer.close()
  })

  it('resumes in the middle of a segment with the complete table of attributions', async () => {
    const { reader, start } = open()
    const writer = start()
    const [a, b] = [attribution('a'), attribution('b')]
    writer.append(call(1, a))
    await turn()
    const first = drain(reader)
    writer.append(call(2, b))
    writer.append(call(3, a))
    await turn()
    writer.close()

    const fresh = open()
    const { records } = drain(fresh.reader, first.position)
    expect(records.map(({ sequence, attribution: { consumer } }) => [sequence, consumer])).toEqual([
      [2, 'b'],
      [3, 'a'],
    ])
  })

  it('reads exactly the same range again', async () => {
    const { reader, start } = open({ segmentBytesMax: 400 })
    const writer = start()
    const positions: SpoolPosition[] = [{}]
    for (let sequence = 1; sequence <= 9; sequence++) {
      writer.append(call(sequence, attribution('a')))
      await turn()
      positions.push(drain(reader, positions.at(-1)).position)
    }
    expect(segments().length).toBeGreaterThan(3)
    for (let from = 0; from < 9; from++) {
      for (let to = from + 1; to <= 9; to++) {
        const { records, position } = drain(reader, positions[from], positions[to])
        expect(records.map(({ sequence }) => sequence)).toEqual(
          Array.from({ length: to - from }, (_, index) => from + index + 1),
        )
        expect(drain(reader, position).records).toHaveLength(9 - to)
      }
    }
    writer.close()
  })

  it('stops a segment truncated at any byte after its last whole batch, and continues with the next segment', async () => {
    const { start, reader } = open()
    const writer = start()
    writer.append(call(1, attribution('a')))
    await turn()
    const path = join(folder, 'gateway-0', segments()[0]!)
    const whole = statSync(path).size
    writer.append(call(2, attribution('b')))
    await turn()
    writer.close()
    reader.close()
    const full = statSync(path).size

    for (let size = full - 1; size > whole; size -= 7) {
      truncateSync(path, size)
      const again = open()
      const next = again.start()
      next.append(call(3, attribution('c')))
      await turn()
      expect(drain(again.reader).records.map(({ sequence }) => sequence)).toEqual([1, 3])
      expect(again.torn).toEqual([size - whole])
      next.close()
      again.reader.close()
      rmSync(join(folder, 'gateway-0', segments().at(-1)!))
    }
  })

  it('skips a batch with a changed byte', async () => {
    const { start, reader } = open()
    const writer = start()
    writer.append(call(1, attribution('a')))
    await turn()
    writer.close()
    const path = join(folder, 'gateway-0', segments()[0]!)
    truncateSync(path, statSync(path).size - 1)
    appendFileSync(path, 'x')

    expect(drain(reader).records).toEqual([])
  })

  it('waits for an incomplete batch of a live segment', async () => {
    const { start, reader, torn } = open()
    const writer = start()
    writer.append(call(1, attribution('a')))
    await turn()
    const path = join(folder, 'gateway-0', segments()[0]!)
    appendFileSync(path, Buffer.alloc(20, 1))

    expect(drain(reader).records).toHaveLength(1)
    expect(torn).toEqual([])
    writer.close()
  })

  it('reads the records of all threads in step, even with a large backlog', async () => {
    const { reader, start } = open()
    const writers = ['gateway-0', 'gateway-1', 'gateway-2'].map((source) => ({ source, writer: start(source) }))
    for (let sequence = 1; sequence <= 300; sequence++) {
      for (const { writer } of writers) writer.append(call(sequence, attribution('a')))
      if (sequence % 5 === 0) await turn()
    }
    for (const { writer } of writers) writer.close()

    const read = new Map<string, number>()
    let stretches = 0
    for (let position: SpoolPosition = {}; ;) {
      const before = position
      position = reader.read(position, () => {}, { bytesMax: 6_000 })
      if (JSON.stringify(position) === JSON.stringify(before)) break
      stretches++
      for (const { source } of writers) read.set(source, position[source]?.offset ?? 0)
      const offsets = [...read.values()]
      expect(Math.max(...offsets) - Math.min(...offsets)).toBeLessThan(3_000)
    }
    expect(stretches).toBeGreaterThan(5)
    expect(drain(reader).records).toHaveLength(900)
  })

  it('deletes processed segments and releases their space', async () => {
    const { reader, start, gauge } = open({ segmentBytesMax: 200, bytesMax: 8_192 })
    const writer = start()
    for (let sequence = 1; sequence <= 40; sequence++) {
      writer.append(call(sequence, attribution('a')))
      await turn()
    }
    expect(gauge.isFull).toBe(true)
    expect(writer.accepting).toBe(false)

    const { position } = drain(reader)
    reader.release(position)
    expect(segments()).toHaveLength(1)
    expect(writer.accepting).toBe(true)
    expect(drain(reader, position).records).toEqual([])
    writer.close()
  })

  it('releases the space of a thread that has ended, after its records were read', async () => {
    const before = open()
    const gone = before.start('gateway-7')
    gone.append(call(1, attribution('a')))
    await turn()
    gone.append(call(2, attribution('a')))
    await turn()
    gone.close()
    before.reader.close()
    const path = join(folder, 'gateway-7', readdirSync(join(folder, 'gateway-7'))[0]!)
    const sizes = () =>
      readdirSync(join(folder, 'gateway-7')).map((name) => statSync(join(folder, 'gateway-7', name)).size)
    appendFileSync(path, Buffer.alloc(100, 1))

    const { reader, gauge, torn, start } = open({ bytesMax: 4_096 * 4 })
    const live = start()
    live.append(call(3, attribution('a')))
    await turn()
    const early = reader.read({}, () => {}, { bytesMax: 1 })
    const { position, records } = drain(reader, early)
    expect(records.map(({ sequence }) => sequence)).toEqual([2])
    reader.release(early)
    expect(sizes()).toEqual([expect.toSatisfy((size: number) => size > 200)])

    for (let times = 0; times < 3; times++) {
      reader.release(position)
      expect(drain(reader, position).records).toEqual([])
      expect(sizes()).toEqual([64])
    }
    expect(segments()).toHaveLength(1)
    expect(torn).toEqual([100])
    expect(gauge.share).toBeLessThan(0.5)
    expect(drain(reader, position)).toEqual({ records: [], ids: [], position })

    live.append(call(4, attribution('b')))
    await turn()
    expect(drain(reader, position).records.map(({ sequence }) => sequence)).toEqual([4])
    live.close()
  })

  it('reads a thread that starts again after the release of its segments, even if the clock was set back', async () => {
    const before = open()
    const writer = before.start()
    writer.append(call(1, attribution('a')))
    await turn()
    writer.close()
    before.reader.close()
    const without = open()
    const { position } = drain(without.reader)
    without.reader.release(position)
    expect(segments().map((name) => statSync(join(folder, 'gateway-0', name)).size)).toEqual([64])
    without.reader.close()

    const { gauge, reader } = open()
    const again = createSpoolWriter({
      folder: join(folder, 'gateway-0'),
      requestPrefix: '0123456789abcdef',
      sync: 'never',
      gauge,
      clock: { ...systemClock, nowMs: () => Date.now() - 86_400_000 },
      onGrowth: () => {},
      onFailure: () => {},
    })
    again.append(call(2, attribution('b')))
    await turn()
    reader.release(position)
    const { records, position: next } = drain(reader, position)
    expect(records.map(({ sequence }) => sequence)).toEqual([2])
    reader.release(next)
    expect(segments()).toHaveLength(1)
    again.close()
  })

  it('does not release the last segment of a live thread, nor unread records of an ended one', async () => {
    const before = open()
    const writer = before.start()
    writer.append(call(1, attribution('a')))
    await turn()
    const { position: early } = drain(before.reader)
    writer.append(call(2, attribution('a')))
    await turn()
    before.reader.release(drain(before.reader).position)
    expect(segments()).toHaveLength(1)
    writer.close()
    before.reader.close()

    const { reader } = open()
    drain(reader)
    reader.release(early)
    expect(drain(reader, early).records.map(({ sequence }) => sequence)).toEqual([2])
  })

  it('skips removed files, and accepts a position that refers to them', async () => {
    const { reader, start } = open({ segmentBytesMax: 200 })
    const [writer, other] = [start(), start('gateway-1')]
    for (let sequence = 1; sequence <= 3; sequence++) {
      writer.append(call(sequence, attribution('a')))
      other.append(call(sequence, attribution('a')))
      await turn()
    }
    writer.close()
    other.close()
    const { position } = drain(reader)
    reader.close()
    rmSync(join(folder, 'gateway-1'), { recursive: true })
    rmSync(join(folder, 'gateway-0', segments()[1]!))

    const again = open().reader
    expect(drain(again).records.map(({ sequence }) => sequence)).toEqual([1, 3])
    expect(drain(again, {}, position).records.map(({ sequence }) => sequence)).toEqual([1, 3])
    again.release(position)
    expect(drain(again, position).records).toEqual([])
  })

  it('keeps few files open, regardless of the number of segments', async () => {
    const { reader, start } = open({ segmentBytesMax: 100 })
    const writer = start()
    for (let sequence = 1; sequence <= 200; sequence++) {
      writer.append(call(sequence, attribution('a')))
      await turn()
    }
    writer.close()
    const files = () => readdirSync('/proc/self/fd').length
    const before = files()
    expect(drain(reader).records).toHaveLength(200)
    expect(files() - before).toBeLessThanOrEqual(1)
    const { position } = drain(reader)
    reader.release(position)
    expect(files() - before).toBeLessThanOrEqual(1)
    reader.close()
    expect(files()).toBe(before)
  })

  it('closes a segment with a successor after it is synced', async () => {
    const { gauge, reader } = open()
    const failures: unknown[] = []
    const files = () => readdirSync('/proc/self/fd').length
    const before = files()
    const writer = createSpoolWriter({
      folder: join(folder, 'gateway-0'),
      requestPrefix: '0123456789abcdef',
      sync: 'second',
      gauge,
      clock: systemClock,
      onGrowth: () => {},
      onFailure: (cause) => failures.push(cause),
      segmentBytesMax: 200,
    })
    for (let sequence = 1; sequence <= 30; sequence++) {
      writer.append(call(sequence, attribution('a')))
      await turn()
    }
    expect(segments().length).toBeGreaterThan(20)
    writer.close()
    await expect.poll(files).toBe(before)
    expect(failures).toEqual([])
    expect(drain(reader).records).toHaveLength(30)
  })

  it('restores its fill level after a restart', async () => {
    const { gauge, start } = open({ bytesMax: 1 << 20 })
    const writer = start()
    for (let sequence = 1; sequence <= 2_000; sequence++) writer.append(call(sequence, attribution('a')))
    await turn()
    writer.close()
    const again = open({ bytesMax: 1 << 20 })
    expect(again.gauge.share).toBeGreaterThan(0.1)
    expect(again.gauge.share).toBeCloseTo(gauge.share, 2)
    again.reader.release(drain(again.reader).position)
    expect(again.gauge.share).toBe(0)
  })

  it('refuses the calls of a turn whose write fails, and accepts calls again in a new segment', async () => {
    let nowMs = Date.now()
    const { gauge, reader } = open()
    const failures: unknown[] = []
    const writer = createSpoolWriter({
      folder: join(folder, 'gateway-0'),
      requestPrefix: '0123456789abcdef',
      sync: 'never',
      gauge,
      clock: { ...systemClock, nowMs: () => nowMs },
      onGrowth: () => {},
      onFailure: (cause) => failures.push(cause),
    })
    const outcomes: string[] = []
    rmSync(join(folder, 'gateway-0'), { recursive: true })
    const broken = { ...call(1, attribution('a'), outcomes), attribution: cyclic() }
    writer.append(broken)
    await turn()
    expect(outcomes).toEqual(['refused 1'])
    expect(failures.length).toBeGreaterThan(0)
    expect(writer.accepting).toBe(false)

    const { mkdirSync } = await import('node:fs')
    mkdirSync(join(folder, 'gateway-0'))
    nowMs += 1_000
    expect(writer.accepting).toBe(true)
    writer.append(call(2, attribution('a'), outcomes))
    await turn()
    expect(outcomes).toEqual(['refused 1', 'safe 2'])
    expect(drain(reader).records.map(({ sequence }) => sequence)).toEqual([2])
    writer.close()
  })
})

/** An attribution that cannot be encoded. */
function cyclic(): Attribution {
  const it = { ...attribution('x') } as Attribution & { self?: unknown }
  it.self = it
  return it
}
