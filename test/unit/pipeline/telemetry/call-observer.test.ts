/** Spans and durations follow the commits of the pipeline. */

import { describe, expect, it } from 'vitest'
import { ANONYMOUS, type Attribution } from '../../../../src/foundation/domain/attribution.ts'
import { outcomeIndex, type Outcome } from '../../../../src/foundation/domain/outcome.ts'
import { CallTrace, toTraceText } from '../../../../src/storage/spool/call-trace.ts'
import { TRACES_FROM } from '../../../../src/storage/spool/explanation-section.ts'
import { BatchBuffer, BATCH_HEADER_BYTES } from '../../../../src/storage/spool/codec.ts'
import { RecordBatch } from '../../../../src/storage/spool/record-batch.ts'
import { CallObserver } from '../../../../src/pipeline/telemetry/call-observer.ts'

const START_MS = 1_700_000_000_000
const ATTRIBUTION: Attribution = { ...ANONYMOUS, tenant: 'acme', api: 'a-v1', operation: 'x', route: 'GET /x' }
const TRACE = toTraceText(new CallTrace('4bf92f3577b34da6a3ce929d0e0e4736', '', 1, ''))
const FORWARDED = Object.assign(new CallTrace('4bf92f3577b34da6a3ce929d0e0e4736', '', 1, ''), { forwardedUs: 0 })
const FORWARDED_TRACE = toTraceText(FORWARDED)

interface Record {
  readonly timeMs?: number
  readonly outcome?: Outcome
  readonly text?: string
}

function batchOf(records: readonly Record[], texts?: () => ReadonlyMap<number, string>): RecordBatch {
  const buffer = new BatchBuffer(100)
  records.forEach(({ timeMs = START_MS, outcome = 'served' }, sequence) => {
    const numbers = {
      durationUs: 5_000,
      upstreamUs: 0,
      admittedAgoMs: 0,
      unitsMicro: 0,
      requestBytes: 0,
      responseBytes: 0,
    }
    const call = { ...numbers, attribution: ATTRIBUTION, timeMs, status: 200, outcome: outcomeIndex[outcome], flags: 0 }
    buffer.add({ ...call, sequence }, 0)
  })
  const bytes = Uint8Array.from(buffer.seal([], 0)).buffer
  const traces = records.flatMap(({ text = TRACE }, index) =>
    text === '' ? [] : [[index + TRACES_FROM, text] as const],
  )
  return new RecordBatch({
    bytes,
    offset: BATCH_HEADER_BYTES,
    count: records.length,
    segmentKey: 1,
    attributions: [ATTRIBUTION],
    requestPrefix: '0123456789abcdef',
    explanations: texts ?? (() => new Map(traces)),
  })
}

function createObserver(pendingMax = 10) {
  const spans: string[] = []
  const dropped: [number, string][] = []
  const faults: unknown[] = []
  let durations = 0
  let pending = 0
  const observer = new CallObserver({
    traces: { pendingMax, add: ({ requestId }) => spans.push(requestId), drop: (...drop) => dropped.push(drop) },
    durations: {
      add: () => void pending++,
      commit() {
        durations += pending
        pending = 0
      },
      reset: () => void (pending = 0),
    },
    startMs: START_MS,
    onFault: (cause) => faults.push(cause),
  })
  return { observer, spans, dropped, faults, durations: () => durations }
}

describe('The observer of calls', () => {
  it('exports a call once its record is committed, and once only', () => {
    const { observer, spans, durations } = createObserver()
    observer.add(batchOf([{}, { text: '' }]))
    expect([spans, durations()]).toEqual([[], 0])
    observer.commit()
    observer.commit()
    expect([spans, durations()]).toEqual([['0123456789abcdef00000000'], 2])
  })

  it('exports a call once if its record is read again after a failure', () => {
    const { observer, spans, durations } = createObserver()
    observer.add(batchOf([{}]))
    observer.reset()
    observer.add(batchOf([{}]))
    observer.commit()
    expect([spans.length, durations()]).toEqual([1, 1])
  })

  it('exports no call that ended more than a minute before the start', () => {
    const { observer, spans, dropped, durations } = createObserver()
    observer.add(batchOf([{ timeMs: START_MS - 60_001 }, { timeMs: START_MS - 60_000 }]))
    observer.commit()
    expect([spans.length, dropped, durations()]).toEqual([1, [[1, 'late']], 1])
  })

  it('holds a bounded number of calls, and counts drops of records that are read again once', () => {
    const { observer, spans, dropped } = createObserver(3)
    const many = batchOf(Array.from({ length: 8 }, () => ({})))
    observer.add(many)
    observer.reset()
    observer.add(many)
    observer.commit()
    expect([spans.length, dropped]).toEqual([3, [[5, 'queue_full']]])
  })

  it('leaves out records that are no calls, and traces that cannot be read', () => {
    const { observer, spans, dropped, durations } = createObserver()
    observer.add(batchOf([{ outcome: 'score_low' }, { text: 'nonsense' }, {}]))
    observer.commit()
    expect([spans.length, dropped, durations()]).toEqual([1, [[1, 'unreadable']], 2])
  })

  it('counts dropped spans, of which a forwarded call has two', () => {
    const { observer, dropped } = createObserver(0)
    const late = { timeMs: START_MS - 60_001 }
    const unreadable = FORWARDED_TRACE.replace('4bf9', 'none')
    observer.add(batchOf([late, { ...late, text: FORWARDED_TRACE }, {}, { text: FORWARDED_TRACE }]))
    observer.commit()
    expect(dropped).toEqual([
      [3, 'late'],
      [3, 'queue_full'],
    ])
    const roomy = createObserver()
    roomy.observer.add(batchOf([{ text: unreadable }, { text: FORWARDED_TRACE }]))
    roomy.observer.commit()
    expect([roomy.spans.length, roomy.dropped]).toEqual([1, [[2, 'unreadable']]])
  })

  it('reports a batch whose texts are damaged, and does not fail the pipeline', () => {
    const { observer, faults, spans } = createObserver()
    observer.add(
      batchOf([{}], () => {
        throw new Error('damaged')
      }),
    )
    observer.add(batchOf([{}]))
    observer.commit()
    expect([faults.map(String), spans.length]).toEqual([['Error: damaged'], 1])
  })
})
