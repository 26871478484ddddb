/**
 * The processed position of the spool, stored so that a crash at any time neither repeats nor loses a record.
 *
 * A flush is a transaction over a range of the spool: `begin` notes the range on disk, then the rows
 * are inserted under the range's token, then `commit` moves the position. After a crash between the
 * two the pending flush is found again, and the same range gives the same rows and the same token.
 */

export interface SpoolPlace {
  readonly segment: number
  /** Offset of the first unprocessed byte. */
  readonly offset: number
  /** Number of the first unprocessed record; missing in positions of earlier versions. */
  readonly records?: number
}

/** The processed place of each spool source. */
export type SpoolPosition = Readonly<Record<string, SpoolPlace>>

export interface PendingFlush {
  /** Counts up by one; part of the insert tokens. */
  readonly number: number
  readonly from: SpoolPosition
  readonly to: SpoolPosition
  /** `range`: its tokens name the range, and the store notes it. Missing: begun by a version before that. */
  readonly tokens?: 'range'
}

export interface Checkpoint {
  /** Everything before this position is in the store. */
  position(): SpoolPosition
  pending(): PendingFlush | null
  /** On disk when it returns. */
  begin(to: SpoolPosition): PendingFlush
  /** `registryEnd`: position of the registry's last change; a registry that goes back behind it is recognised. */
  commit(flush: PendingFlush, registryEnd?: number): void
}

/** The state of the checkpoint that a start compares with the store. */
export interface CheckpointClaims {
  /** Distinguishes the insert tokens of this data folder from those of any other. */
  readonly instance: string
  /** The number of the last flush that was committed. */
  readonly flushes: number
  readonly position: SpoolPosition
  readonly pending: PendingFlush | null
  /** The last flush was noted in the store; false with flushes of earlier versions only. */
  readonly isNoted: boolean
  readonly registryEnd: number
  /** Changes that the file has lost; 0: none. */
  readonly wentBackBy: number
}

/** Positions that a repair sets, in one transaction; episodes, counters and events that wait stay. */
export interface CheckpointRepair {
  readonly instance: string
  readonly flushes: number
  readonly position: SpoolPosition
  readonly pending: PendingFlush | null
  readonly isNoted: boolean
  readonly registryEnd: number
  readonly riskPosition: SpoolPosition
  readonly limitPosition: SpoolPosition
  /** Null: promises are judged from now on. */
  readonly levelPosition: SpoolPosition | null
}
