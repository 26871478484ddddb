/** Events in virtual time, in a binary heap; events of one instant run in the order in which they were added. */

interface Event {
  readonly atMs: number
  readonly order: number
  readonly run: () => void
}

export class EventQueue {
  readonly #heap: Event[] = []
  #order = 0
  #nowMs = 0

  get nowMs(): number {
    return this.#nowMs
  }

  after(delayMs: number, run: () => void): void {
    const heap = this.#heap
    let index = heap.length
    const event = { atMs: this.#nowMs + Math.max(0, Math.round(delayMs)), order: this.#order++, run }
    heap.push(event)
    while (index > 0) {
      const above = (index - 1) >> 1
      if (isBefore(heap[above]!, event)) break
      heap[index] = heap[above]!
      index = above
    }
    heap[index] = event
  }

  /** Runs all events before `endMs`. */
  runUntil(endMs: number): void {
    while (this.#runNext(endMs));
    this.#nowMs = endMs
  }

  /** Runs all events before `endMs`; promises settle after each of them. */
  async settleUntil(endMs: number): Promise<void> {
    while (this.#runNext(endMs)) await new Promise((resolve) => setImmediate(resolve))
    this.#nowMs = endMs
  }

  #runNext(endMs: number): boolean {
    if (this.#heap.length === 0 || this.#heap[0]!.atMs >= endMs) return false
    const { atMs, run } = this.#pop()
    this.#nowMs = atMs
    run()
    return true
  }

  #pop(): Event {
    const heap = this.#heap
    const first = heap[0]!
    const last = heap.pop()!
    if (heap.length > 0) this.#sink(last)
    return first
  }

  #sink(event: Event): void {
    const heap = this.#heap
    let index = 0
    for (;;) {
      let below = 2 * index + 1
      if (below >= heap.length) break
      if (below + 1 < heap.length && isBefore(heap[below + 1]!, heap[below]!)) below++
      if (isBefore(event, heap[below]!)) break
      heap[index] = heap[below]!
      index = below
    }
    heap[index] = event
  }
}

function isBefore(a: Event, b: Event): boolean {
  return a.atMs < b.atMs || (a.atMs === b.atMs && a.order < b.order)
}
