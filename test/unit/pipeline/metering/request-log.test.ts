import { describe, expect, it } from 'vitest'
import { createRequestLog, type RequestLogMode } from '../../../../src/pipeline/metering/request-log.ts'
import type { CallRecord } from '../../../../src/storage/spool/call-record.ts'
import { createRandom } from '../../../random.ts'
import { attribution, call, someCalls, START_MS } from '../../../fixtures/calls.ts'
import { createMemorySpool } from '../../../fixtures/memory-spool.ts'

function logged(batches: readonly (readonly CallRecord[])[], mode: RequestLogMode = 'refused') {
  const counted = new Map<string, number>()
  const log = createRequestLog(mode, (reason, by = 1) => counted.set(reason, (counted.get(reason) ?? 0) + by))
  const spool = createMemorySpool()
  for (const batch of batches) spool.append('one', batch)
  spool.read({}, log.add)
  return { rows: log.take(), skipped: counted.get('request_log_skipped') ?? 0, log }
}

const by = attribution({ agent: 'agt_1', person: 'per_1', revision: 3 })

describe('the request log', () => {
  it.each([
    ['off', []],
    ['refused', ['rate_limited', 'client_aborted']],
    ['all', ['served', 'rate_limited', 'client_aborted']],
  ] as const)('in mode %s contains calls with these outcomes, and no notes', (mode, outcomes) => {
    const { rows } = logged(
      [
        [
          call(by, START_MS, 'served'),
          call(by, START_MS + 1, 'rate_limited'),
          call(by, START_MS + 2, 'client_aborted'),
          call(by, START_MS + 3, 'undeclared_status'),
          call(by, START_MS + 4, 'retirement_blocked'),
        ],
      ],
      mode,
    )

    expect(rows.map(({ outcome }) => outcome)).toEqual(outcomes)
  })

  it('contains caller, operation, time and outcome of a call', () => {
    const { rows } = logged([[call(by, START_MS, 'payload_invalid', { status: 400, durationUs: 1_500 })]])

    expect(rows).toEqual([
      {
        timeMs: START_MS,
        tenant: 'acme',
        api: 'payments-v1',
        operation: 'createPayment',
        requestId: expect.stringMatching(/^[0-9a-f]{24}$/) as string,
        status: 400,
        outcome: 'payload_invalid',
        consumer: 'con_1',
        consumerName: 'Shop',
        subscription: 'sub_1',
        agent: 'agt_1',
        person: 'per_1',
        durationUs: 1_500,
        upstreamUs: 0,
        requestBytes: 10,
        responseBytes: 10,
        unitsMicro: 0,
        explanation: '',
        channel: 'http',
        revision: 3,
      },
    ])
  })

  it('is bounded, and contains the same calls in any order and batches', () => {
    const seed = 4
    const random = createRandom(seed)
    const calls = Array.from({ length: 60 }, (_, index) => someCalls(random, START_MS + index * 50, 1_000, [by]))
    const one = logged(calls)
    const refused = calls.flat().filter(({ outcome }) => outcome !== 0).length
    const other = logged([...calls].reverse().flatMap((batch) => [batch.slice(500), batch.slice(0, 500)]))

    expect(one.rows.length).toBeLessThanOrEqual(20_000)
    expect(one.rows.length).toBeGreaterThan(5_000)
    expect(one.rows.length + one.skipped, `seed ${seed}`).toBe(refused)
    expect(other.rows, `seed ${seed}`).toEqual(one.rows)
    expect(one.log.take()).toEqual([])
  })
})
