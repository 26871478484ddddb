/**
 * Stored responses of requests with an idempotency key, so that a repeated request is answered and not executed again.
 *
 * A key is claimed before the work and finished with the answer after it; both are on disk when they resolve. A claim that a crash
 * interrupted is marked as such, because the store does not know whether the work was done.
 */

export interface StoredRequest {
  /** Hash of the request; a different request with the same key is refused. */
  readonly requestHash: string
  readonly state: 'running' | 'cut_off' | 'done'
  /** The argument of `finish`; null before that. */
  readonly answer: string | null
}

export interface IdempotencyStore {
  /** Claims a free key and returns null, or returns the request that claimed it earlier. Throws `StoreUnwritable`. */
  claim(key: string, requestHash: string): Promise<StoredRequest | null>
  /** Stores the answer. `finish` and `release` are held in memory if the disk refuses them. */
  finish(key: string, answer: string): Promise<void>
  /** Frees the key, because nothing was done. */
  release(key: string): Promise<void>
  close(): void
}
