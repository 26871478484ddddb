/** Compares the clock of this process with that of the server, without taking a slow network for a wrong clock. */

/**
 * Returns by how much the clock of this process is ahead of that of the server, at least; negative: behind; 0 if both may agree. The
 * server read its clock some time between `sentMs` and `receivedMs`.
 */
export function clockOffset(sentMs: number, serverMs: number, receivedMs: number): number {
  if (sentMs > serverMs) return Math.floor(sentMs - serverMs)
  if (receivedMs < serverMs) return Math.ceil(receivedMs - serverMs)
  return 0
}
