/**
 * Rotates the signing keys on a schedule and on request of an operator.
 *
 * A key signs only after every verifier could fetch it: the previous rotation published it, and verifiers may cache the
 * key set for five minutes. A retired key stays published until its last token has expired. Due times derive from the
 * registry, so a rotation that fell due while the process was down happens once, at the next start.
 */

import { DAY_MS } from '../../foundation/domain/calendar.ts'
import { Problem } from '../../foundation/domain/problem.ts'
import type { Clock } from '../../foundation/runtime/clock.ts'
import { RevisionConflict } from '../../storage/store/registry.ts'
import { StoreUnwritable } from '../../storage/store/unwritable.ts'
import type { KeyRing, ListedKey } from './key-ring.ts'

export interface KeyRotation {
  /** Publishes the keys, rotates them if due, and schedules the next rotation. */
  start(): Promise<void>
  /** Throws `Problem('state_conflict')` if the next key was published too recently. */
  rotateNow(): Promise<void>
  list(): readonly ListedKey[]
  /** Publishes the keys that another node has changed. Resolves when every gateway thread has them. */
  follow(): Promise<void>
  /** Resolves when the rotations that have started are complete. */
  settled(): Promise<void>
  stop(): void
}

export interface KeyRotationOptions {
  readonly keyRing: KeyRing
  /** Resolves when every gateway thread has the keys. */
  readonly publish: (jwks: ReturnType<KeyRing['publicKeys']>) => Promise<void>
  readonly clock: Clock
  readonly onFailure: (cause: unknown) => void
  readonly everyDays?: number
}

/** How long verifiers may cache the key set: `max-age` of its response. */
const KEY_SET_SECONDS = 300
const EVERY_DAYS = 30
const RETRY_MS = 60_000
/** `setTimeout` overflows above 2^31 − 1 ms (24.8 days), so a longer sleep is split. */
const SLEEP_MS_MAX = DAY_MS

export function createKeyRotation(options: KeyRotationOptions): KeyRotation {
  return new ScheduledRotation(options)
}

class ScheduledRotation implements KeyRotation {
  readonly list: KeyRing['list']
  readonly #options: KeyRotationOptions
  readonly #everyMs: number
  #cancel = (): void => {}
  #isStopped = false
  #isPublished = false
  #queue: Promise<unknown> = Promise.resolve()

  constructor(options: KeyRotationOptions) {
    const { keyRing, everyDays = EVERY_DAYS } = options
    this.#options = options
    this.#everyMs = everyDays * DAY_MS
    this.list = keyRing.list
  }

  async start(): Promise<void> {
    await this.#publish()
    await this.#enqueue(() => this.#runDue()).catch((cause: unknown) => {
      // The keys serve; one of several nodes starts so while PostgreSQL is away.
      if (!this.#isPublished || !(cause instanceof StoreUnwritable)) throw cause
      this.#retry(cause)
    })
  }

  rotateNow(): Promise<void> {
    return this.#enqueue(async () => {
      try {
        await this.#rotate()
      } finally {
        if (this.#isPublished) this.#schedule()
        else if (!this.#isStopped) this.#wake(RETRY_MS)
      }
    })
  }

  follow(): Promise<void> {
    return this.#enqueue(async () => {
      await this.#options.keyRing.reload()
      await this.#publish()
      this.#schedule()
    })
  }

  async settled(): Promise<void> {
    await this.#queue
  }

  stop(): void {
    this.#isStopped = true
    this.#cancel()
  }

  /** Runs `work` after all earlier work. */
  #enqueue<T>(work: () => Promise<T>): Promise<T> {
    const done = this.#queue.then(work)
    this.#queue = done.catch(() => {})
    return done
  }

  /** Performs the step that is due, if any, and schedules the next run. */
  async #runDue(): Promise<void> {
    const { keyRing, clock } = this.#options
    const nowMs = clock.nowMs()
    const { signingSinceMs, unpublishAtMs } = keyRing.times()
    if (signingSinceMs + this.#everyMs <= nowMs) await this.#rotate()
    else if (unpublishAtMs !== null && unpublishAtMs <= nowMs) {
      await keyRing.deleteExpired()
      await this.#publish()
    } else if (!this.#isPublished) await this.#publish()
    this.#schedule()
  }

  async #rotate(): Promise<void> {
    const { keyRing, clock } = this.#options
    checkNextIsKnown(keyRing, clock.nowMs())
    try {
      await keyRing.rotate()
    } catch (cause) {
      if (!(cause instanceof RevisionConflict)) throw cause
      throw new Problem('state_conflict', 'Another key rotation is in progress.', {
        cause,
        extensions: { state: 'rotating', allowed: [] },
      })
    }
    await this.#publish()
  }

  /** A failure leaves `#isPublished` false, so that the next run publishes the keys. */
  async #publish(): Promise<void> {
    this.#isPublished = false
    await this.#options.publish(this.#options.keyRing.publicKeys())
    this.#isPublished = true
  }

  #schedule(): void {
    if (this.#isStopped) return
    const { keyRing, clock } = this.#options
    const { signingSinceMs, unpublishAtMs } = keyRing.times()
    const dueMs = Math.min(signingSinceMs + this.#everyMs, unpublishAtMs ?? Infinity)
    this.#wake(Math.min(SLEEP_MS_MAX, Math.max(0, dueMs - clock.nowMs())))
  }

  #wake(afterMs: number): void {
    this.#cancel()
    this.#cancel = this.#options.clock.after(afterMs, () => {
      void this.#enqueue(() => this.#runDue()).catch((cause: unknown) => this.#retry(cause))
    })
  }

  #retry(cause: unknown): void {
    this.#options.onFailure(cause)
    if (!this.#isStopped) this.#wake(RETRY_MS)
  }
}

/** Throws `Problem('state_conflict')` if a verifier may have cached the key set without the next key. */
function checkNextIsKnown(keyRing: KeyRing, nowMs: number): void {
  const { nextSinceMs, unpublishAtMs } = keyRing.times()
  // The keys of a first start were published together, so no verifier can have cached the set without one.
  if (unpublishAtMs === null) return
  const publishedMs = nowMs - nextSinceMs
  if (publishedMs >= KEY_SET_SECONDS * 1_000) return
  const waitSeconds = Math.ceil(KEY_SET_SECONDS - publishedMs / 1_000)
  const detail = `Verifiers may not have fetched the next key yet; try again in ${waitSeconds} s.`
  throw new Problem('state_conflict', detail, { extensions: { state: 'published', allowed: [] } })
}
