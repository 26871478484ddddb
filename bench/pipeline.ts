/**
 * From the bytes of the spool to sums and episodes: records a second on one core, all sinks on.
 *
 * Spool files are written once, by the writer that gateway threads use; then the real reader hands their
 * batches to metering, risk and the call counter, and what they made is taken out, again and again. Five
 * calls in a hundred are refused. What a store does with the rows is not part of it.
 */

import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DEFAULT_RISK_RULES } from '../src/domain/risk-rules.ts'
import { createCallCounter } from '../src/pipeline/call-counter.ts'
import { createIntake } from '../src/pipeline/intake.ts'
import { createMeter } from '../src/pipeline/meter.ts'
import { createRiskDetector } from '../src/pipeline/risk-detector.ts'
import { FLAG_FORWARDED, outcomeIndex } from '../src/record/call-record.ts'
import { createSpoolGaugeMemory, openSpoolGauge } from '../src/record/spool-gauge.ts'
import { openSpoolReader } from '../src/record/spool-reader.ts'
import { createSpoolWriter } from '../src/record/spool-writer.ts'
import { systemClock } from '../src/runtime/clock.ts'
import { createIdFactory } from '../src/runtime/ids.ts'
import { describeMachine } from './machine.ts'
import { spreadOf, toText } from './spread.ts'

const RECORDS = 2_000_000
const RECORDS_PER_WRITE = 200
const CONSUMERS = 1_000
const OPERATIONS = 10
const REFUSED_EVERY = 20
const CALLS_PER_MS = 20
const RUNS = 15
const WARM_UPS = 3

const folder = mkdtempSync(join(tmpdir(), 'tollgate-bench-'))
try {
  await writeSpool()
  const samples = Array.from({ length: WARM_UPS + RUNS }, measure).slice(WARM_UPS)
  console.log(describeMachine())
  console.log(
    `${RECORDS / 1e6} M records, ${CONSUMERS * OPERATIONS} keys, one in ${REFUSED_EVERY} refused; ${RUNS} runs, one core`,
  )
  console.log(`M records/s        ${toText(spreadOf(samples), 2)}`)
} finally {
  rmSync(folder, { recursive: true, force: true })
}

async function writeSpool(): Promise<void> {
  const startMs = Date.UTC(2026, 0, 1)
  const attributions = Array.from({ length: CONSUMERS * OPERATIONS }, (_, index) => ({
    tenant: 'acme',
    api: `payments-v${1 + (index % 3)}`,
    operation: `operation${index % OPERATIONS}`,
    consumer: `con_${Math.floor(index / OPERATIONS)}`,
    consumerName: `Consumer ${Math.floor(index / OPERATIONS)}`,
    subscription: `sub_${Math.floor(index / OPERATIONS)}`,
    agent: '',
    person: '',
    variant: '',
    currency: 'EUR',
    priceMicro: 2_500,
  }))
  const writer = createSpoolWriter({
    folder: join(folder, 'gateway-0'),
    requestPrefix: '0123456789abcdef',
    sync: 'never',
    gauge: openSpoolGauge(createSpoolGaugeMemory(), 2 ** 40),
    clock: systemClock,
    onGrowth() {},
    onFailure(cause) {
      throw cause
    },
  })
  for (let sequence = 0; sequence < RECORDS; sequence++) {
    const isRefused = sequence % REFUSED_EVERY === 0
    writer.append({
      // A prime step, so that neighbours are of different keys.
      attribution: attributions[(sequence * 7_919) % attributions.length]!,
      timeMs: startMs + Math.floor(sequence / CALLS_PER_MS),
      durationUs: 1_000,
      upstreamUs: isRefused ? 0 : 800,
      status: isRefused ? 429 : 200,
      outcome: isRefused ? outcomeIndex.rate_limited : outcomeIndex.served,
      flags: isRefused ? 0 : FLAG_FORWARDED,
      unitsMicro: isRefused ? 0 : 1_500_000,
      requestBytes: 100,
      responseBytes: 1_000,
      sequence,
      onSafe() {},
      onRefused() {},
    })
    if (sequence % RECORDS_PER_WRITE === 0) await new Promise((resolve) => setImmediate(resolve))
  }
  writer.close()
}

/** Reads the whole spool once, takes out what it came to once a second of calls; M records/s. */
function measure(): number {
  const gauge = openSpoolGauge(createSpoolGaugeMemory(), 2 ** 40)
  const reader = openSpoolReader({ folder, gauge, onTornTail() {} })
  const meter = createMeter()
  const counter = createCallCounter()
  const createId = createIdFactory(Date.now)
  const detector = createRiskDetector({
    rules: DEFAULT_RISK_RULES,
    newRiskId: () => createId('rsk'),
    newEventId: () => createId('evt'),
    count() {},
    saved: [],
  })
  const intake = createIntake({
    reader,
    metered: {},
    judged: {},
    meter: meter.add,
    judge(batch) {
      counter.add(batch)
      detector.add(batch)
    },
    isFull: () => false,
    count() {},
  })
  let calls = 0
  let events = 0
  const startMs = performance.now()
  for (let isMore = true; isMore;) {
    isMore = intake.read()
    detector.evaluate()
    events += detector.take().events.length
    for (const item of meter.take()) calls += item.calls
  }
  const elapsedMs = performance.now() - startMs
  reader.close()
  const expected = RECORDS - RECORDS / REFUSED_EVERY
  if (calls !== expected || events === 0) throw new Error(`${calls} of ${expected} calls, ${events} events`)
  return RECORDS / elapsedMs / 1_000
}
