/** Opens the export of telemetry, if the settings ask for it, and registers its counters. */

import type { LogTap } from '../foundation/runtime/log-tap.ts'
import { readVersion } from '../foundation/runtime/version.ts'
import type { Telemetry } from '../pipeline/telemetry/start-telemetry.ts'
import type { Core } from './open-core.ts'

/** Returns what follows the records of the pipeline; null: nothing is exported. */
export async function openTelemetry(
  { config, addresses, metrics, clock, log, opened }: Core,
  logTap: LogTap | null,
): Promise<Telemetry['observer'] | null> {
  const exported = metrics.counter(
    'telemetry_exported_total',
    'Spans, log records and points of metrics that a collector took',
    ['signal'],
  )
  const dropped = metrics.counter(
    'telemetry_dropped_total',
    'Spans, log records and points of metrics that were not exported',
    ['signal', 'reason'],
  )
  if (config.telemetry === null) return null
  const { startTelemetry } = await import('../pipeline/telemetry/start-telemetry.ts')
  const telemetry = startTelemetry({
    config: config.telemetry,
    clock,
    log,
    logTap,
    registry: metrics.registry,
    counters: {
      exported: (signal, items) => exported.inc({ signal }, items),
      dropped: (signal, items, reason) => dropped.inc({ signal, reason }, items),
    },
    version: readVersion(),
    node: config.nodeName,
    gatewayUrl: addresses.gatewayUrl,
  })
  opened('telemetry', telemetry.stop)
  return telemetry.observer
}
