/**
 * Locks that hold across nodes, by compare-and-set.
 *
 * A task runs without waiting for other nodes. When it commits, the registry refuses the commit if a task of another node has
 * committed under one of the same keys since the task began. Tasks of one node exclude each other by a mutex in addition.
 */

import { StoreUnwritable } from './unwritable.ts'

/** A task of another node was faster; the commit had no effect. */
export class LockLost extends StoreUnwritable {
  override readonly name = 'LockLost'
  override readonly because = 'another node changes the same resources'
  readonly key: string
  constructor(key: string) {
    super(`another node has changed something under the lock ${key}`)
    this.key = key
  }
}

/** Finds the lost lock in an error or in what caused it. */
export function lockLostIn(error: unknown): LockLost | null {
  if (error instanceof LockLost) return error
  return error instanceof Error && error.cause !== undefined ? lockLostIn(error.cause) : null
}

export interface LockFences {
  /**
   * Runs a task that holds keys, once the watchers of this process have all changes up to now. Commits within the task are refused
   * with `LockLost` if another node was faster; if it was the first one of the task, the task is repeated.
   */
  runFenced<Result>(keys: readonly string[], task: () => Promise<Result>): Promise<Result>
}
