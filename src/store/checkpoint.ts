/**
 * How far the spool has been taken in, kept so that a crash at any moment repeats nothing and loses
 * nothing.
 *
 * A flush is a transaction over a range of the spool: `begin` notes the range on disk, then the rows
 * are inserted under the range's token, then `commit` moves the position. After a crash between the
 * two the pending flush is found again, and the same range gives the same rows and the same token.
 */

/** For every spool source: the segment and the offset of the first byte that is not taken in. */
export type SpoolPosition = Readonly<Record<string, { readonly segment: number; readonly offset: number }>>

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
