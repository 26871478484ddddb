/** What the export sends and counts, at a collector that speaks OTLP. */

import { expect, it, onTestFinished } from 'vitest'
import { systemClock } from '../../../../src/foundation/runtime/clock.ts'
import { createLog } from '../../../../src/foundation/runtime/log.ts'
import { createLogTap } from '../../../../src/foundation/runtime/log-tap.ts'
import { readTelemetry } from '../../../../src/pipeline/telemetry/telemetry-settings.ts'
import { startTelemetry } from '../../../../src/pipeline/telemetry/start-telemetry.ts'
import { createCollector } from '../../../fixtures/otlp-collector.ts'

it('exports the lines before its start, and counts those that were not kept', async () => {
  const collector = await createCollector()
  onTestFinished(() => collector.close())
  const environment = {
    OTEL_EXPORTER_OTLP_LOGS_ENDPOINT: `${collector.url}/v1/logs`,
    OTEL_EXPORTER_OTLP_PROTOCOL: 'http/json',
  }
  const logTap = createLogTap()
  for (let line = 0; line < 1_234; line++) logTap.write(JSON.stringify({ level: 'info', msg: `line ${line}.` }))
  const counts: (readonly [string, string, number])[] = []
  const telemetry = startTelemetry({
    config: readTelemetry(environment, []).telemetry!,
    clock: systemClock,
    log: createLog('silent'),
    logTap,
    registry: { getMetricsAsJSON: () => Promise.resolve([]) },
    counters: {
      exported: (signal, items) => counts.push([signal, 'exported', items]),
      dropped: (signal, items, reason) => counts.push([signal, reason, items]),
    },
    version: '1.2.3',
    node: 'a',
    gatewayUrl: 'http://gateway.example',
  })
  logTap.write(JSON.stringify({ level: 'info', msg: 'the last line' }))
  await telemetry.stop()
  const sumOf = (kind: string): number =>
    counts.reduce((sum, [signal, of, items]) => sum + (signal === 'logs' && of === kind ? items : 0), 0)
  expect(['exported', 'queue_full', 'stopped', 'failed'].map(sumOf)).toEqual([1_001, 234, 0, 0])
  const text = JSON.stringify(collector.json('logs'))
  expect(['line 0.', 'line 999.', 'line 1000.', 'the last line'].map((line) => text.includes(line))).toEqual([
    true,
    true,
    false,
    true,
  ])
})
