/**
 * Schedules deliveries, bounded in total and per receiver, so that a slow or dead receiver does not delay the others.
 *
 * A receiver counts as proven while its last response was a success. An unproven receiver has one connection; all
 * unproven receivers together have a share of the total, and those of one tenant a part of that share. Receivers with
 * deliveries that are due are served in rotation.
 *
 * A delivery whose attempt fails internally, for example because the registry cannot be read, stays in the queue and is attempted again
 * with back-off.
 */

import { exponentialDelayMs } from '../../foundation/runtime/backoff.ts'
import type { Clock } from '../../foundation/runtime/clock.ts'

export interface QueuedDelivery {
  readonly id: string
  /** Id of the event subscription. */
  readonly receiver: string
  readonly tenant: string
  readonly atMs: number
}

export interface DeliveryQueue {
  /** Adds a delivery, or moves one that is queued to the new time. */
  add(delivery: QueuedDelivery): void
  /** Removes the queued deliveries of a receiver. */
  drop(receiver: string): void
  /** Treats a receiver as unproven, and evicts it as soon as it has no deliveries. */
  evict(receiver: string): void
  /** Returns the number of queued deliveries, of one receiver or of all. */
  sizeOf(receiver?: string): number
  /** The number of receivers in memory. */
  readonly receivers: number
  /** Starts no more deliveries; resolves when those in progress have ended. */
  stop(): Promise<void>
}

export interface DeliveryQueueOptions {
  readonly clock: Pick<Clock, 'nowMs' | 'after'>
  /** Returns whether the receiver accepted the delivery; null if there is nothing to send. Rejects if it is to be attempted again. */
  readonly send: (id: string) => Promise<boolean | null>
  /** An attempt has rejected. */
  readonly onFailed: (cause: unknown, id: string) => void
  readonly bounds?: QueueBounds
}

export interface QueueBounds {
  readonly all: number
  readonly unproven: number
  readonly unprovenOfTenant: number
  readonly ofReceiver: number
}

interface Receiver {
  readonly tenant: string
  readonly ready: Set<string>
  /** Cancels the timer of a delivery, by id. */
  readonly later: Map<string, () => void>
  /** In progress, by id; true if the delivery became due again meanwhile. */
  readonly sending: Map<string, boolean>
  /** Number of consecutive attempts that failed internally, by id. */
  readonly failures: Map<string, number>
  isProven: boolean
}

export const BOUNDS: QueueBounds = { all: 256, unproven: 128, unprovenOfTenant: 32, ofReceiver: 4 }

/** Between attempts that fail internally. */
const RETRY = { firstMs: 30_000, maxMs: 600_000 }

export function createDeliveryQueue(options: DeliveryQueueOptions): DeliveryQueue {
  return new FairDeliveryQueue(options)
}

class FairDeliveryQueue implements DeliveryQueue {
  readonly #clock: DeliveryQueueOptions['clock']
  readonly #send: DeliveryQueueOptions['send']
  readonly #onFailed: DeliveryQueueOptions['onFailed']
  readonly #bounds: QueueBounds
  readonly #receivers = new Map<string, Receiver>()
  /** Receivers with deliveries that are due, in the order in which they are served. */
  readonly #rotation = new Set<string>()
  readonly #inProgress = new Set<Promise<void>>()
  #unproven = 0
  readonly #unprovenOf = new Map<string, number>()
  #isStopped = false

  constructor({ clock, send, onFailed, bounds = BOUNDS }: DeliveryQueueOptions) {
    this.#clock = clock
    this.#send = send
    this.#onFailed = onFailed
    this.#bounds = bounds
  }

  get receivers(): number {
    return this.#receivers.size
  }

