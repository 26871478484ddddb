/**
 * Stored responses of requests with an idempotency key, so that a repeated request is answered and not executed again.
 *
 * A key is claimed before the work and finished with the answer after it; both are on disk when they
 * resolve. A claim that a crash has cut off stays as such: whether the work was done cannot be told here.
 */

export interface KeptRequest {
  /** Hash of the request; a different request with the same key is refused. */
  readonly requestHash: string
  readonly state: 'running' | 'cut_off' | 'done'
  /** As it was given to `finish`; null before that. */
  readonly answer: string | null
}

export interface IdempotencyStore {
  /** Null: the key is the caller's now. Else what is kept under it. Throws `StoreUnwritable`. */
  claim(key: string, requestHash: string): Promise<KeptRequest | null>
  /** Both ends are held in memory if the disk refuses them. */
  finish(key: string, answer: string): Promise<void>
  /** Nothing was done: the key is free again. */
  release(key: string): Promise<void>
  close(): void
}
