/** A spool writer with a clock, recorded outcomes and a reader, for tests of a failing disk. */

import { mkdirSync, mkdtempSync, readdirSync, readFileSync, readlinkSync, rmSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { onTestFinished } from 'vitest'
import { ANONYMOUS, type Attribution } from '../../../../src/foundation/domain/attribution.ts'
import type { Damage } from '../../../../src/storage/spool/damage.ts'
import { decodeHeader, TEMPORARY_SUFFIX, type SegmentHeader } from '../../../../src/storage/spool/segment-header.ts'
import { segmentName, segmentNumber } from '../../../../src/storage/spool/segment-name.ts'
import { createSpoolGaugeMemory, openSpoolGauge } from '../../../../src/storage/spool/spool-gauge.ts'
import { openSpoolReader } from '../../../../src/storage/spool/spool-reader.ts'
import { createSpoolWriter, type SpoolWriter } from '../../../../src/storage/spool/spool-writer.ts'
import type { SpoolSync } from '../../../../src/storage/spool/spool-writer-options.ts'
import type { Clock } from '../../../../src/foundation/runtime/clock.ts'

export const SOURCE = 'gateway-0'
export const START_MS = 1_800_000_000_000

export interface FailingDiskWriter {
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
  /** The header of the last segment; null if it is damaged. */
  header(): SegmentHeader | null
  /** Returns the consumers of all records, in order. */
  read(): readonly string[]
  /** Creates a folder with the name of the temporary file of the next segment, and returns its path. */
  blocked(): string
}

export function openWriter(options: { sync?: SpoolSync; segmentBytesMax?: number } = {}): FailingDiskWriter {
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
    header: () => decodeHeader(readFileSync(join(path, segments().at(-1) ?? ''))),
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
export function openFiles(): readonly string[] {
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
