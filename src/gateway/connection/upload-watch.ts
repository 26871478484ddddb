/**
 * Deadlines for the bodies that clients send: a minimum rate, and a bound on the whole.
 *
 * The client's time runs only while the gateway is ready to take more. While the backend does not take
 * what has arrived, the upload is paused and its backend's deadline runs instead.
 */

import { DeadlineQueue, type Timed } from '../../runtime/deadline-queue.ts'

export interface UploadBounds {
  /** Over which the rate is measured. */
  readonly windowMs: number
  readonly bytesPerSecondMin: number
  /** For the whole body, times during which the backend was waited for included. */
  readonly totalMs: number
}

export const UPLOAD_BOUNDS: UploadBounds = { windowMs: 10_000, bytesPerSecondMin: 500, totalMs: 600_000 }

/** The bodies under way in one gateway thread. */
export class UploadWatch {
  readonly bounds: UploadBounds
  readonly queue: DeadlineQueue

  constructor(bounds: UploadBounds = UPLOAD_BOUNDS) {
    this.bounds = bounds
    this.queue = new DeadlineQueue(bounds.windowMs)
  }

  /** Creates the clock of one body; it starts with `resume`. `onSlow` is called once at most. */
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
  /** Received in the current window. */
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

  /** Stops the client's time: somebody else is waited for. */
  pause(): void {
    this.#watch.queue.leave(this)
  }

  resume(): void {
    if (this.dueAt !== 0 || this.#isEnded) return
    this.#bytes = 0
    this.#watch.queue.enter(this, performance.now())
  }

  /** The body is whole, or nobody waits for it any more. */
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
