/** Sends the lines of the log that no export has taken, before the process ends: a start that failed has no export, or none any more. */

import type { Clock } from '../../foundation/runtime/clock.ts'
import type { Log } from '../../foundation/runtime/log.ts'
import type { LogTap } from '../../foundation/runtime/log-tap.ts'
import type { TelemetryConfig } from './telemetry-settings.ts'
import { exportLogs } from './export-logs.ts'
import { OWN_COMPONENT } from './log-records.ts'
import { createOrigin } from './origin.ts'

export interface LastLinesOptions {
  readonly config: Pick<TelemetryConfig, 'logs' | 'resource'>
  readonly clock: Clock
  readonly log: Log
  readonly logTap: LogTap
  readonly version: string
  /** Name of this node. */
  readonly node: string
}

/** Longest delay of the end by a collector that is away or slow. */
const WITHIN_MS = 2_000
const UNCOUNTED = { exported() {}, dropped() {} }

export async function sendLastLines({ config, log, logTap, version, ...options }: LastLinesOptions): Promise<void> {
  if (config.logs === null) return
  const parts = {
    ...options,
    log: log.child({ component: OWN_COMPONENT }),
    // No metric is read any more.
    counters: UNCOUNTED,
    origin: createOrigin({ version, node: options.node, resource: config.resource }),
    userAgent: `tollgate/${version}`,
  }
  await exportLogs(parts, config.logs, logTap).stop(WITHIN_MS)
}
