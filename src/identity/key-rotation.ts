/**
 * Rotates the signing keys on a schedule and on request of an operator.
 *
 * A key signs only after every verifier could fetch it: the previous rotation published it, and verifiers may cache the
 * key set for five minutes. A retired key stays published until its last token has expired. Due times derive from the
 * registry, so a rotation that fell due while the process was down happens once, at the next start.
 */

import { Problem } from '../domain/problem.ts'
import type { Clock } from '../runtime/clock.ts'
import { RevisionConflict } from '../store/registry.ts'
import type { KeyRing, ListedKey } from './key-ring.ts'

export interface KeyRotation {
  /** Publishes the keys, rotates them if due, and schedules the next rotation. */
  start(): Promise<void>
  /** Throws `Problem('state_conflict')` if the next key was published too recently. */
  rotateNow(): Promise<void>
  list(): readonly ListedKey[]
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
const DAY_MS = 86_400_000
const EVERY_DAYS = 30
const RETRY_MS = 60_000
/** Timers overflow at 24.8 days, so a longer sleep is split. */
const SLEEP_MS_MAX = DAY_MS

/** Not split: its functions are small and share the state at the top of the closure. */
export function createKeyRotation(options: KeyRotationOptions): KeyRotation {
  const { keyRing, publish, clock, onFailure, everyDays = EVERY_DAYS } = options
  let cancel = (): void => {}
  let isStopped = false
  let isPublished = false
  let queue: Promise<unknown> = Promise.resolve()

  /** Runs `work` after all earlier work. */
  function enqueue<T>(work: () => Promise<T>): Promise<T> {
    const done = queue.then(work)
    queue = done.catch(() => {})
    return done
  }

  async function rotate(): Promise<void> {
    const { nextSinceMs, unpublishAtMs } = keyRing.times()
    const publishedMs = clock.nowMs() - nextSinceMs
    // The keys of a first start were published together, so no verifier can have cached the set without one.
    if (unpublishAtMs !== null && publishedMs < KEY_SET_SECONDS * 1_000) {
      const waitSeconds = Math.ceil(KEY_SET_SECONDS - publishedMs / 1_000)
      throw new Problem(
        'state_conflict',
        `Verifiers may not have fetched the next key yet; try again in ${waitSeconds} s.`,
      )
    }
    try {
      await keyRing.rotate()
    } catch (cause) {
      if (!(cause instanceof RevisionConflict)) throw cause
      throw new Problem('state_conflict', 'Another key rotation is in progress.', { cause })
    }
    await publishAll()
  }

  /** A failure leaves `isPublished` false, so that the next run publishes the keys. */
  async function publishAll(): Promise<void> {
    isPublished = false
    await publish(keyRing.publicKeys())
    isPublished = true
  }

  /** Does what is due now and schedules the next run. */
  async function runDue(): Promise<void> {
    const nowMs = clock.nowMs()
    const { signingSinceMs, unpublishAtMs } = keyRing.times()
    if (signingSinceMs + everyDays * DAY_MS <= nowMs) await rotate()
    else if (unpublishAtMs !== null && unpublishAtMs <= nowMs) {
      await keyRing.deleteExpired()
      await publishAll()
    } else if (!isPublished) await publishAll()
    schedule()
  }

  function schedule(): void {
    if (isStopped) return
    const { signingSinceMs, unpublishAtMs } = keyRing.times()
    const dueMs = Math.min(signingSinceMs + everyDays * DAY_MS, unpublishAtMs ?? Infinity)
    wake(Math.min(SLEEP_MS_MAX, Math.max(0, dueMs - clock.nowMs())))
  }

  function wake(afterMs: number): void {
    cancel()
    cancel = clock.after(afterMs, () => {
      void enqueue(runDue).catch((cause: unknown) => {
        onFailure(cause)
        if (!isStopped) wake(RETRY_MS)
      })
    })
  }

  return {
    async start() {
      await publishAll()
      await enqueue(runDue)
    },
    rotateNow: () =>
      enqueue(async () => {
        try {
          await rotate()
        } finally {
          if (isPublished) schedule()
          else if (!isStopped) wake(RETRY_MS)
        }
      }),
    list: keyRing.list,
    settled: async () => void (await queue),
    stop() {
      isStopped = true
      cancel()
    },
  }
}
