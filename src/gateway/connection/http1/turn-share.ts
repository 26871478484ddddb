/**
 * Bounds how much of a body is read in one turn of the event loop.
 *
 * libuv reads up to 32 times from a socket before it looks at the next one, which is 2 MB: 1,000 downloads that began together
 * stopped all other calls for 0.9 s.
 *
 * A part of a body costs one or two microseconds, however few bytes it has, so that a read of 64 KB in parts of a byte costs as much as
 * hundreds of calls. Connections with such reads take turns: all of them together have one per turn.
 */

const READS_MAX = 4
export const PARTS_MAX = 1_024

/** Connections whose last read had more parts. */
const waiting: TurnShare[] = []

let turn = 0
let isTurnKnown = false

/** Returns the number of the turn. Costs an immediate in each turn in which it is called. */
function currentTurn(): number {
  if (isTurnKnown) return turn
  isTurnKnown = true
  setImmediate(endTurn)
  return turn
}

function endTurn(): void {
  isTurnKnown = false
  turn++
}

/** The share of one connection. */
export class TurnShare {
  readonly #hold: (isHeld: boolean) => void
  #turn = -1
  #reads = 0
  #isWaiting = false

  /** `hold` stops reading, and continues. */
  constructor(hold: (isHeld: boolean) => void) {
    this.#hold = hold
  }

  /** A read has ended within a message, of whose body it had `parts`. */
  use(parts = 0): void {
    if (parts > PARTS_MAX) return this.#wait()
    const now = currentTurn()
    if (now !== this.#turn) this.#reads = 0
    this.#turn = now
    if (++this.#reads !== READS_MAX) return
    this.#hold(true)
    setImmediate(this.#hold, false)
  }

  /** Continues reading. */
  end(): void {
    this.#isWaiting = false
    this.#hold(false)
  }

  #wait(): void {
    if (this.#isWaiting) return
    this.#isWaiting = true
    this.#hold(true)
    if (waiting.push(this) === 1) setImmediate(endNext)
  }
}

function endNext(): void {
  waiting.shift()?.end()
  if (waiting.length > 0) setImmediate(endNext)
}
