/** What the main thread hears from the gateway and watches of itself, and what becomes of it. */

import { createDrifts } from './catalogue/drifts.ts'
import type { Drift } from './domain/drift.ts'
import type { PlatformRecorder } from './platform-recorder.ts'
import type { SpoolGauge } from './record/spool-gauge.ts'
import type { Clock } from './runtime/clock.ts'
import type { CreateId } from './runtime/ids.ts'
import type { Opened } from './runtime/lifecycle.ts'
import type { Log } from './runtime/log.ts'
import { watchSpool } from './spool-pressure.ts'
import type { Registry } from './store/registry.ts'

export interface WatchesOptions {
  readonly registry: Registry
  readonly recorder: Pick<PlatformRecorder, 'note'>
  readonly gauge: Pick<SpoolGauge, 'share'>
  /** Of the gateway itself. */
  readonly tenant: string
  readonly createId: CreateId
  readonly clock: Clock
  readonly log: Log
  readonly count: (reason: string) => void
  readonly opened: Opened
}

export interface Watches {
  readonly onDrift: (drift: Drift) => void
}

export function openWatches(options: WatchesOptions): Watches {
  const drifts = createDrifts(options)
  options.opened('drifts', drifts.settled)
  options.opened('spool pressure', watchSpool(options))
  return { onDrift: drifts.note }
}
