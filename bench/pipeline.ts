/**
 * P5: from the bytes of the spool to line items and risks, on one core and without the stores.
 *
 * A real spool, written by the gateway's own writer, is read as the pipeline reads it: one stretch after
 * the other, each record metered, measured for the provider's promise, judged, counted for the metrics and
 * against five limits and a quota; risks are looked at after each stretch. The bytes come
 * from the page cache. Batches of 50 records are those of a gateway under load, batches of 1,000 those of
 * one that is pressed. Sums are closed once a million records, which is less often than the second at which
 * the pipeline does it; to close them after every stretch of some 75,000 is more often.
 *
 *   BENCH_RECORDS=1000000 BENCH_RUNS=5 node bench/pipeline.ts
 */

import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { ANONYMOUS, type Attribution } from '../src/foundation/domain/attribution.ts'
import { DEFAULT_RISK_RULES } from '../src/pipeline/risk/risk-rules.ts'
import { createActiveDeclarations } from '../src/limits/active-declarations.ts'
import { createLimitLedger, type LimitLedger } from '../src/limits/limit-ledger.ts'
import { createLimitMemory } from '../src/limits/limit-memory.ts'
import { parseDeclaration } from '../src/documents/opensla/declaration.ts'
import { createCallCounter } from '../src/pipeline/metering/call-counter.ts'
import { createIntake } from '../src/pipeline/stream/intake.ts'
import { createMetering } from '../src/pipeline/metering/metering.ts'
import { RiskDetector } from '../src/pipeline/risk/risk-detector.ts'
import { createServiceEvaluator } from '../src/pipeline/service-level/service-evaluator.ts'
import { outcomeIndex } from '../src/foundation/domain/outcome.ts'
import { FLAG_COUNTED, FLAG_FORWARDED } from '../src/storage/spool/call-record.ts'
import { createSpoolGaugeMemory, openSpoolGauge } from '../src/storage/spool/spool-gauge.ts'
import { openSpoolReader } from '../src/storage/spool/spool-reader.ts'
import { createSpoolWriter, type RecordedCall } from '../src/storage/spool/spool-writer.ts'
import { systemClock } from '../src/foundation/runtime/clock.ts'
import { createIdFactory } from '../src/foundation/runtime/ids.ts'
import { describeMachine } from './machine.ts'
import { spreadOf, toText } from './spread.ts'

const RECORDS = Number(process.env['BENCH_RECORDS'] ?? 3_000_000)
const RUNS = Number(process.env['BENCH_RUNS'] ?? 7)
const WARM_UPS = 2
const THREADS = 2
const CONSUMERS = 1_000
const OPERATIONS = 10
/** Shares no factor with the number of attributions, so that every consumer is refused at times. */
const REFUSED_EVERY = 101
const CALLS_PER_SECOND = 20_000
const START_MS = Date.UTC(2026, 0, 1)
const TARGET = 1_000_000

const PLAN = parseDeclaration(
  Buffer.from(
    JSON.stringify({
      opensla: '1.0.0',
      limits: [
        {
          name: 'all',
          totals: { minute: 1e6, day: 1e9, month: 1e9 },
          rate: { value: 1e5, duration: 'second' },
          concurrent: 1e6,
        },
      ],
      quotas: { period: 'Monthly', resourceUnits: 999_999_999 },
      guarantees: { latency: { p99: 500 }, availability: 99 },
    }),
  ),
  { technicalName: 'payments-v1', operationIds: [] },
)
const gauge = openSpoolGauge(createSpoolGaugeMemory(), 2 ** 40)
const attributions: readonly Attribution[] = Array.from({ length: CONSUMERS * OPERATIONS }, (_, index) => {
  const consumer = index % CONSUMERS
  return {
    ...ANONYMOUS,
    tenant: `tenant-${consumer % 10}`,
    api: 'payments-v1',
    operation: `operation-${Math.floor(index / CONSUMERS)}`,
    consumer: `con_${consumer}`,
    consumerName: `Consumer ${consumer}`,
    subscription: `sub_${consumer}`,
    currency: 'EUR',
    priceMicro: 1_250,
  }
})

console.log(describeMachine())
console.log(`${RECORDS} records, ${CONSUMERS * OPERATIONS} keys, 1 in ${REFUSED_EVERY} refused; ${RUNS} runs`)
const medians = [...(await measureBatches(50)), ...(await measureBatches(1_000))]
console.log(`P5 ${Math.min(...medians) >= TARGET ? 'holds' : 'does not hold'}: at least ${TARGET} records/s`)

