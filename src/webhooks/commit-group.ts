/**
 * What came of deliveries goes to the disk together, some of it each turn of the event loop: a burst of answers
 * must not keep everybody else waiting, and a disk syncs so many at once as fast as one. No more wait than there are
 * deliveries under way, which the queue bounds.
 */

import type { Commit, Registry } from '../store/registry.ts'

export interface CommitGroup {
  /** Resolves when it is on disk; rejects as `Registry.commit` does. */
  add(commit: Commit): Promise<void>
}

interface Waiting extends Commit {
  readonly resolve: () => void
  readonly reject: (cause: unknown) => void
}

/** A few milliseconds of the thread that all commands share. */
const AT_ONCE = 8

export function createCommitGroup({ registry }: { readonly registry: Pick<Registry, 'commitEach'> }): CommitGroup {
  const waiting: Waiting[] = []
  let isScheduled = false

  function schedule(): void {
    if (isScheduled || waiting.length === 0) return
    isScheduled = true
    setImmediate(() => void flush())
  }

  async function flush(): Promise<void> {
    const group = waiting.splice(0, AT_ONCE)
    try {
      const errors = await registry.commitEach(group)
      group.forEach(({ resolve, reject }, index) => {
        const error = errors[index] ?? null
        if (error === null) resolve()
        else reject(error)
      })
    } catch (cause) {
      for (const { reject } of group) reject(cause)
    }
    isScheduled = false
    schedule()
  }

  return {
    add: ({ author, action, writes }) =>
      new Promise((resolve, reject) => {
        waiting.push({ author, action, writes, resolve, reject })
        schedule()
      }),
  }
}
