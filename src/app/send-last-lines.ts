/** Exports the last lines of the log before the process ends with a failure, if logs are exported. */

import type { Config } from './config.ts'
import { systemClock } from '../foundation/runtime/clock.ts'
import type { Log } from '../foundation/runtime/log.ts'
import type { LogTap } from '../foundation/runtime/log-tap.ts'
import { readVersion } from '../foundation/runtime/version.ts'

export interface LastLines {
  readonly config: Pick<Config, 'telemetry' | 'nodeName'>
  readonly log: Log
  /** Null: logs are not exported. */
  readonly logTap: LogTap | null
}

/** Does not reject, and takes no longer than the stop of an export. */
export async function sendLastLines({ config, log, logTap }: LastLines): Promise<void> {
  const { telemetry, nodeName: node } = config
  if (telemetry === null || logTap === null) return
  try {
    const lastLines = await import('../pipeline/telemetry/last-lines.ts')
    await lastLines.sendLastLines({ config: telemetry, clock: systemClock, log, logTap, version: readVersion(), node })
  } catch (cause) {
    log.error({ err: cause }, 'the last lines of the log could not be exported')
  }
}
