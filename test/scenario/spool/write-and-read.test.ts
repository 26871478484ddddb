/** Writing and reading of the spool. */

import { appendFileSync, mkdirSync, mkdtempSync, rmSync, truncateSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { type Attribution } from '../../../src/foundation/domain/attribution.ts'
import type { SpoolPosition } from '../../../src/storage/store/checkpoint.ts'
import { createSpoolWriter } from '../../../src/storage/spool/spool-writer.ts'
import { systemClock } from '../../../src/foundation/runtime/clock.ts'
import { attribution, call, drain, openSpool, segmentsIn, turn, type SpoolOptions } from './open-spool.ts'

let folder: string
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'spool-'))
})
afterEach(() => rmSync(folder, { recursive: true, force: true }))

const open = (options?: SpoolOptions) => openSpool(folder, options)
const segments = () => segmentsIn(folder)

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