  add({ id, receiver: name, tenant, atMs }: QueuedDelivery): void {
    if (this.#isStopped) return
    const receiver = this.#receiverOf(name, tenant)
    receiver.later.get(id)?.()
    receiver.later.delete(id)
    const delayMs = atMs - this.#clock.nowMs()
    if (delayMs <= 0 && receiver.sending.has(id)) receiver.sending.set(id, true)
    else if (delayMs <= 0) this.#enqueue(name, receiver, id)
    else this.#delay(name, receiver, id, delayMs)
  }

  drop(name: string): void {
    const receiver = this.#receivers.get(name)
    if (receiver === undefined) return
    for (const cancel of receiver.later.values()) cancel()
    receiver.later.clear()
    receiver.ready.clear()
    receiver.failures.clear()
    this.#rotation.delete(name)
    if (isIdle(receiver)) this.#receivers.delete(name)
  }

  evict(name: string): void {
    const receiver = this.#receivers.get(name)
    if (receiver === undefined) return
    receiver.isProven = false
    if (isIdle(receiver)) this.#receivers.delete(name)
  }

  sizeOf(name?: string): number {
    const all = name === undefined ? [...this.#receivers.values()] : [this.#receivers.get(name)]
    return all.reduce((sum, each) => sum + (each === undefined ? 0 : each.ready.size + each.later.size), 0)
  }

  async stop(): Promise<void> {
    this.#isStopped = true
    for (const name of this.#receivers.keys()) this.drop(name)
    await Promise.all(this.#inProgress)
  }

  #receiverOf(name: string, tenant: string): Receiver {
    let receiver = this.#receivers.get(name)
    if (receiver === undefined) {
      const none = { ready: new Set<string>(), later: new Map(), sending: new Map(), failures: new Map() }
      receiver = { ...none, tenant, isProven: false }
      this.#receivers.set(name, receiver)
    }
    return receiver
  }

  #delay(name: string, receiver: Receiver, id: string, delayMs: number): void {
    receiver.ready.delete(id)
    const cancel = this.#clock.after(delayMs, () => {
      receiver.later.delete(id)
      this.#enqueue(name, receiver, id)
    })
    receiver.later.set(id, cancel)
  }

  #enqueue(name: string, receiver: Receiver, id: string): void {
    receiver.ready.add(id)
    this.#rotation.add(name)
    this.#serve()
  }

  /** Starts deliveries, one per receiver and round, until none may start. */
  #serve(): void {
    for (let isMore = true; isMore && !this.#isStopped;) {
      isMore = false
      for (const name of [...this.#rotation]) {
        if (this.#inProgress.size >= this.#bounds.all) return
        const receiver = this.#receivers.get(name)
        const [id] = receiver?.ready ?? []
        if (receiver === undefined || id === undefined) this.#rotation.delete(name)
        else if (this.#hasRoom(receiver)) {
          isMore = true
          receiver.ready.delete(id)
          // Moves the receiver to the end.
          this.#rotation.delete(name)
          if (receiver.ready.size > 0) this.#rotation.add(name)
          this.#begin(name, receiver, id)
        }
      }
    }
  }

  #hasRoom({ isProven, tenant, sending: { size: own } }: Receiver): boolean {
    const { ofReceiver, unproven, unprovenOfTenant } = this.#bounds
    if (isProven) return own < ofReceiver
    return own === 0 && this.#unproven < unproven && (this.#unprovenOf.get(tenant) ?? 0) < unprovenOfTenant
  }

  #begin(name: string, receiver: Receiver, id: string): void {
    const wasProven = receiver.isProven
    receiver.sending.set(id, false)
    if (!wasProven) this.#countUnproven(receiver.tenant, 1)
    const work = this.#attempt(name, receiver, id).then(() => {
      const isDueAgain = receiver.sending.get(id) === true && !receiver.later.has(id)
      receiver.sending.delete(id)
      if (!wasProven) this.#countUnproven(receiver.tenant, -1)
      this.#inProgress.delete(work)
      if (isDueAgain) this.#enqueue(name, receiver, id)
      else if (isIdle(receiver)) this.#receivers.delete(name)
      this.#serve()
    })
    this.#inProgress.add(work)
  }

  async #attempt(name: string, receiver: Receiver, id: string): Promise<void> {
    try {
      const isGood = await this.#send(id)
      receiver.failures.delete(id)
      if (isGood !== null) receiver.isProven = isGood
    } catch (cause) {
      this.#onFailed(cause, id)
      const failures = (receiver.failures.get(id) ?? 0) + 1
      receiver.failures.set(id, failures)
      if (this.#isStopped || receiver.later.has(id)) return
      this.#delay(name, receiver, id, exponentialDelayMs(failures, RETRY))
    }
  }

  #countUnproven(tenant: string, change: 1 | -1): void {
    this.#unproven += change
    const left = (this.#unprovenOf.get(tenant) ?? 0) + change
    if (left === 0) this.#unprovenOf.delete(tenant)
    else this.#unprovenOf.set(tenant, left)
  }
}

/** Returns whether a receiver is in the state of a new one, so that it can be evicted. */
function isIdle({ ready, later, sending, isProven }: Receiver): boolean {
  return ready.size === 0 && later.size === 0 && sending.size === 0 && !isProven
}
