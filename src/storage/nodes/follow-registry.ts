/**
 * Applies on this node the changes that other nodes commit to the registry.
 *
 * Each change belongs to a lane: an API, a credential, a token. Lanes run beside each other, so that a revocation does not wait for a
 * revision that compiles; within a lane the latest change replaces those that wait, because handlers apply what the registry has now.
 * A change that fails is tried again, and the position of this node stays before it, unless the failure is contained: this node serves
 * nothing older then, so that commands need not wait. Changes of this node are applied again, which changes nothing and makes up for a
 * commit whose end this node did not learn.
 */

import { exponentialDelayMs } from '../../foundation/runtime/backoff.ts'
import type { Clock } from '../../foundation/runtime/clock.ts'
import type { Change, Registry } from '../store/registry.ts'

export interface Follow {
  /** Names what the change is about; two changes of one lane are applied in order. */
  readonly lane: (change: Change) => string
  /** Resolves when every gateway thread has what the registry has. */
  readonly apply: (change: Change) => Promise<void>
  /** Whether this node serves nothing older although `apply` has failed with this error. */
  readonly isContained?: (cause: unknown) => boolean
}

export interface FollowerOptions {
  readonly registry: Pick<Registry, 'watch'>
  /** By kind of document; changes of other kinds need no work. */
  readonly follows: ReadonlyMap<string, Follow>
  readonly clock: Pick<Clock, 'after'>
  /** A change could not be applied; it is tried again. If that is contained, this node serves nothing older. */
  readonly onFailed: (cause: unknown, change: Change, isContained: boolean) => void
  /** This node has reached a higher position. */
  readonly onReached?: (position: number) => void
}

export interface Follower {
  /** Everything up to this position is applied. */
  readonly position: number
  stop(): Promise<void>
}

interface Lane {
  /** Position of the earliest change that is not applied; infinite once its failure is contained. */
  since: number
  /** The change that is applied next; null: none has come since the current one began. */
  next: Change | null
  nextSince: number
  failures: number
  /** Cancels the retry that is scheduled; null: the lane is being applied. */
  cancelRetry: (() => void) | null
}

function createLane(since: number, failures = 0): Lane {
  return { since, next: null, nextSince: 0, failures, cancelRetry: null }
}

const RETRY = { firstMs: 200, maxMs: 10_000 }
/** Seldom, because each attempt may take as much work as the first. A later change is tried at once. */
const CONTAINED_RETRY = { firstMs: 5_000, maxMs: 600_000 }

/** Changes up to `position` are part of what this node has read at its start. */
export function followRegistry(options: FollowerOptions, position: number): Follower {
  return new RegistryFollower(options, position)
}

class RegistryFollower implements Follower {
  readonly #options: FollowerOptions
  readonly #lanes = new Map<string, Lane>()
  readonly #running = new Set<Promise<void>>()
  readonly #unwatch: () => void
  #seen: number
  #reached: number
  #isStopped = false

  constructor(options: FollowerOptions, position: number) {
    this.#options = options
    this.#seen = position
    this.#reached = position
    this.#unwatch = options.registry.watch(position, (change) => this.#receive(change))
  }

  get position(): number {
    return this.#reached
  }

  async stop(): Promise<void> {
    this.#isStopped = true
    this.#unwatch()
    for (const { cancelRetry } of this.#lanes.values()) cancelRetry?.()
    await Promise.allSettled(this.#running)
  }

  #receive(change: Change): void {
    this.#seen = change.position
    const follow = this.#options.follows.get(change.document.kind)
    if (follow !== undefined) this.#queue(follow, change)
    this.#report()
  }

  #queue(follow: Follow, change: Change): void {
    const name = follow.lane(change)
    const lane = this.#lanes.get(name)
    if (lane === undefined) {
      this.#lanes.set(name, createLane(change.position))
      this.#run(name, follow, change)
      return
    }
    if (lane.next === null) lane.nextSince = change.position
    lane.next = change
    if (lane.since === Infinity && lane.cancelRetry !== null) {
      lane.cancelRetry()
      this.#runNext(name, follow, lane)
    }
  }

  #run(name: string, follow: Follow, change: Change): void {
    const work = follow.apply(change).then(
      () => this.#done(name, follow),
      (cause: unknown) => this.#failed(name, follow, change, cause),
    )
    this.#running.add(work)
    void work.finally(() => this.#running.delete(work))
  }

  #done(name: string, follow: Follow): void {
    const lane = this.#lanes.get(name)
    if (lane?.next != null && !this.#isStopped) this.#runNext(name, follow, { ...lane, failures: 0 })
    else this.#lanes.delete(name)
    this.#report()
  }

  /** Applies what has come since. */
  #runNext(name: string, follow: Follow, { next, nextSince, failures }: Lane): void {
    this.#lanes.set(name, createLane(nextSince, failures))
    if (next !== null) this.#run(name, follow, next)
  }

  #failed(name: string, follow: Follow, change: Change, cause: unknown): void {
    const { clock, onFailed } = this.#options
    const lane = this.#lanes.get(name)
    if (lane === undefined || this.#isStopped) return
    const isContained = follow.isContained?.(cause) === true
    onFailed(cause, change, isContained)
    lane.failures++
    if (isContained) {
      if (lane.next !== null) return this.#runNext(name, follow, lane)
      lane.since = Infinity
    }
    const delayMs = exponentialDelayMs(lane.failures, isContained ? CONTAINED_RETRY : RETRY)
    lane.cancelRetry = clock.after(delayMs, () => {
      const latest = lane.next ?? change
      if (lane.next !== null) lane.since = Math.min(lane.since, lane.nextSince)
      lane.next = null
      lane.cancelRetry = null
      this.#run(name, follow, latest)
    })
    this.#report()
  }

  #report(): void {
    let reached = this.#seen
    for (const { since, next, nextSince } of this.#lanes.values()) {
      reached = Math.min(reached, since - 1, next === null ? Infinity : nextSince - 1)
    }
    if (reached > this.#reached) {
      this.#reached = reached
      this.#options.onReached?.(reached)
    }
  }
}
