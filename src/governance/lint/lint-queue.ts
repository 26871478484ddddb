/** The queue of the lint thread: bounded in total and per tenant, and fair between tenants. */

import type { LintOutcome, LintReport, LintRequest } from './lint-messages.ts'

export interface LintJob extends LintRequest {
  readonly tenant: string | undefined
  readonly deadlineMs: number
  readonly resolve: (outcome: LintOutcome) => void
  readonly reject: (cause: Error) => void
  /** The report without the Spectral rules, once the thread has sent it. */
  partial: LintReport | null
}

export interface LintQueue {
  isFull(tenant: string | undefined): boolean
  push(job: LintJob): void
  /** Removes the next job, of another tenant than the last one if there is one. */
  next(): LintJob | undefined
  /** Removes all jobs. */
  clear(): readonly LintJob[]
}

const QUEUED_MAX = 32
const QUEUED_PER_TENANT_MAX = 16

export function createLintQueue(): LintQueue {
  const jobs: LintJob[] = []
  let lastTenant: string | undefined

  return {
    isFull(tenant) {
      const ofTenant = tenant === undefined ? 0 : jobs.filter((job) => job.tenant === tenant).length
      return jobs.length >= QUEUED_MAX || ofTenant >= QUEUED_PER_TENANT_MAX
    },
    push: (job) => void jobs.push(job),
    next() {
      const other = jobs.findIndex(({ tenant }) => tenant !== lastTenant)
      const [job] = jobs.splice(Math.max(0, other), 1)
      if (job !== undefined) lastTenant = job.tenant
      return job
    },
    clear: () => jobs.splice(0),
  }
}
