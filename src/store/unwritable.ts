/** The disk does not take a change (it is full, or it fails): nothing of it was done, and what is there is whole. */
export class StoreUnwritable extends Error {
  override readonly name: string = 'StoreUnwritable'
}

/** How soon work that a disk has refused is tried again: as soon as there is room, and not so often that it harms. */
export const UNWRITABLE_RETRY_MS = 2_000

/** Whether the disk is what an error comes from. */
export function isFromDisk(error: unknown): boolean {
  if (error instanceof StoreUnwritable) return true
  return error instanceof Error && error.cause !== undefined && isFromDisk(error.cause)
}
