/**
 * How far the spool has been taken in, kept so that a crash at any moment repeats nothing and loses
 * nothing.
 *
 * A flush is a transaction over a range of the spool: `begin` notes the range on disk, then the rows
 * are inserted under the range's token, then `commit` moves the position. After a crash between the
 * two the pending flush is found again, and the same range gives the same rows and the same token.
 */

export interface SpoolPlace {
  readonly segment: number
  /** Of the first byte that is not taken in. */
  readonly offset: number
  /** Number of the first record that is not taken in; missing in positions of earlier versions. */
  readonly records?: number
}

/** By spool source, how far it is taken in. */
export type SpoolPosition = Readonly<Record<string, SpoolPlace>>

export interface PendingFlush {
  /** Counts up by one; makes the insert tokens. */
  readonly number: number
  readonly from: SpoolPosition
  readonly to: SpoolPosition
}

export interface Checkpoint {
  /** All that precedes this is in the store. */
  position(): SpoolPosition
  pending(): PendingFlush | null
  /** On disk when it returns. */
  begin(to: SpoolPosition): PendingFlush
  commit(flush: PendingFlush): void
}
