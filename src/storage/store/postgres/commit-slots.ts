/**
 * Bounds how many commits of this node use a connection.
 *
 * A commit keeps its connection while it waits for the lock of commits, which a node that freezes holds for seconds. The others wait
 * here instead, so that they leave a connection for what needs no lock: credentials, signals of risks, reads.
 */

import type { Clock } from '../../../foundation/runtime/clock.ts'
import { RegistryUnreachable } from './connection.ts'

export interface CommitSlotsOptions {
  readonly max: number
  /** A commit that has waited for this long is refused. */
  readonly waitMs: number
  readonly clock: Pick<Clock, 'after'>
}

export interface CommitSlots {
  /** Runs a task once a slot is free, in the order of arrival. Rejects with `RegistryUnreachable` if there is none in time. */
  run<Result>(task: () => Promise<Result>): Promise<Result>
}

export function createCommitSlots({ max, waitMs, clock }: CommitSlotsOptions): CommitSlots {
  const waiting = new Set<() => void>()
  let running = 0

  function enter(): Promise<void> {
    if (running < max) {
      running++
      return Promise.resolve()
    }
    return new Promise((resolve, reject) => {
      const cancel = clock.after(waitMs, () => {
        waiting.delete(begin)
        reject(new RegistryUnreachable('commits before this one did not end in time'))
      })
      function begin(): void {
        cancel()
        resolve()
      }
      waiting.add(begin)
    })
  }

  /** Passes the slot on to the commit that waits for the longest time. */
  function leave(): void {
    const [next] = waiting
    if (next === undefined) return void running--
    waiting.delete(next)
    next()
  }

  return {
    async run(task) {
      await enter()
      try {
        return await task()
      } finally {
        leave()
      }
    },
  }
}
