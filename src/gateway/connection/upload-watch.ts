/**
 * Deadlines for request bodies: a minimum rate, and a time limit for the whole body.
 *
 * The clock of the client runs only while the gateway can accept more bytes. While the backend applies back-pressure, the upload
 * is paused and the deadline of the backend runs instead.
 */

import { DeadlineQueue, type Timed } from '../../foundation/runtime/deadline-queue.ts'

export interface UploadBounds {
  /** Interval over which the rate is measured. */
  readonly windowMs: number
  readonly bytesPerSecondMin: number
  /** Time limit for the whole body, including pauses. */
  readonly totalMs: number
}

const UPLOAD_BOUNDS: UploadBounds = { windowMs: 10_000, bytesPerSecondMin: 500, totalMs: 600_000 }

/** The request bodies that one gateway thread is receiving. */
export class UploadWatch {
  readonly bounds: UploadBounds
  readonly queue: DeadlineQueue

  constructor(bounds: UploadBounds = UPLOAD_BOUNDS) {
    this.bounds = bounds
    this.queue = new DeadlineQueue(bounds.windowMs)
  }

  /** Creates the clock of one body; `resume` starts it. `onSlow` is called at most once. */
  create(onSlow: () => void): Upload {
    return new Upload(this, onSlow)
  }
}

export class Upload implements Timed {
  previous: Timed | null = null
  next: Timed | null = null
  dueAt = 0

  readonly #watch: UploadWatch
  readonly #onSlow: () => void
  readonly #startedAt: number
  /** Bytes received in the current window. */
  #bytes = 0
  #isEnded = false

  constructor(watch: UploadWatch, onSlow: () => void) {
    this.#watch = watch
    this.#onSlow = onSlow
    this.#startedAt = performance.now()
  }

  received(bytes: number): void {
    this.#bytes += bytes
  }

  /** Stops the clock while the backend applies back-pressure. */
  pause(): void {
    this.#watch.queue.leave(this)
  }

  resume(): void {
    if (this.dueAt !== 0 || this.#isEnded) return
    this.#bytes = 0
    this.#watch.queue.enter(this, performance.now())
  }

  /** Ends the clock: the body is complete or no longer needed. */
  end(): void {
    this.#isEnded = true
    this.#watch.queue.leave(this)
  }

  onDue(): void {
    const { bytesPerSecondMin, windowMs, totalMs } = this.#watch.bounds
    const nowAt = performance.now()
    if (nowAt - this.#startedAt >= totalMs || this.#bytes * 1_000 < bytesPerSecondMin * windowMs) return this.#onSlow()
    this.#bytes = 0
    this.#watch.queue.enter(this, nowAt)
  }
}
