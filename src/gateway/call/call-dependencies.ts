/** The services that every call of a gateway thread uses. */

import type { CountEvent } from '../../foundation/runtime/event-reasons.ts'
import type { SpoolWriter } from '../../storage/spool/spool-writer.ts'
import type { ReaderWatch } from '../connection/reader-watch.ts'

export interface CallDependencies {
  readonly spool: SpoolWriter
  readonly nowMs: () => number
  /** Counts calls that have no record because they belong to no API. */
  readonly count: CountEvent
  readonly readers: Pick<ReaderWatch, 'enter' | 'leave'>
  /** Number of calls of this thread without a record; the main thread reports them as lost if the thread dies. */
  readonly inFlight: Int32Array
  /** Logs and counts a fault of the gateway itself. */
  readonly onFault: (cause: unknown) => void
}
