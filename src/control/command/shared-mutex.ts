/**
 * A keyed mutex across nodes: tasks of this node wait for each other, and those of other nodes are excluded by fences.
 *
 * A task whose first commit is refused runs again, so what it does before its first commit must be repeatable.
 */

import type { LockFences } from '../../storage/store/lock-fences.ts'
import { createKeyedMutex, type KeyedMutex } from './keyed-mutex.ts'

export function createSharedMutex(fences: LockFences): KeyedMutex {
  const local = createKeyedMutex()
  return {
    runExclusive: (keys, task) => local.runExclusive(keys, () => fences.runFenced(keys, task)),
  }
}
