/** The spool writer on a failing disk: real files, with writes and syncs that fail. */

import { mkdirSync, mkdtempSync, readdirSync, readlinkSync, rmdirSync, rmSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, it, onTestFinished } from 'vitest'
import { ANONYMOUS, type Attribution } from '../../../src/domain/attribution.ts'
import type { Damage } from '../../../src/record/damage.ts'
import { TEMPORARY_SUFFIX } from '../../../src/record/segment-header.ts'
import { segmentName, segmentNumber } from '../../../src/record/segment-name.ts'
import { createSpoolGaugeMemory, openSpoolGauge } from '../../../src/record/spool-gauge.ts'
import { openSpoolReader } from '../../../src/record/spool-reader.ts'
import { createSpoolWriter, type SpoolWriter } from '../../../src/record/spool-writer.ts'
import type { SpoolSync } from '../../../src/record/spool-writer-options.ts'
import type { Clock } from '../../../src/runtime/clock.ts'
import { withFilesLimited } from '../../file-size-limit.ts'
import { injectFaults } from '../../inject-faults.ts'

const SOURCE = 'gateway-0'
const START_MS = 1_800_000_000_000

interface Bench {
  readonly writer: SpoolWriter
  readonly outcomes: string[]
  /** The cause of each change to refusing; null: the writer accepts calls again. */
  readonly states: (string | null)[]
  readonly failures: string[]
  readonly uncertain: Damage[]
  /** Appends calls of these consumers in one turn of the event loop; resolves after they were answered. */
  turn(...consumers: readonly string[]): Promise<void>
  /** Advances the clock by a second and runs due timers. */
  second(): void
  segments(): readonly string[]
  size(): number
  /** Returns the consumers of all records, in order. */
  read(): readonly string[]
  /** Creates a folder with the name of the temporary file of the next segment, and returns its path. */
  blocked(): string
}

function open(options: { sync?: SpoolSync; segmentBytesMax?: number } = {}): Bench {
  const { sync = 'never', segmentBytesMax } = options
  const folder = mkdtempSync(join(tmpdir(), 'tollgate-failing-'))
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
  const path = join(folder, SOURCE)
  const gauge = openSpoolGauge(createSpoolGaugeMemory(), 1 << 30)
  const clock = createClock()
  const outcomes: string[] = []
  const states: (string | null)[] = []
  const failures: string[] = []
  const uncertain: Damage[] = []
  const known = new Map<string, Attribution>()
  let sequence = 0
  const writer = createSpoolWriter({
    folder: path,
    requestPrefix: '0123456789abcdef',
    sync,
    gauge,
    clock,
    onGrowth: () => {},
    onFailure: (cause) => failures.push(codeOf(cause)),
    onRefusing: (cause) => states.push(cause === null ? null : codeOf(cause)),
    onUncertain: (damage) => uncertain.push(damage),
    ...(segmentBytesMax !== undefined && { segmentBytesMax }),
  })
  onTestFinished(() => writer.close())

  function attributionOf(consumer: string): Attribution {
    const attribution = known.get(consumer) ?? { ...ANONYMOUS, tenant: 't', api: 'a-v1', operation: 'o', consumer }
    known.set(consumer, attribution)
    return attribution
  }

  const segments = (): readonly string[] =>
    readdirSync(path)
      .filter((name) => name.endsWith('.spool'))
      .sort()
  return {
    writer,
    outcomes,
    states,
    failures,
    uncertain,
    async turn(...consumers) {
      for (const consumer of consumers) {
        const number = ++sequence
        writer.append({
          attribution: attributionOf(consumer),
          timeMs: clock.nowMs(),
          durationUs: 1,
          upstreamUs: 1,
          admittedAgoMs: 0,
          status: 200,
          outcome: 0,
          flags: 1,
          unitsMicro: 1_000_000,
          requestBytes: 0,
          responseBytes: 0,
          sequence: number,
          onSafe: () => outcomes.push(`safe ${number}`),
          onRefused: () => outcomes.push(`refused ${number}`),
        })
      }
      await new Promise<void>((resolve) => setImmediate(() => setImmediate(resolve)))
    },
    second: clock.second,
    segments,
    blocked() {
      const next = 1 + (segmentNumber(segments().at(-1) ?? '') ?? 0)
      const temporary = join(path, `${segmentName(next)}${TEMPORARY_SUFFIX}`)
      mkdirSync(temporary)
      return temporary
    },
    size: () => statSync(join(path, segments().at(-1) ?? '')).size,
    read() {
      const reader = openSpoolReader({ folder, gauge, onTornTail: () => {}, onDamage: () => {} })
      const consumers: string[] = []
      reader.read({}, (batch) => {
        for (let index = 0; index < batch.count; index++) consumers.push(batch.at(index).attribution.consumer)
      })
      reader.close()
      return consumers
    },
  }
}

