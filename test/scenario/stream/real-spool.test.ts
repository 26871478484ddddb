import { appendFileSync, mkdtempSync, readdirSync, rmSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import type { Attribution } from '../../../src/foundation/domain/attribution.ts'
import { DEFAULT_RISK_RULES } from '../../../src/pipeline/risk/risk-rules.ts'
import type { RiskEvent } from '../../../src/foundation/domain/risk.ts'
import { createPipeline } from '../../../src/pipeline/stream/topology.ts'
import { BatchBuffer } from '../../../src/storage/spool/codec.ts'
import type { Damage } from '../../../src/storage/spool/damage.ts'
import { HEADER_BYTES } from '../../../src/storage/spool/segment-header.ts'
import { createSpoolGaugeMemory, openSpoolGauge } from '../../../src/storage/spool/spool-gauge.ts'
import { openSpoolReader } from '../../../src/storage/spool/spool-reader.ts'
import { createSpoolWriter } from '../../../src/storage/spool/spool-writer.ts'
import { createIdFactory } from '../../../src/foundation/runtime/ids.ts'
import { createLog } from '../../../src/foundation/runtime/log.ts'
import type { HeldFlush } from '../../../src/storage/store/flush-log.ts'
import { matches, openSqliteCheckpoint } from '../../../src/storage/store/sqlite/checkpoint.ts'
import type { LineItem } from '../../../src/storage/store/usage-store.ts'
import { createRandom, type Random } from '../../random.ts'
import { readSeed } from '../../random-seed.ts'
import { attribution, call, someCalls, START_MS } from '../../fixtures/calls.ts'
import { createFakeClock, settled } from '../../fixtures/fake-clock.ts'
import { NO_LIMITS, NO_PROMISES } from '../../fixtures/test-stream.ts'

const SEED = readSeed(1)
const BYTES_MAX = 4 * 1024 * 1024

let folder: string
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'pipeline-'))
})
afterEach(() => rmSync(folder, { recursive: true, force: true }))

const UNKNOWN_ROWS: HeldFlush = { isDone: false, items: 'unknown', levels: 'unknown', stored: {}, registryEnd: 0 }

/** State that outlives every process: the store, and the events that subscribers received. */
function createOutside() {
  const tokens = new Map<string, readonly LineItem[]>()
  const history = new Map<string, readonly RiskEvent[]>()
  const notified: RiskEvent[] = []
  const begun = new Set<number>()
  return { tokens, history, notified, begun, items: () => [...tokens.values()].flat(), isAway: false }
}

/** One process on the folder: everything is real except the time and the stores. */
async function startProcess(outside: ReturnType<typeof createOutside>, nowMs: number, threads: number) {
  const clock = createFakeClock(nowMs)
  const gauge = openSpoolGauge(createSpoolGaugeMemory(), BYTES_MAX)
  const torn: string[] = []
  const checkpoint = openSqliteCheckpoint({ path: join(folder, 'checkpoint.db'), newInstance: () => `at-${nowMs}` })
  const billed = checkpoint.position()
  const damages: Damage[] = []
  const reader = openSpoolReader({
    folder: join(folder, 'spool'),
    gauge,
    billed,
    onTornTail: (path) => torn.push(path),
    onDamage: (damage) => damages.push(damage),
  })
  const pipeline = createPipeline({
    limits: NO_LIMITS,
    promises: NO_PROMISES,
    levels: { insert: async () => {} },
    requests: { insert: async () => {} },
    flushLog: {
      repairs: () => 0,
      complete: async (_, rows) => rows,
      comparesRetries: false,
      held: async ({ number }) => (outside.begun.has(number) ? UNKNOWN_ROWS : null),
      begin: async ({ number }) => void outside.begun.add(number),
      done: async () => 0,
    },
    requestLog: 'refused',
    reader,
    checkpoint,
    usage: {
      insertTotals: async () => {},
      insertWithoutTotals: async () => {},
      async insert(token, items) {
        if (outside.isAway) throw new Error('the store is away')
        if (outside.tokens.has(token)) expect(items).toEqual(outside.tokens.get(token))
        else outside.tokens.set(token, items)
      },
    },
    riskStore: {
      async insert(token, events) {
        if (outside.isAway) throw new Error('the store is away')
        if (!outside.history.has(token)) outside.history.set(token, events)
      },
      eventsOf: async () => [],
      eventsAfter: async () => [],
    },
    rules: DEFAULT_RISK_RULES,
    clearedDays: 30,
    matches,
    clock,
    createId: createIdFactory(clock.nowMs),
    log: createLog('silent'),
    count: () => {},
    onCalls: () => {},
  })
  void pipeline.start()
  await pipeline.risks.subscribe('acme', null, (event) => outside.notified.push(event))
  const writers = Array.from({ length: threads }, (_, thread) =>
    createSpoolWriter({
      folder: join(folder, 'spool', `gateway-${thread}`),
      requestPrefix: '0123456789abcdef',
      after: billed[`gateway-${thread}`],
      sync: 'never',
      gauge,
      clock,
      onGrowth: () => reader.notify(),
      onFailure(cause) {
        throw cause
      },
      segmentBytesMax: 6_000,
    }),
  )
  return {
    clock,
    gauge,
    pipeline,
    checkpoint,
    torn,
    damages,
    writers,
    /** Stops the process without any cleanup of its files. */
    kill() {
      clock.kill()
      for (const writer of writers) writer.close()
      reader.close()
      checkpoint.close()
    },
    async stop() {
      for (const writer of writers) writer.close()
      await pipeline.stop()
      reader.close()
      checkpoint.close()
    },
  }
}

