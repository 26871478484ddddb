/**
 * Bounds how much of a body is read in one turn of the event loop.
 *
 * libuv reads up to 32 times from a socket before it looks at the next one, which is 2 MB: 1,000 downloads that began together
 * stopped all other calls for 0.9 s.
 */

const READS_MAX = 4

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

  /** `hold` stops reading, and continues. */
  constructor(hold: (isHeld: boolean) => void) {
    this.#hold = hold
  }

  /** A read has ended within a body. */
  use(): void {
    const now = currentTurn()
    if (now !== this.#turn) this.#reads = 0
    this.#turn = now
    if (++this.#reads !== READS_MAX) return
    this.#hold(true)
    setImmediate(this.#hold, false)
  }
}
