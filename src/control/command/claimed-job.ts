/**
 * Runs a background job on one of several nodes.
 *
 * Every node tries to claim the job. The node that succeeds starts it, renews the claim, and stops the job when it loses the claim or
 * could not renew it in time, shortly before another node can have it. If a node dies, another one takes over within 20 s. Both
 * may run for a moment (a paused process, a slow stop), so a job commits by compare-and-set, and repeats what it cannot commit.
 */

import type { Clock } from '../../foundation/runtime/clock.ts'
import type { Claim, Claims } from '../../storage/store/claims.ts'

/** Work that is created for each start. */
export interface Job {
  /** Resolves when the work that was due is complete. */
  start(): Promise<void>
  /** Also called if the start has failed, so that nothing of what it began continues. */
  stop(): Promise<void> | void
}

export interface ClaimedJobOptions {
  readonly claims: Claims
  /** Names the job; all nodes use the same name. */
  readonly name: string
  /** Incarnation of this node. */
  readonly holder: string
  readonly clock: Pick<Clock, 'after'>
  /** Creates the job for each start. */
  readonly create: () => Job
  /** The claim could not be made, renewed or released, or the job failed to start or stop. All are repeated but a stop. */
  readonly onFailed: (cause: unknown) => void
  readonly ttlMs?: number
}

export interface ClaimedJob {
  /** Resolves when the job runs here, or is known to run elsewhere. */
  start(): Promise<void>
  /** Stops the job if it runs here, and releases the claim, so that another node has it at once. Never rejects. */
  stop(): Promise<void>
}

const TTL_MS = 15_000
/** Parts of the time to live: between attempts and between renewals, and between the local end of a claim and its end in the store. */
const ATTEMPTS_PER_TTL = 3
const MARGIN_PER_TTL = 8

export function createClaimedJob(options: ClaimedJobOptions): ClaimedJob {
  const loop = new ClaimLoop(options)
  let work: Promise<void> | null = null
  return {
    start() {
      work ??= loop.run()
      return loop.settled
    },
    async stop() {
      loop.stop()
      await work
    },
  }
}

class ClaimLoop {
  readonly #options: ClaimedJobOptions
  readonly #ttlMs: number
  readonly #pauseMs: number
  readonly #first = Promise.withResolvers<void>()
  #isStopped = false
  /** Ends the pause or the hold of a claim that is in progress. */
  #interrupt = (): void => {}

  constructor(options: ClaimedJobOptions) {
    this.#options = options
    this.#ttlMs = options.ttlMs ?? TTL_MS
    this.#pauseMs = this.#ttlMs / ATTEMPTS_PER_TTL
  }

  /** Resolves after the first attempt. */
  get settled(): Promise<void> {
    return this.#first.promise
  }

  async run(): Promise<void> {
    while (!this.#isStopped) {
      await this.#attempt()
      this.#first.resolve()
      if (!this.#isStopped) await this.#pause()
    }
    this.#first.resolve()
  }

  stop(): void {
    this.#isStopped = true
    this.#interrupt()
  }

  /** Claims the job and, if it succeeds, does it until the claim ends. */
  async #attempt(): Promise<void> {
    const { claims, name, holder } = this.#options
    const hold = this.#openHold()
    const claim = await this.#tolerate(() => claims.claim(name, holder, this.#ttlMs))
    if (claim === null) return hold.cancel()
    if (!this.#isStopped) {
      hold.renew(claim)
      await this.#do(hold.ended)
    }
    hold.cancel()
    await this.#tolerate(() => claims.release(claim))
  }

  /** Does the job until `ended`. A job that fails to start is stopped, because a part of it may run already. */
  async #do(ended: Promise<void>): Promise<void> {
    const { create } = this.#options
    const job = await this.#tolerate(async () => create())
    if (job === null) return
    const isStarted = await this.#tolerate(async () => {
      await job.start()
      return true
    })
    this.#first.resolve()
    if (isStarted !== null) await ended
    await this.#tolerate(async () => job.stop())
  }

  /** The time for which this node may do the job, from before the claim is sent. */
  #openHold() {
    const { clock, claims } = this.#options
    const { promise: ended, resolve } = Promise.withResolvers<void>()
    const localMs = this.#ttlMs - this.#ttlMs / MARGIN_PER_TTL
    let cancelEnd = clock.after(localMs, resolve)
    let cancelRenewal = (): void => {}
    let isOver = false
    this.#interrupt = resolve

    const renew = async (claim: Claim): Promise<void> => {
      const cancelNewEnd = clock.after(localMs, resolve)
      const isRenewed = await this.#tolerate(() => claims.renew(claim, this.#ttlMs))
      if (isOver || isRenewed !== true) cancelNewEnd()
      if (isOver) return
      // Without an answer, the earlier end stays, and the renewal is repeated.
      if (isRenewed === false) return resolve()
      if (isRenewed === true) {
        cancelEnd()
        cancelEnd = cancelNewEnd
      }
      renewLater(claim)
    }
    const renewLater = (claim: Claim): void => {
      cancelRenewal = clock.after(this.#pauseMs, () => void renew(claim))
    }
    return {
      ended,
      renew: renewLater,
      cancel() {
        isOver = true
        cancelEnd()
        cancelRenewal()
      },
    }
  }

  #pause(): Promise<void> {
    return new Promise((resolve) => {
      const cancel = this.#options.clock.after(this.#pauseMs, resolve)
      this.#interrupt = () => {
        cancel()
        resolve()
      }
    })
  }

  /** Returns null if the work fails. */
  async #tolerate<Result>(work: () => Promise<Result>): Promise<Result | null> {
    try {
      return await work()
    } catch (cause) {
      this.#options.onFailed(cause)
      return null
    }
  }
}
