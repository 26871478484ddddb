/**
 * Bounds how many requests of one connection begin in one turn of the event loop.
 *
 * A read of 64 KB has a thousand short requests, and each takes a thread as long as a call: twenty clients that send without waiting for
 * answers stopped all other calls for up to three seconds. Beyond a few, the requests of a connection wait, and connections with
 * waiting requests take turns: all of them together begin as many per turn as `PER_TURN`.
 */

/** Requests of one connection that begin as they arrive. */
const AT_ONCE_MAX = 8
const PER_TURN = 16

interface Pipeline {
  /** Begins the first request that waits. Returns whether another one waits. */
  beginNext(): boolean
}

const waiting: Pipeline[] = []

function beginTurn(): void {
  for (let begun = 0; begun < PER_TURN; begun++) {
    const next = waiting.shift()
    if (next === undefined) return
    if (next.beginNext()) waiting.push(next)
  }
  if (waiting.length > 0) setImmediate(beginTurn)
}

/** The requests of one connection, which begin in their order. */
export class RequestTurns<Request> implements Pipeline {
  readonly #begin: (request: Request) => void
  readonly #hold: (isHeld: boolean) => void
  #waiting: Request[] = []
  #begun = 0

  /** `begin` must not throw. `hold` is called when the first request waits, and when none waits any more. */
  constructor(begin: (request: Request) => void, hold: (isHeld: boolean) => void = () => {}) {
    this.#begin = begin
    this.#hold = hold
  }

  add(request: Request): void {
    // Counted from the second one on, which may be of a later turn: most connections have one at a time.
    if (++this.#begun === 2) setImmediate(() => (this.#begun = 0))
    if (this.#begun <= AT_ONCE_MAX && this.#waiting.length === 0) return this.#begin(request)
    if (this.#waiting.push(request) > 1) return
    this.#hold(true)
    if (waiting.push(this) === 1) setImmediate(beginTurn)
  }

  beginNext(): boolean {
    const next = this.#waiting.shift()
    if (next === undefined) return false
    this.#begin(next)
    if (this.#waiting.length > 0) return true
    this.#hold(false)
    return false
  }

  /** The connection has ended. */
  drop(): void {
    this.#waiting = []
  }
}
