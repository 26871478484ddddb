/**
 * Queue of credentials that this thread has not verified before. Known credentials bypass it.
 *
 * Verifying a signature blocks the event loop for some 50 µs. A flood of forged tokens would delay every known
 * caller, so each turn of the loop verifies only a few tokens, after everything else that arrived in that turn. The
 * queue is bounded.
 */

export interface PendingVerifications {
  /** Runs `verify` in arrival order, in a later turn of the loop. Null if the queue is full. */
  enqueue<T>(verify: () => T): Promise<T> | null
}

export interface PendingVerificationsOptions {
  /** Runs a task after the pending events of the loop. */
  readonly defer?: (task: () => void) => void
  readonly waitingMax?: number
}

const PER_TURN_MAX = 2
const WAITING_MAX = 2_000

export function createPendingVerifications(options: PendingVerificationsOptions = {}): PendingVerifications {
  const { defer = setImmediate, waitingMax = WAITING_MAX } = options
  let queue: (() => void)[] = []
  let doneCount = 0

  function runSome(): void {
    for (let count = 0; count < PER_TURN_MAX && doneCount < queue.length; count++) queue[doneCount++]?.()
    if (doneCount < queue.length) return void defer(runSome)
    queue = []
    doneCount = 0
  }

  return {
    enqueue(verify) {
      if (queue.length - doneCount >= waitingMax) return null
      const { promise, resolve, reject } = Promise.withResolvers<ReturnType<typeof verify>>()
      queue.push(() => {
        try {
          resolve(verify())
        } catch (cause) {
          reject(cause instanceof Error ? cause : new Error(String(cause)))
        }
      })
      if (queue.length === 1) defer(runSome)
      return promise
    },
  }
}