function createClock(): Clock & { second(): void } {
  let nowMs = START_MS
  const due = new Map<object, { atMs: number; periodMs: number | null; task: () => void }>()
  const add = (delayMs: number, periodMs: number | null, task: () => void): (() => void) => {
    const key = {}
    due.set(key, { atMs: nowMs + delayMs, periodMs, task })
    return () => due.delete(key)
  }
  return {
    nowMs: () => nowMs,
    after: (delayMs, task) => add(delayMs, null, task),
    every: (periodMs, task) => add(periodMs, periodMs, task),
    second() {
      nowMs += 1_000
      for (const [key, one] of [...due]) {
        if (one.atMs > nowMs) continue
        if (one.periodMs === null) due.delete(key)
        else one.atMs += one.periodMs
        one.task()
      }
    },
  }
}

/** Returns the paths of the open files of this process. */
function openFiles(): readonly string[] {
  return readdirSync('/proc/self/fd').flatMap((name) => {
    try {
      return [readlinkSync(`/proc/self/fd/${name}`)]
    } catch {
      return []
    }
  })
}

function codeOf(cause: unknown): string {
  return (cause as NodeJS.ErrnoException).code ?? String(cause)
}

describe('a spool writer whose write fails', () => {
  it('refuses calls without a new file or another attempt, and continues in the same segment', async () => {
    const bench = open()
    await bench.turn('a')
    const size = bench.size()
    await withFilesLimited(size, async () => {
      for (let turn = 0; turn < 500; turn++) await bench.turn('a')
      expect(bench.writer.accepting).toBe(false)
    })
    expect(bench.failures).toEqual(['EFBIG'])
    expect(bench.outcomes.filter((outcome) => outcome.startsWith('refused'))).toHaveLength(500)
    expect([bench.segments().length, bench.size()]).toEqual([1, size])

    bench.second()
    expect(bench.writer.accepting).toBe(true)
    await bench.turn('a')
    expect(bench.outcomes.at(-1)).toBe('safe 502')
    expect([bench.segments().length, bench.read()]).toEqual([1, ['a', 'a']])
    expect(bench.states).toEqual(['EFBIG', null])
  })

  it('probes once a second while the disk refuses, and creates no file', async () => {
    const bench = open()
    await bench.turn('a')
    const size = bench.size()
    await withFilesLimited(size, async () => {
      await bench.turn('a')
      for (let second = 1; second <= 100; second++) {
        bench.second()
        expect(bench.writer.accepting).toBe(false)
        await bench.turn('a')
        expect(bench.failures).toHaveLength(1 + second)
      }
    })
    expect([bench.segments().length, bench.size()]).toEqual([1, size])
    expect(bench.states).toEqual(['EFBIG'])
  })

  it('resumes without new calls', async () => {
    const bench = open()
    await withFilesLimited(0, () => bench.turn('a'))
    bench.second()
    expect(bench.states).toEqual(['EFBIG', null])
  })

  it('waits until there is space for more than a few records', async () => {
    const bench = open()
    await bench.turn('a')
    await withFilesLimited(bench.size(), () => bench.turn('a'))
    await withFilesLimited(bench.size() + 10_000, async () => bench.second())
    expect(bench.states).toEqual(['EFBIG'])
    bench.second()
    expect(bench.states).toEqual(['EFBIG', null])
  })

  it('truncates a partially written batch, at any byte', async () => {
    const bench = open()
    await bench.turn('a')
    const size = bench.size()
    for (const bytes of [1, 23, 24, 25, 100, 200]) {
      await withFilesLimited(size + bytes, () => bench.turn('b', 'c', 'd'))
      expect(bench.size()).toBe(size)
      bench.second()
      expect(bench.writer.accepting).toBe(true)
    }
    await bench.turn('b', 'c', 'd')
    expect(bench.read()).toEqual(['a', 'b', 'c', 'd'])
    expect(bench.segments()).toHaveLength(1)
  })

  it('defines consumers of refused calls again, so that no record is attributed to another consumer', async () => {
    const bench = open()
    await bench.turn('a', 'b')
    await withFilesLimited(bench.size(), async () => {
      await bench.turn('c', 'd')
      await bench.turn('e', 'a', 'f')
    })
    bench.second()
    await bench.turn('f')
    await bench.turn('b', 'd', 'a')
    await bench.turn('c', 'e')
    expect(bench.read()).toEqual(['a', 'b', 'f', 'b', 'd', 'a', 'c', 'e'])
  })

  it('writes records that are pending when it resumes with their own consumers', async () => {
    const bench = open()
    await bench.turn('a')
    await withFilesLimited(bench.size(), () => bench.turn('b'))
    const turn = bench.turn('c')
    bench.second()
    await turn
    await bench.turn('d', 'c')
    expect(bench.outcomes).toEqual(['safe 1', 'refused 2', 'refused 3', 'safe 4', 'safe 5'])
    expect(bench.read()).toEqual(['a', 'd', 'c'])
  })

  it('loses nothing if the next segment cannot be created, and creates it later', async () => {
    const bench = open({ segmentBytesMax: 100 })
    await bench.turn('a')
    const made = bench.segments()
    const folder = bench.blocked()
    await bench.turn('b')
    expect(bench.outcomes.at(-1)).toBe('safe 2')
    for (let second = 0; second < 5; second++) {
      bench.second()
      await bench.turn('c')
    }
    expect(bench.outcomes.slice(2).every((outcome) => outcome.startsWith('refused'))).toBe(true)
    rmdirSync(folder)
    expect(bench.segments()).toEqual(made)
    bench.second()
    await bench.turn('d')
    expect(bench.read()).toEqual(['a', 'b', 'd'])
    expect(bench.states).toEqual(['EISDIR', null])
  })
})

