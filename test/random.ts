/** Random numbers that come again with the same seed (mulberry32); a failing test names its seed. */

export interface Random {
  /** In `[0, 1)`. */
  next(): number
  /** A whole number in `[0, limit)`. */
  below(limit: number): number
}

export function createRandom(seed: number): Random {
  let state = seed >>> 0

  function next(): number {
    state = (state + 0x6d2b79f5) >>> 0
    let mixed = Math.imul(state ^ (state >>> 15), state | 1)
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32
  }

  return { next, below: (limit) => Math.floor(next() * limit) }
}
