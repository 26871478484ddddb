/** Stops requests to a server that does not answer: after some failures in a row, one request at a time tries again after a pause. */

export interface CircuitBreakerOptions {
  readonly failuresMax: number
  readonly pauseMs: number
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

  /** Whether a request may be sent now. If the breaker is open, the request delays the next one by the pause. */
  allows(nowMs: number): boolean {
    if (!this.isOpen) return true
    if (nowMs < this.#retryAtMs) return false
    this.#retryAtMs = nowMs + this.#options.pauseMs
    return true
  }

  succeeded(): void {
    this.#failures = 0
  }

  failed(nowMs: number): void {
    this.#failures++
    if (this.isOpen) this.#retryAtMs = nowMs + this.#options.pauseMs
  }
}
