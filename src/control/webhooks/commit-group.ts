/**
 * Commits the results of deliveries in groups, one group per turn of the event loop.
 *
 * One disk sync serves a whole group, and the group size keeps a burst of responses from blocking the event loop. The
 * number of pending commits is bounded by the deliveries in progress, which the queue limits.
 */

import type { Commit, Registry } from '../../storage/store/registry.ts'

export interface CommitGroup {
  /** Resolves when the commit is on disk; rejects like `Registry.commit`. */
  add(commit: Commit): Promise<void>
}

interface PendingCommit extends Commit {
  readonly resolve: () => void
  readonly reject: (cause: unknown) => void
}

/** Takes a few milliseconds of the main thread, which all commands share. */
const GROUP_MAX = 8

export function createCommitGroup({ registry }: { readonly registry: Pick<Registry, 'commitEach'> }): CommitGroup {
  const pending: PendingCommit[] = []
  let isScheduled = false

  function schedule(): void {
    if (isScheduled || pending.length === 0) return
    isScheduled = true
    setImmediate(() => void flush())
  }

  async function flush(): Promise<void> {
    const group = pending.splice(0, GROUP_MAX)
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
        pending.push({ author, action, writes, resolve, reject })
        schedule()
      }),
  }
}
