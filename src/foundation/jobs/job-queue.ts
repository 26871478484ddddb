/**
 * The jobs that wait for a thread: bounded in total and per tenant, and fair between tenants.
 *
 * The next job is that of the tenant with the fewest running jobs, and among these of the one that was served longest ago. However
 * many documents a tenant sends, a document of another tenant therefore waits for at most one of them per thread.
 */

export interface QueuedJob {
  /** Jobs without a tenant share one place among the tenants. */
  readonly tenant: string | undefined
}

export interface JobQueue<Job extends QueuedJob> {
  isFull(tenant: string | undefined): boolean
  push(job: Job): void
  /** Removes the next job; its tenant has one more running job until `ended`. */
  next(): Job | undefined
  ended(job: Job): void
  /** Removes all jobs that wait. */
  clear(): readonly Job[]
}

const QUEUED_MAX = 32
const QUEUED_PER_TENANT_MAX = 16

export function createJobQueue<Job extends QueuedJob>(): JobQueue<Job> {
  /** By tenant, the one that was served last at the end; tenants without a waiting job are absent. */
  const waiting = new Map<string | undefined, Job[]>()
  const running = new Map<string | undefined, number>()
  let count = 0

  function nextTenant(): string | undefined {
    let [chosen] = waiting.keys()
    for (const tenant of waiting.keys()) {
      if ((running.get(tenant) ?? 0) < (running.get(chosen) ?? 0)) chosen = tenant
    }
    return chosen
  }

  return {
    isFull: (tenant) =>
      count >= QUEUED_MAX || (tenant !== undefined && (waiting.get(tenant)?.length ?? 0) >= QUEUED_PER_TENANT_MAX),
    push(job) {
      const jobs = waiting.get(job.tenant)
      if (jobs === undefined) waiting.set(job.tenant, [job])
      else jobs.push(job)
      count++
    },
    next() {
      const tenant = nextTenant()
      const jobs = waiting.get(tenant)
      const job = jobs?.shift()
      if (jobs === undefined || job === undefined) return undefined
      waiting.delete(tenant)
      if (jobs.length > 0) waiting.set(tenant, jobs)
      running.set(tenant, (running.get(tenant) ?? 0) + 1)
      count--
      return job
    },
    ended({ tenant }) {
      const left = (running.get(tenant) ?? 0) - 1
      if (left > 0) running.set(tenant, left)
      else running.delete(tenant)
    },
    clear() {
      const jobs = [...waiting.values()].flat()
      waiting.clear()
      count = 0
      return jobs
    },
  }
}
