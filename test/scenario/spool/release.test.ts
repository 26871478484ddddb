/** Release of segments, and the files and space that the spool uses. */

import { appendFileSync, mkdtempSync, readdirSync, rmSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
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
})