const segmentsOf = (thread: number): string[] => {
  const at = join(folder, 'spool', `gateway-${thread}`)
  return readdirSync(at)
    .sort()
    .map((name) => join(at, name))
}
const sourcesInSpool = (): string[] => readdirSync(join(folder, 'spool')).filter((name) => /^gateway-\d+$/.test(name))
const spoolBytes = (): number =>
  sourcesInSpool()
    .flatMap((_, thread) => segmentsOf(thread))
    .reduce((sum, path) => sum + statSync(path).size, 0)

const PARTIES: readonly Attribution[] = Array.from({ length: 6 }, (_, index) =>
  attribution({ consumer: `con_${index}`, consumerName: `Consumer ${index}`, operation: `operation${index % 3}` }),
)

const TORN = oneBatch()

function oneBatch(): Buffer {
  const buffer = new BatchBuffer(3)
  for (let count = 0; count < 3; count++) buffer.add(call(PARTIES[0]!, START_MS), 0)
  return buffer.seal([PARTIES[0]!], 0)
}

/** A batch whose thread died during the write: its calls were never answered. */
function tear(random: Random, thread: number): void {
  const path = segmentsOf(thread).at(-1)
  if (path !== undefined && random.below(2) === 0)
    appendFileSync(path, TORN.subarray(0, 1 + random.below(TORN.length - 1)))
}

describe(`pipeline on the spool's own files (seed ${SEED})`, () => {
  it(
    'bills every answered call once over many crashes, and releases the space of the spool',
    { timeout: 60_000 },
    async () => {
      const random = createRandom(SEED)
      const outside = createOutside()
      const sums = new Map<string, [calls: number, units: bigint]>()
      const refused = new Map<string, number>()
      let nowMs = START_MS
      let torn = 0

      for (let life = 0; life < 25; life++) {
        const threads = 1 + random.below(3)
        outside.isAway = random.below(4) === 0
        const process = await startProcess(outside, nowMs, threads)
        for (let turn = random.below(30); turn > 0; turn--) {
          for (const record of someCalls(random, process.clock.nowMs(), random.below(40), PARTIES)) {
            const isServed = record.outcome === 0
            process.writers[random.below(threads)]!.append({
              ...record,
              onSafe() {
                const key = `${record.attribution.consumer} ${record.attribution.operation}`
                const [calls, units] = sums.get(key) ?? [0, 0n]
                if (isServed) sums.set(key, [calls + 1, units + BigInt(record.unitsMicro)])
                else refused.set(key, (refused.get(key) ?? 0) + 1)
              },
              onRefused() {},
            })
          }
          await settled()
          await process.clock.advance(random.below(1_500))
        }
        nowMs = process.clock.nowMs() + 1
        process.kill()
        torn += process.torn.length
        expect(process.damages).toEqual([])
        for (let thread = 0; thread < threads; thread++) tear(random, thread)
      }

      outside.isAway = false
      const last = await startProcess(outside, nowMs, 1)
      await last.clock.advance(3_000)
      const billed = new Map<string, [number, bigint]>()
      for (const { consumer, operation, calls, unitsMicro } of outside.items()) {
        const [before, units] = billed.get(`${consumer} ${operation}`) ?? [0, 0n]
        billed.set(`${consumer} ${operation}`, [before + calls, units + unitsMicro])
      }
      expect(billed).toEqual(sums)
      expect(torn).toBeGreaterThan(0)
      expect(last.damages).toEqual([])

      const ids = outside.notified.map(({ id }) => id)
      expect(ids).toEqual([...new Set(ids)].sort())
      const events = [...outside.history.values()].flat().map(({ id }) => id)
      expect(new Set(events).size).toBe(events.length)
      expect(ids.filter((id) => !events.includes(id))).toEqual([])
      const seen = [...refused.values()].reduce((sum, count) => sum + count, 0)
      const open = await last.pipeline.risks.position({ tenant: 'acme', state: 'open', limit: 500 })
      const cleared = await last.pipeline.risks.position({ tenant: 'acme', state: 'cleared', limit: 500 })
      expect([...open, ...cleared].reduce((sum, { event }) => sum + event.evidence.total, 0)).toBe(seen)
      await last.stop()
    },
  )

  it('releases the space of ended threads after their calls are stored', async () => {
    const outside = createOutside()
    const many = await startProcess(outside, START_MS, 3)
    for (const writer of many.writers) writer.append({ ...call(PARTIES[0]!, START_MS), onSafe() {}, onRefused() {} })
    await settled()
    many.kill()

    const few = await startProcess(outside, START_MS + 2_000, 1)
    await few.clock.advance(3_000)
    expect(outside.items().map(({ calls }) => calls)).toEqual([3])
    expect(spoolBytes()).toBe(4 * HEADER_BYTES)
    expect(few.gauge.share * BYTES_MAX).toBeLessThan(4_096)
    await few.stop()
  })

  it('continues after a folder of the spool was removed', async () => {
    const outside = createOutside()
    const first = await startProcess(outside, START_MS, 2)
    for (const writer of first.writers) writer.append({ ...call(PARTIES[0]!, START_MS), onSafe() {}, onRefused() {} })
    await settled()
    await first.clock.advance(3_000)
    first.kill()
    rmSync(join(folder, 'spool', 'gateway-1'), { recursive: true })

    const second = await startProcess(outside, START_MS + 4_000, 1)
    second.writers[0]!.append({ ...call(PARTIES[0]!, START_MS + 4_000), onSafe() {}, onRefused() {} })
    await settled()
    await second.clock.advance(3_000)
    expect(outside.items().reduce((sum, { calls }) => sum + calls, 0)).toBe(3)
    expect(segmentsOf(0)).toHaveLength(1)
    await second.stop()
  })
})
