import { describe, expect, it } from 'vitest'
import { createMetrics } from '../../../../src/foundation/runtime/metrics.ts'
import { readMetrics } from '../../../../src/pipeline/telemetry/metric-data.ts'
import { createOrigin } from '../../../../src/pipeline/telemetry/origin.ts'

const ORIGIN = createOrigin({ version: '1', node: 'a', resource: {} })
const TIMES = { sinceMs: 1_000, nowMs: 61_000 }

describe('The metrics', () => {
  it('are the counters and gauges of /metrics, since the start', async () => {
    const { registry, counter, measured } = createMetrics()
    counter('things_total', 'Things', ['kind']).inc({ kind: 'a' }, 3)
    measured('level', 'A level', () => 0.5)
    const { scopeMetrics } = await readMetrics({ registry, durations: { read: () => [] }, ...TIMES }, ORIGIN)
    expect(scopeMetrics[0]?.metrics).toEqual([
      {
        descriptor: { name: 'tollgate_things_total', description: 'Things', unit: '', valueType: 1 },
        aggregationTemporality: 1,
        dataPointType: 3,
        isMonotonic: true,
        dataPoints: [{ startTime: [1, 0], endTime: [61, 0], attributes: { kind: 'a' }, value: 3 }],
      },
      expect.objectContaining({
        dataPointType: 2,
        dataPoints: [expect.objectContaining({ value: 0.5, attributes: {} })],
      }),
    ])
  })

  it('leave out what has no value or an infinite one', async () => {
    const { registry, counter, measured } = createMetrics()
    counter('none_total', 'Nothing yet', ['kind'])
    measured('missing', 'No value', () => null)
    measured('lag', 'Infinite', () => Infinity)
    const { scopeMetrics } = await readMetrics({ registry, durations: { read: () => [] }, ...TIMES }, ORIGIN)
    expect(scopeMetrics[0]?.metrics).toEqual([])
  })

  it('have the durations of calls in seconds', async () => {
    const { registry } = createMetrics()
    const series = { attributes: { 'http.request.method': 'GET' }, counts: [1, 0], sum: 0.001, count: 1 }
    const { scopeMetrics } = await readMetrics({ registry, durations: { read: () => [series] }, ...TIMES }, ORIGIN)
    expect(scopeMetrics[0]?.metrics).toMatchObject([
      {
        descriptor: { name: 'http.server.request.duration', unit: 's' },
        dataPointType: 0,
        dataPoints: [{ value: { sum: 0.001, count: 1, buckets: { counts: [1, 0] } } }],
      },
    ])
  })
})
