/**
 * The processed position of the spool, stored so that a crash at any time neither repeats nor loses a record.
 *
 * A flush is a transaction over a range of the spool: `begin` stores the range on disk, then the rows are inserted with the token of
 * the range, then `commit` moves the position. After a crash between the two, the pending flush is repeated: the same range yields
 * the same rows and the same token.
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
  /** `range`: its tokens contain the range, and the flush log of the store records it. Missing: an earlier version began the flush. */
  readonly tokens?: 'range'
  /** Part of the tokens of a flush that was begun again, because the store may have its first tokens without the rows. */
  readonly attempt?: number
}

export interface Checkpoint {
  /** Everything before this position is in the store. */
  position(): SpoolPosition
  pending(): PendingFlush | null
  /** Starts a flush, which is on disk when the method returns. */
  begin(to: SpoolPosition): PendingFlush
  /** Begins the pending flush again, under tokens that were not used before; `attempt` tells them apart. */
  beginAgain(flush: PendingFlush, attempt: number): PendingFlush
  /** `registryEnd`: position of the registry's last change, to detect an older copy of the registry at the next start. */
  commit(flush: PendingFlush, registryEnd?: number): void
}

/** State of the checkpoint that startup compares with the store. */
export interface CheckpointClaims {
  /** Distinguishes the insert tokens of this data folder from those of any other. */
  readonly instance: string
  /** The number of the last flush that was committed. */
  readonly flushes: number
  readonly position: SpoolPosition
  readonly pending: PendingFlush | null
  /** True if the flush log of the store records the last flush; false only for flushes of earlier versions. */
  readonly isNoted: boolean
  readonly registryEnd: number
  /** Number of changes that the file has lost; 0: none. */
  readonly wentBackBy: number
}

/** Positions that a repair sets in one transaction; episodes, counters and the outbox remain. */
export interface CheckpointRepair {
  readonly instance: string
  readonly flushes: number
  readonly position: SpoolPosition
  readonly pending: PendingFlush | null
  readonly isNoted: boolean
  readonly registryEnd: number
  readonly riskPosition: SpoolPosition
  readonly limitPosition: SpoolPosition
  /** Null: promises are evaluated from now on. */
  readonly levelPosition: SpoolPosition | null
}
