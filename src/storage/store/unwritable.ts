/** The disk is full or fails, or the server is away: the change had no effect, and the stored data is intact. */
export class StoreUnwritable extends Error {
  override readonly name: string = 'StoreUnwritable'
  /** The reason, as callers may read it. */
  readonly because: string = 'the disk rejects writes'
}

/** Delay before a retry of work that the disk has refused. */
export const UNWRITABLE_RETRY_MS = 2_000

/** Whether an error was caused by the disk. */
export function isFromDisk(error: unknown): boolean {
  if (error instanceof StoreUnwritable) return true
  return error instanceof Error && error.cause !== undefined && isFromDisk(error.cause)
}
