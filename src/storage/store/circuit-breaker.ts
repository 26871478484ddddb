/** Stops requests to a server that does not answer: after some failures in a row, one request at a time tries again after a pause. */

export interface CircuitBreakerOptions {
  readonly failuresMax: number
  readonly pauseMs: number
  /** Measures the pause. A step of the system clock must not prolong it. */
  readonly monotonicMs: () => number
}

export class CircuitBreaker {
  readonly #options: CircuitBreakerOptions
  #failures = 0
  #retryAtMs = 0

  constructor(options: CircuitBreakerOptions) {
    this.#options = options
  }

  get isOpen(): boolean {
    return this.#failures >= this.#options.failuresMax
  }

  /** Returns whether a request may be sent now. If the breaker is open, the request delays the next one by the pause. */
  allows(): boolean {
    if (!this.isOpen) return true
    const { monotonicMs, pauseMs } = this.#options
    const nowMs = monotonicMs()
    if (nowMs < this.#retryAtMs) return false
    this.#retryAtMs = nowMs + pauseMs
    return true
  }

  succeeded(): void {
    this.#failures = 0
  }

  failed(): void {
    this.#failures++
    const { monotonicMs, pauseMs } = this.#options
    if (this.isOpen) this.#retryAtMs = monotonicMs() + pauseMs
  }
}
