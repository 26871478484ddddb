/**
 * The spin lock of a block of counters: held for the fraction of a microsecond that a decision takes.
 *
 * The word holds the number of the holding thread, from 1, so that the lock of a thread that died can be freed. A waiting thread spins
 * first, then sleeps briefly and retries, since the holder may have lost its core; it gives up after about a second.
 */

const SPINS_MAX = 2_000
const NAP_MS = 1
const NAPS_MAX = 1_000

/** Returns false if the lock was not free within about a second. */
export function lock(word: Int32Array, holder: number): boolean {
  if (Atomics.compareExchange(word, 0, 0, holder) === 0) return true
  for (let spins = 0; spins < SPINS_MAX; spins++) {
    if (Atomics.compareExchange(word, 0, 0, holder) === 0) return true
  }
  for (let naps = 0; naps < NAPS_MAX; naps++) {
    const other = Atomics.compareExchange(word, 0, 0, holder)
    if (other === 0) return true
    Atomics.wait(word, 0, other, NAP_MS)
  }
  return false
}

export function unlock(word: Int32Array): void {
  Atomics.store(word, 0, 0)
}

/** Frees the lock of a thread that has ended. */
export function freeLock(word: Int32Array, holder: number): void {
  Atomics.compareExchange(word, 0, holder, 0)
}
