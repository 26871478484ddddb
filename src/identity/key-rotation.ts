/**
 * Rotates the signing keys: on a schedule, and when an operator asks.
 *
 * A key signs only after every verifier could know it: it was published with the rotation before, and
 * verifiers may keep the key set for five minutes. A key that has signed stays published until its last
 * token has expired, and is taken back then. Due times follow from the registry, so a rotation that fell
 * due while the process was down happens once, at its start.
 */

import { Problem } from '../domain/problem.ts'
import type { Clock } from '../runtime/clock.ts'
import { RevisionConflict } from '../store/registry.ts'
import type { KeyRing, ListedKey } from './key-ring.ts'

export interface KeyRotation {
  /** Publishes what is there, rotates if that is due, and goes on by itself. */
  start(): Promise<void>
  /** Throws `Problem('state_conflict')` where the next key was published too shortly ago. */
  rotateNow(): Promise<void>
  list(): readonly ListedKey[]
  /** Resolves when what was begun is through. */
  settled(): Promise<void>
  stop(): void
}

export interface KeyRotationOptions {
  readonly keyRing: KeyRing
  /** Resolves when every thread has the keys. */
  readonly publish: (jwks: ReturnType<KeyRing['publicKeys']>) => Promise<void>
  readonly clock: Clock
  readonly onFailure: (cause: unknown) => void
  readonly everyDays?: number
}

/** How long verifiers may keep the key set: `max-age` of its answer. */
export const KEY_SET_SECONDS = 300
const DAY_MS = 86_400_000
const EVERY_DAYS = 30
const RETRY_MS = 60_000
/** Timers of the platform end at 24.8 days. */
const SLEEP_MS_MAX = DAY_MS

export function createKeyRotation(options: KeyRotationOptions): KeyRotation {
  const { keyRing, publish, clock, onFailure, everyDays = EVERY_DAYS } = options
  let cancel = (): void => {}
  let isStopped = false
  let isPublished = false
  let turn: Promise<unknown> = Promise.resolve()

  function inTurn<T>(work: () => Promise<T>): Promise<T> {
    const done = turn.then(work)
    turn = done.catch(() => {})
    return done
  }

  async function rotate(): Promise<void> {
    const { nextSinceMs, unpublishAtMs } = keyRing.times()
    const publishedMs = clock.nowMs() - nextSinceMs
    // The keys of a first start were published together: nobody can have kept the set without one.
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

  /** What could not be published is published by the next attempt, whatever else that does. */
  async function publishAll(): Promise<void> {
    isPublished = false
    await publish(keyRing.publicKeys())
    isPublished = true
  }

  /** What is due now, and then a sleep until something is due next. */
  async function keepUp(): Promise<void> {
    const nowMs = clock.nowMs()
    const { signingSinceMs, unpublishAtMs } = keyRing.times()
    if (signingSinceMs + everyDays * DAY_MS <= nowMs) await rotate()
    else if (unpublishAtMs !== null && unpublishAtMs <= nowMs) {
      await keyRing.forget()
      await publishAll()
    } else if (!isPublished) await publishAll()
    sleep()
  }

  function sleep(): void {
    if (isStopped) return
    const { signingSinceMs, unpublishAtMs } = keyRing.times()
    const dueMs = Math.min(signingSinceMs + everyDays * DAY_MS, unpublishAtMs ?? Infinity)
    wake(Math.min(SLEEP_MS_MAX, Math.max(0, dueMs - clock.nowMs())))
  }

  function wake(afterMs: number): void {
    cancel()
    cancel = clock.after(afterMs, () => {
      void inTurn(keepUp).catch((cause: unknown) => {
        onFailure(cause)
        if (!isStopped) wake(RETRY_MS)
      })
    })
  }

  return {
    async start() {
      await publishAll()
      await inTurn(keepUp)
    },
    rotateNow: () =>
      inTurn(async () => {
        try {
          await rotate()
        } finally {
          if (isPublished) sleep()
          else if (!isStopped) wake(RETRY_MS)
        }
      }),
    list: keyRing.list,
    settled: async () => void (await turn),
    stop() {
      isStopped = true
      cancel()
    },
  }
}
