/** Spools of several consumers for damage tests: real files of several lives of a process, and what was written to them. */

import { cpSync, mkdtempSync, readdirSync, rmSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { ANONYMOUS, type Attribution } from '../../../src/domain/attribution.ts'
import type { Damage } from '../../../src/record/damage.ts'
import { createSpoolGaugeMemory, openSpoolGauge } from '../../../src/record/spool-gauge.ts'
import { openSpoolReader } from '../../../src/record/spool-reader.ts'
import { createSpoolWriter, type RecordedCall } from '../../../src/record/spool-writer.ts'
import { systemClock } from '../../../src/runtime/clock.ts'
import type { SpoolPosition } from '../../../src/store/checkpoint.ts'
import type { Random } from '../../random.ts'

export const START_MS = 1_700_000_000_000
const PREFIX = '0123456789abcdef'
const CONSUMERS: readonly Attribution[] = Array.from({ length: 12 }, (_, index) => ({
  ...ANONYMOUS,
  tenant: 'acme',
  api: 'payments-v1',
  operation: `operation${index % 3}`,
  consumer: `con_${index}`,
  subscription: `sub_${index}`,
}))

/** A record as the tests compare it: its number in the test, and whose it is. */
export interface Written {
  readonly id: number
  readonly consumer: string
  readonly source: string
  /** Number of the segment that it was written to. */
  readonly segment: number
}

export interface Process {
  readonly reader: ReturnType<typeof openSpoolReader>
  readonly damages: Damage[]
  readonly torn: string[]
  write(source: string, random: Random, turns: number): Promise<void>
  read(from: SpoolPosition, options?: { until?: SpoolPosition; bytesMax?: number; steps?: number }): ReadResult
  kill(): void
}

export interface ReadResult {
  readonly ids: number[]
  readonly consumers: string[]
  readonly position: SpoolPosition
}

export function createSpoolCopies() {
  const folders: string[] = []
  const newFolder = (): string => {
    const folder = mkdtempSync(join(tmpdir(), 'damage-'))
    folders.push(folder)
    return folder
  }
  return {
    newFolder,
    copyOf(folder: string): string {
      const copy = newFolder()
      cpSync(folder, copy, { recursive: true })
      return copy
    },
    remove(folder: string): void {
      rmSync(folder, { recursive: true, force: true })
    },
    removeAll(): void {
      for (const folder of folders) rmSync(folder, { recursive: true, force: true })
    },
  }
}

/** One process on a spool's folder. `written` collects what its writers were told to be safe. */
export function startProcess(
  folder: string,
  written: Written[],
  billed: SpoolPosition = {},
  segmentBytesMax = 2_500,
): Process {
  const gauge = openSpoolGauge(createSpoolGaugeMemory(), 1 << 30)
  const damages: Damage[] = []
  const torn: string[] = []
  const reader = openSpoolReader({
    folder,
    gauge,
    billed,
    onTornTail: (path) => torn.push(path),
    onDamage: (damage) => damages.push(damage),
  })
  const writers = new Map<string, ReturnType<typeof createSpoolWriter>>()

  function writerOf(source: string) {
    let writer = writers.get(source)
    if (writer === undefined) {
      writer = createSpoolWriter({
        folder: join(folder, source),
        requestPrefix: PREFIX,
        after: billed[source],
        sync: 'never',
        gauge,
        clock: systemClock,
        onGrowth: () => {},
        onFailure(cause) {
          throw cause
        },
        explanations: { onDropped() {} },
        segmentBytesMax,
      })
      writers.set(source, writer)
    }
    return writer
  }

  return {
    reader,
    damages,
    torn,
    async write(source, random, turns) {
      const writer = writerOf(source)
      for (let turn = 0; turn < turns; turn++) {
        const segment = segmentsOf(folder, source).at(-1)!
        const known = Math.min(CONSUMERS.length, 2 + Math.floor(turn / 2))
        for (let count = 1 + random.below(4); count > 0; count--) {
          const attribution = CONSUMERS[random.below(known)]!
          writer.append(toCall(written, attribution, source, segment, random.below(9) === 0))
        }
        await new Promise<void>((resolve) => setImmediate(() => setImmediate(resolve)))
      }
    },
    read(from, { until, bytesMax, steps = Infinity } = {}) {
      const ids: number[] = []
      const consumers: string[] = []
      let position = from
      for (let step = 0; step < steps; step++) {
        const next = reader.read(
          position,
          (batch) => {
            for (let index = 0; index < batch.count; index++) {
              ids.push(batch.unitsMicro(index))
              consumers.push(batch.attributions[batch.attributionId(index)]!.consumer)
            }
          },
          { ...(until && { until }), ...(bytesMax && { bytesMax }) },
        )
        const isSame = JSON.stringify(next) === JSON.stringify(position)
        position = next
        if (isSame) break
      }
      return { ids, consumers, position }
    },
    kill() {
      for (const writer of writers.values()) writer.close()
      reader.close()
    },
  }
}

function toCall(
  written: Written[],
  attribution: Attribution,
  source: string,
  segment: number,
  isExplained: boolean,
): RecordedCall {
  const id = nextId++
  return {
    attribution,
    timeMs: START_MS + id,
    durationUs: 1_500,
    upstreamUs: 1_000,
    admittedAgoMs: 3,
    status: 201,
    outcome: isExplained ? 9 : 0,
    flags: 1,
    unitsMicro: id,
    requestBytes: 6,
    responseBytes: 7,
    sequence: id,
    explanation: isExplained ? { stage: 'limit', detail: `The limit is used up, call ${id}.` } : null,
    onSafe: () => void written.push({ id, consumer: attribution.consumer, source, segment }),
    onRefused(cause) {
      throw cause
    },
  }
}

let nextId = 1

export function segmentsOf(folder: string, source: string): number[] {
  return readdirSync(join(folder, source))
    .filter((name) => name.endsWith('.spool'))
    .map((name) => Number(name.slice(0, 10)))
    .sort((a, b) => a - b)
}

export function pathOf(folder: string, source: string, segment: number): string {
  return join(folder, source, `${String(segment).padStart(10, '0')}.spool`)
}

export const sizeOf = (path: string): number => statSync(path).size
