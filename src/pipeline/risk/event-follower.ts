/**
 * Follows the risk events of all nodes, in the order of their positions, and publishes each of them once.
 *
 * A hint makes it quick; a poll finds what a hint missed.
 */

import type { RiskEvent } from '../../foundation/domain/risk.ts'
import type { Clock } from '../../foundation/runtime/clock.ts'
import type { RiskEventFeed } from '../../storage/store/shared-risks.ts'

export interface EventFollowerOptions {
  readonly feed: Pick<RiskEventFeed, 'read'>
  readonly clock: Pick<Clock, 'every'>
  readonly publish: (events: readonly RiskEvent[]) => void
  /**
   * Events after this id were removed before they could be read, or the store was restored without them. `fromId` is the first one that
   * is published next, or the last one that is not. If it rejects, it is repeated.
   */
  readonly onGap: (afterId: string, fromId: string) => Promise<void>
  /** Events could not be read; that is repeated. */
  readonly onFailed: (cause: unknown) => void
}

export interface EventFollower {
  /** Id of the last event before this process follows; '' if there is none. */
  readonly fromId: string
  start(): void
  /** Reads what is there; returns whether it could. Never rejects. */
  poll(): Promise<boolean>
  stop(): Promise<void>
}

const PAGE = 1_000
const POLL_EVERY_MS = 1_000

/** Rejects if the end of the feed cannot be read. */
export async function openEventFollower(options: EventFollowerOptions): Promise<EventFollower> {
  const { end, lastId } = await options.feed.read(Number.MAX_SAFE_INTEGER, 0)
  return new Follower(options, { end, lastId })
}

/** Follows from the end that the feed has once it can be read; subscribe only afterwards. */
export function openLateEventFollower(options: EventFollowerOptions): EventFollower {
  return new Follower(options, null)
}

class Follower implements EventFollower {
  readonly fromId: string
  readonly #options: EventFollowerOptions
  #position: number
  #lastId: string
  /** False: the end of the feed has not been read yet. */
  #isBegun: boolean
  #isAskedAgain = false
  #isStopped = false
  #reading: Promise<boolean> | null = null
  #stopPolling = (): void => {}

  constructor(options: EventFollowerOptions, begin: { readonly end: number; readonly lastId: string } | null) {
    this.#options = options
    this.#isBegun = begin !== null
    this.#position = begin?.end ?? 0
    this.#lastId = begin?.lastId ?? ''
    this.fromId = this.#lastId
  }

  start(): void {
    this.#stopPolling = this.#options.clock.every(POLL_EVERY_MS, () => void this.poll())
    void this.poll()
  }

  poll(): Promise<boolean> {
    if (this.#isStopped) return Promise.resolve(false)
    this.#isAskedAgain = true
    return (this.#reading ??= this.#readAll())
  }

  async stop(): Promise<void> {
    this.#isStopped = true
    this.#stopPolling()
    await this.#reading
  }

  async #readAll(): Promise<boolean> {
    try {
      while (this.#isAskedAgain && !this.#isStopped) {
        this.#isAskedAgain = false
        if (!this.#isBegun) await this.#begin()
        while (await this.#readPage());
      }
      return true
    } catch (cause) {
      this.#options.onFailed(cause)
      return false
    } finally {
      // In the same turn as the last look, so that no call of `poll` is missed.
      this.#reading = null
    }
  }

  async #begin(): Promise<void> {
    const { feed, onGap } = this.#options
    const { end, lastId } = await feed.read(Number.MAX_SAFE_INTEGER, 0)
    await onGap(lastId, lastId)
    this.#position = end
    this.#lastId = lastId
    this.#isBegun = true
  }

  /** Returns whether more may follow. */
  async #readPage(): Promise<boolean> {
    const { feed, publish, onGap } = this.#options
    const { events, end, lastId } = await feed.read(this.#position, PAGE)
    const first = events[0]?.position ?? end + 1
    if (end < this.#position || first > this.#position + 1) {
      await onGap(this.#lastId, events[0]?.event.id ?? lastId)
      this.#position = end < this.#position ? end : first - 1
      if (end < this.#position || events.length === 0) this.#lastId = lastId
    }
    if (events.length > 0) {
      publish(events.map(({ event }) => event))
      const last = events[events.length - 1]!
      this.#position = last.position
      this.#lastId = last.event.id
    }
    return events.length === PAGE
  }
}
