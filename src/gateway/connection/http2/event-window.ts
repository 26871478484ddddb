/** Counts events of a connection in windows of a fixed length. */
export class EventWindow {
  readonly #max: number
  readonly #windowMs: number
  #count = 0
  #startedAt = -Infinity

  constructor(max: number, windowMs: number) {
    this.#max = max
    this.#windowMs = windowMs
  }

  /** Counts an event. Returns true if its window has more than the maximum. */
  add(nowMs: number): boolean {
    if (nowMs - this.#startedAt >= this.#windowMs) {
      this.#startedAt = nowMs
      this.#count = 0
    }
    return ++this.#count > this.#max
  }
}
