/** What a spool writer needs, and whom it notifies. */

import type { SpoolPlace } from '../store/checkpoint.ts'
import type { Clock } from '../runtime/clock.ts'
import type { Damage } from './damage.ts'
import type { SpoolGauge } from './spool-gauge.ts'

export type SpoolSync = 'always' | 'second' | 'never'

export interface SpoolWriterOptions {
  /** The folder of this thread alone; made where it is missing. */
  readonly folder: string
  readonly requestPrefix: string
  /** The farthest committed place of this source; missing: none is known. */
  readonly after?: SpoolPlace | undefined
  readonly sync: SpoolSync
  readonly gauge: SpoolGauge
  readonly clock: Clock
  /** Called after each write. */
  readonly onGrowth: () => void
  /** Called on each write, probe or sync that fails, for the log and the counter. */
  readonly onFailure: (cause: unknown) => void
  /** Called with why when the writer begins to refuse calls, and with null when it accepts them again. */
  readonly onRefusing?: (cause: unknown) => void
  /** Called with records that were answered and that a power cut may take, since a sync failed. */
  readonly onUncertain?: (damage: Damage) => void
  /** Keeps explanations of refused calls beside their records; missing: nothing reads them. */
  readonly explanations?: {
    /** Called for each that a batch has no room for; the record itself is written. */
    readonly onDropped: () => void
  }
  readonly segmentBytesMax?: number
}
