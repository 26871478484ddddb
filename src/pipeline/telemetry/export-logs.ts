/** Exports the lines of the log: those before the export began, and all that follow until it stops. */

import type { Clock } from '../../foundation/runtime/clock.ts'
import type { Log } from '../../foundation/runtime/log.ts'
import type { LogTap } from '../../foundation/runtime/log-tap.ts'
import type { TelemetryConfig } from './telemetry-settings.ts'
import { ExportQueue } from './export-queue.ts'
import { toLogRecord, type ServiceLogRecord } from './log-records.ts'
import type { Origin } from './origin.ts'
import { logSerializer } from './serializers.ts'
import { Signal, type Counters } from './signal.ts'

export interface LogExportOptions {
  readonly clock: Clock
  /** Lines of this log are not exported. */
  readonly log: Log
  readonly counters: Counters
  readonly origin: Origin
  readonly userAgent: string
}

export interface Exporter {
  /** Sends what waits, within a time limit. */
  stop(withinMs: number): Promise<void>
}

export function exportLogs(
  options: LogExportOptions,
  config: NonNullable<TelemetryConfig['logs']>,
  tap: LogTap,
): Exporter {
  const { origin, clock } = options
  const signal = new Signal({ ...options, name: 'logs', config, serializer: logSerializer(config.format) })
  const { onExported, onDropped, onAttempt } = signal
  const queue = new ExportQueue<ServiceLogRecord>({
    onExported,
    onDropped,
    onAttempt,
    batches: config.batches,
    clock,
    send: (records, withinMs, aborted) => signal.send([...records], withinMs, aborted),
  })
  const dropped = tap.connect((line) => {
    const record = toLogRecord(line, origin, clock.nowMs())
    if (record !== null) queue.add(record)
  })
  if (dropped > 0) onDropped(dropped, 'queue_full')
  return {
    async stop(withinMs) {
      // The tap keeps the lines that follow for `last-lines.ts`.
      tap.disconnect()
      await queue.stop(withinMs)
      await signal.close()
    },
  }
}
