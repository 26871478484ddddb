/** Options and callbacks of a spool writer. */

import type { SpoolPlace } from '../store/checkpoint.ts'
import type { Clock } from '../../foundation/runtime/clock.ts'
import type { Damage } from './damage.ts'
import type { SpoolGauge } from './spool-gauge.ts'

export type SpoolSync = 'always' | 'second' | 'never'

export interface SpoolWriterOptions {
  /** The folder of this thread; created if it is missing. */
  readonly folder: string
  readonly requestPrefix: string
  /** The instance of the data folder, which each segment names; missing: unknown. */
  readonly instance?: string
  /** The committed place of this source in the checkpoint; missing: none. */
  readonly after?: SpoolPlace | undefined
  readonly sync: SpoolSync
  readonly gauge: SpoolGauge
  readonly clock: Clock
  /** Called after each write. */
  readonly onGrowth: () => void
  /** Called on each write, probe or sync that fails, for the log and the counter. */
  readonly onFailure: (cause: unknown) => void
  /** Called with the cause when the writer starts to refuse calls, and with null when it accepts them again. */
  readonly onRefusing?: (cause: unknown) => void
  /** Called after a failed sync with the answered records that a power cut may lose. */
  readonly onUncertain?: (damage: Damage) => void
  /** Stores explanations of refused calls beside their records; missing: explanations are not stored. */
  readonly explanations?: {
    /** Called for each explanation that does not fit into its batch; the record itself is written. */
    readonly onDropped: () => void
  }
  /** Stores the traces of sampled calls beside their records; missing: traces are not stored. */
  readonly traces?: {
    /** Called for each trace that is not stored, because its batch or the spool has no room; the record itself is written. */
    readonly onDropped: () => void
  }
  readonly segmentBytesMax?: number
}
