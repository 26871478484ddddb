/**
 * Stored responses of requests with an idempotency key, so that a repeated request is answered and not executed again.
 *
 * A key is claimed before the work and finished with the answer after it; both are on disk when they resolve. A claim that a crash
 * interrupted is marked as such, unless the store knows that the work had no effect.
 */

import { StoreUnwritable } from './unwritable.ts'

export interface StoredRequest {
  /** Hash of the request; a different request with the same key is refused. */
  readonly requestHash: string
  readonly state: 'running' | 'cut_off' | 'done'
  /** The argument of `finish`; null before that. */
  readonly answer: string | null
}

/** The key of a request expired while it was running, and another node executes the request; the commit had no effect. */
export class RequestTakenOver extends StoreUnwritable {
  override readonly name = 'RequestTakenOver'
  override readonly because = 'another node executes the request'
}

export interface IdempotencyStore {
  /** Claims a free key and returns null, or returns the request that claimed it earlier. Throws `StoreUnwritable`. */
  claim(key: string, requestHash: string): Promise<StoredRequest | null>
  /**
   * Runs the work of a key that this process has claimed. With several nodes, the first commit of the work to the registry marks the
   * key in its transaction, and a commit is refused with `RequestTakenOver` if another node has claimed the key meanwhile.
   */
  runClaimed<Result>(key: string, work: () => Promise<Result>): Promise<Result>
  /** Stores the answer. `finish` and `release` are held in memory if the store refuses them. */
  finish(key: string, answer: string): Promise<void>
  /** Frees the key, because nothing was done. With several nodes, a key that is marked counts as interrupted instead. */
  release(key: string): Promise<void>
  close(): Promise<void> | void
}
