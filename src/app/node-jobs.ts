/** Starts work that one node does: the only node at once, one of several under a claim. */

import { createClaimedJob, type Job } from '../control/command/claimed-job.ts'
import type { CountEvent } from '../foundation/runtime/event-reasons.ts'
import type { Clock } from '../foundation/runtime/clock.ts'
import type { Opened } from '../foundation/runtime/lifecycle.ts'
import type { Log } from '../foundation/runtime/log.ts'
import type { Shared } from './open-shared.ts'

export interface NodeJobsOptions {
  readonly shared: Pick<Shared, 'claims' | 'incarnation'> | null
  readonly clock: Clock
  readonly log: Log
  readonly count: CountEvent
  readonly opened: Opened
}

/** Resolves when the job runs here, or is known to run elsewhere. */
export type RunJob = (name: string, create: () => Job) => Promise<void>

export function createRunJob({ shared, clock, log, count, opened }: NodeJobsOptions): RunJob {
  if (shared === null) {
    return async (name, create) => {
      const job = create()
      opened(name, () => job.stop())
      await job.start()
    }
  }
  const { claims, incarnation: holder } = shared
  return async (name, create) => {
    const claimed = createClaimedJob({
      claims,
      name,
      holder,
      clock,
      create,
      onFailed(cause) {
        count('job_not_claimed')
        log.error({ err: cause, job: name }, 'a job could not be claimed, started or stopped on this node; retrying')
      },
    })
    opened(name, claimed.stop)
    await claimed.start()
  }
}
