/** Lets a node that has started without the registry join the other nodes as soon as that is possible. */

import type { Clock } from '../../foundation/runtime/clock.ts'

export interface JoinLaterOptions {
  /** Resolves when the node has joined; rejects if that is not possible at the moment. */
  readonly join: () => Promise<void>
  readonly clock: Pick<Clock, 'after'>
  readonly onJoined: () => void
  /** An attempt failed. Another one follows. */
  readonly onFailed: (cause: unknown) => void
}

const RETRY_MS = 500

/** Returns a function that ends the attempts, and waits for the one in progress. */
export function joinLater({ join, clock, onJoined, onFailed }: JoinLaterOptions): () => Promise<void> {
  let isStopped = false
  let cancel = (): void => {}
  let running: Promise<void> = Promise.resolve()

  async function attempt(): Promise<void> {
    try {
      await join()
      onJoined()
    } catch (cause) {
      onFailed(cause)
      schedule()
    }
  }

  function schedule(): void {
    if (!isStopped) cancel = clock.after(RETRY_MS, () => void (running = attempt()))
  }

  schedule()
  return async () => {
    isStopped = true
    cancel()
    await running
  }
}