describe('a spool writer whose sync fails', () => {
  it('reports the records that no sync has covered, and accepts calls when the next segment is on the disk', async () => {
    const bench = open({ sync: 'second' })
    await bench.turn('a')
    bench.second()
    await expect.poll(() => process.getActiveResourcesInfo()).not.toContain('FSReqCallback')
    await bench.turn('b', 'c')
    const faults = await injectFaults(process.pid, { calls: ['fdatasync'], error: 'EIO' })
    try {
      bench.second()
      await expect.poll(() => bench.states).toEqual(['EIO'])
      await bench.turn('d')
      for (const failures of [2, 3, 4]) {
        bench.second()
        await expect.poll(() => bench.failures.length).toBe(failures)
        expect(bench.writer.accepting).toBe(false)
      }
    } finally {
      expect(await faults.stop()).toBeGreaterThanOrEqual(4)
    }
    expect(bench.segments()).toHaveLength(2)
    expect(bench.uncertain).toMatchObject([
      { file: join('spool', SOURCE, bench.segments()[0] ?? ''), records: 2, isExact: false },
    ])
    expect(bench.uncertain[0]).toMatchObject({ fromMs: START_MS + 1_000, toMs: START_MS + 1_000 })

    bench.second()
    await expect.poll(() => bench.writer.accepting).toBe(true)
    await bench.turn('e', 'b')
    expect(bench.segments()).toHaveLength(2)
    expect(bench.read()).toEqual(['a', 'b', 'c', 'e', 'b'])
  })

  it('refuses the calls of the batch under SPOOL_SYNC=always, and does not bill them', async () => {
    const bench = open({ sync: 'always' })
    await bench.turn('a')
    const faults = await injectFaults(process.pid, { calls: ['fdatasync'], error: 'EIO' })
    try {
      await bench.turn('b', 'c')
      bench.second()
      await expect.poll(() => bench.failures.length).toBe(2)
    } finally {
      await faults.stop()
    }
    bench.second()
    await expect.poll(() => bench.writer.accepting).toBe(true)
    await bench.turn('c')
    expect(bench.outcomes).toEqual(['safe 1', 'refused 2', 'refused 3', 'safe 4'])
    expect(bench.read()).toEqual(['a', 'c'])
    expect(bench.segments()).toHaveLength(2)
    expect(bench.uncertain).toEqual([])
  })

  it('reports refused calls that may be billed if their batch can neither be synced nor truncated', async () => {
    const bench = open({ sync: 'always' })
    const faults = await injectFaults(process.pid, { calls: ['fdatasync', 'ftruncate'], error: 'EIO' })
    try {
      await bench.turn('a', 'b')
    } finally {
      await faults.stop()
    }
    expect(bench.outcomes).toEqual(['refused 1', 'refused 2'])
    expect(bench.failures).toEqual(['EIO'])
    expect(bench.uncertain).toMatchObject([{ records: 2, isExact: false }])
  })
})

it('a spool writer that is closed while the disk refuses reports it and closes its file', async () => {
  const bench = open({ sync: 'second' })
  await bench.turn('a')
  const faults = await injectFaults(process.pid, { calls: ['fdatasync'], error: 'EIO' })
  try {
    bench.writer.close()
  } finally {
    await faults.stop()
  }
  expect(bench.failures).toEqual(['EIO'])
  expect(bench.uncertain).toMatchObject([{ records: 1 }])
  expect(openFiles().filter((path) => path.endsWith('.spool'))).toEqual([])
})
