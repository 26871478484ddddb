/**
 * Bounds how many requests of an API one thread repeats: targets that fail must not double the load of the others.
 *
 * Within ten seconds, a fifth of the calls and a hundred more may be repeated, as in the budgets of Finagle and Linkerd. Each call
 * deposits, each repetition withdraws what five calls have deposited, and both expire after ten seconds. Only requests that a target
 * may have received count: an attempt that sent nothing adds no load to those of the calls.
 *
 * Neither operation allocates. A clock that jumps empties the budget down to its constant part.
 */

const SECONDS = 10
/** One repetition in this many calls. */
const CALLS_PER_RETRY = 5
/** Repetitions that are always allowed, so that an API with few calls can repeat all of them. */
const RETRIES_PER_SECOND_MIN = 10
const RESERVE = RETRIES_PER_SECOND_MIN * SECONDS * CALLS_PER_RETRY

export class RetryBudget {
  /** Deposits less withdrawals, by second modulo `SECONDS`. */
  readonly #bySecond = new Float64Array(SECONDS)
  #balance = 0
  #second = 0

  /** Counts a call. */
  deposit(nowMs: number): void {
    this.#add(1, nowMs)
  }

  /** Takes one repetition; returns false if none is left. */
  withdraw(nowMs: number): boolean {
    this.#add(0, nowMs)
    if (this.#balance + RESERVE < CALLS_PER_RETRY) return false
    this.#add(-CALLS_PER_RETRY, nowMs)
    return true
  }

  #add(amount: number, nowMs: number): void {
    const second = Math.floor(nowMs / 1_000)
    if (second !== this.#second) this.#expire(second)
    this.#bySecond[second % SECONDS]! += amount
    this.#balance += amount
  }

  #expire(second: number): void {
    const passed = second - this.#second
    if (passed < 0 || passed >= SECONDS) this.#bySecond.fill(0)
    else for (let past = this.#second + 1; past <= second; past++) this.#bySecond[past % SECONDS] = 0
    this.#second = second
    this.#balance = this.#bySecond.reduce((sum, amount) => sum + amount, 0)
  }
}