async function measureBatches(perBatch: number): Promise<readonly number[]> {
  const folder = mkdtempSync(join(tmpdir(), 'tollgate-bench-'))
  try {
    await writeSpool(folder, perBatch)
    return [
      measure(folder, `batches of ${perBatch}, closed once a million records`, 1_000_000),
      measure(folder, `batches of ${perBatch}, closed after every stretch`, 0),
    ]
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

function measure(folder: string, name: string, closeEvery: number): number {
  const runs = Array.from({ length: WARM_UPS + RUNS }, () => readSpool(folder, closeEvery)).slice(WARM_UPS)
  const rate = spreadOf(runs.map(({ seconds }) => RECORDS / seconds / 1e6))
  const cpu = spreadOf(runs.map(({ cpuSeconds }) => (cpuSeconds * 1e9) / RECORDS))
  const { lineItems, events } = runs[0] ?? { lineItems: 0, events: 0 }
  console.log(`${name}: ${lineItems} line items, ${events} risk events`)
  console.log(`  M records/s        ${toText(rate, 2)}`)
  console.log(`  CPU a record, ns   ${toText(cpu, 0)}`)
  return rate.median * 1e6
}

/** As gateway threads would have written it: a folder each, one batch a turn. */
async function writeSpool(folder: string, perBatch: number): Promise<void> {
  const writers = Array.from({ length: THREADS }, (_, thread) =>
    createSpoolWriter({
      folder: join(folder, `gateway-${thread}`),
      requestPrefix: `bench00000000${String(thread).padStart(3, '0')}`,
      sync: 'never',
      gauge,
      clock: systemClock,
      onGrowth: () => {},
      onFailure: refuse,
    }),
  )
  for (let record = 0; record < RECORDS;) {
    for (const writer of writers) {
      for (const end = Math.min(RECORDS, record + perBatch); record < end; record++) writer.append(toCall(record))
    }
    await new Promise((resolve) => setImmediate(resolve))
  }
  for (const writer of writers) writer.close()
}

function toCall(record: number): RecordedCall {
  const isRefused = record % REFUSED_EVERY === 0
  return {
    // A prime stride, so that neighbours are of different keys.
    attribution: attributions[(record * 7_919) % attributions.length] ?? refuse(),
    timeMs: START_MS + Math.floor((record * 1_000) / CALLS_PER_SECOND),
    durationUs: 900,
    upstreamUs: isRefused ? 0 : 700,
    admittedAgoMs: 1,
    status: isRefused ? 403 : 200,
    outcome: isRefused ? outcomeIndex.operation_forbidden : outcomeIndex.served,
    flags: isRefused ? 0 : FLAG_FORWARDED | FLAG_COUNTED,
    unitsMicro: isRefused ? 0 : 1_500_000,
    requestBytes: 300,
    responseBytes: 100,
    sequence: record,
    onSafe: () => {},
    onRefused: refuse,
  }
}

/** Reads the whole spool with everything new, as after a start. */
function readSpool(folder: string, closeEvery: number) {
  const createId = createIdFactory(() => START_MS)
  const reader = openSpoolReader({ folder, gauge, onTornTail: refuse, onDamage: refuse })
  const metering = createMetering({ requestLog: 'refused', count: () => {} })
  const limits = openLedger()
  const promises = { isAny: true, of: () => PLAN.runtime }
  const judge = createServiceEvaluator({ promises, saved: null, count: () => {} })
  const counter = createCallCounter()
  const detector = new RiskDetector({
    rules: DEFAULT_RISK_RULES,
    newRiskId: () => createId('rsk'),
    newEventId: () => createId('evt'),
    count: refuse,
    saved: [],
  })
  let [records, closed, calls, measured, lineItems, events] = [0, 0, 0, 0, 0, 0]
  const intake = createIntake({
    reader,
    metered: {},
    evaluated: {},
    meter: metering.add,
    evaluate(batch) {
      records += batch.count
      counter.add(batch)
      detector.add(batch)
      judge.add(batch)
      limits.add(batch)
    },
    isFull: () => metering.isFull,
    count: refuse,
  })

  function close(): void {
    const { items, levels } = metering.take()
    lineItems += items.length
    for (const item of items) calls += item.calls
    for (const level of levels) measured += level.calls
    counter.take()
    limits.take()
    closed = records
  }

  const [startMs, startCpu] = [performance.now(), process.cpuUsage()]
  for (let isMore = true; isMore;) {
    isMore = intake.read()
    judge.close()
    detector.evaluateChanged()
    if (detector.hasEvents) events += detector.take().events.length
    if (records - closed >= closeEvery || metering.isFull) close()
  }
  close()
  const seconds = (performance.now() - startMs) / 1_000
  const { user, system } = process.cpuUsage(startCpu)
  reader.close()
  if (records !== RECORDS || measured !== calls || calls !== RECORDS - Math.ceil(RECORDS / REFUSED_EVERY)) refuse()
  return { seconds, cpuSeconds: (user + system) / 1e6, lineItems, events }
}

/** Counts calls for the five limits and the quota that every subscription has. */
function openLedger(): LimitLedger {
  const checkpoint = { countersOf: () => null }
  const declarations = createActiveDeclarations(createLimitMemory({ threads: THREADS }))
  declarations.setPlan(PLAN)
  return createLimitLedger({ declarations, checkpoint })
}

function refuse(cause?: unknown): never {
  throw new Error('this bench measured something else than it says', { cause })
}
