/**
 * Schedules deliveries, bounded in total and per receiver, so that a slow or dead receiver does not delay the others.
 *
 * A receiver counts as proven while its last response was a success. An unproven receiver has one connection; all
 * unproven receivers together have a share of the total, and those of one tenant a part of that share. Receivers with
 * deliveries that are due take turns.
 */

import type { Clock } from '../runtime/clock.ts'

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
  forget(receiver: string): void
  /** Returns the number of queued deliveries, of one receiver or of all. */
  sizeOf(receiver?: string): number
  /** The number of receivers in memory. */
  readonly receivers: number
  /** Starts no more deliveries; resolves when those in progress have ended. */
  stop(): Promise<void>
}

export interface DeliveryQueueOptions {
  readonly clock: Pick<Clock, 'nowMs' | 'after'>
  /** Never rejects. Returns whether the receiver accepted the delivery; null if it was not sent. */
  readonly send: (id: string) => Promise<boolean | null>
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
  isProven: boolean
}

export const BOUNDS: QueueBounds = { all: 256, unproven: 128, unprovenOfTenant: 32, ofReceiver: 4 }

/** Not split: its functions are small and share the state at the top of the closure. */
export function createDeliveryQueue({ clock, send, bounds = BOUNDS }: DeliveryQueueOptions): DeliveryQueue {
  const receivers = new Map<string, Receiver>()
  /** Receivers with deliveries that are due, in the order in which they are served. */
  const rotation = new Set<string>()
  const inProgress = new Set<Promise<void>>()
  let unproven = 0
  const unprovenOf = new Map<string, number>()
  let isStopped = false

  function receiverOf(name: string, tenant: string): Receiver {
    let receiver = receivers.get(name)
    if (receiver === undefined) {
      receiver = { tenant, ready: new Set(), later: new Map(), sending: new Map(), isProven: false }
      receivers.set(name, receiver)
    }
    return receiver
  }

  function serve(): void {
    for (let isMore = true; isMore && !isStopped;) {
      isMore = false
      for (const name of [...rotation]) {
        if (inProgress.size >= bounds.all) return
        const receiver = receivers.get(name)
        const [id] = receiver?.ready ?? []
        if (receiver === undefined || id === undefined) rotation.delete(name)
        else if (hasRoom(receiver)) {
          isMore = true
          receiver.ready.delete(id)
          // Moves the receiver to the end.
          rotation.delete(name)
          if (receiver.ready.size > 0) rotation.add(name)
          begin(name, receiver, id)
        }
      }
    }
  }

  function hasRoom({ isProven, tenant, sending: { size: own } }: Receiver): boolean {
    if (isProven) return own < bounds.ofReceiver
    return own === 0 && unproven < bounds.unproven && (unprovenOf.get(tenant) ?? 0) < bounds.unprovenOfTenant
  }

  function countUnproven(tenant: string, change: 1 | -1): void {
    unproven += change
    const left = (unprovenOf.get(tenant) ?? 0) + change
    if (left === 0) unprovenOf.delete(tenant)
    else unprovenOf.set(tenant, left)
  }

  function begin(name: string, receiver: Receiver, id: string): void {
    const wasProven = receiver.isProven
    receiver.sending.set(id, false)
    if (!wasProven) countUnproven(receiver.tenant, 1)
    const work = send(id).then((isGood) => {
      const isDueAgain = receiver.sending.get(id) === true && !receiver.later.has(id)
      receiver.sending.delete(id)
      if (!wasProven) countUnproven(receiver.tenant, -1)
      if (isGood !== null) receiver.isProven = isGood
      inProgress.delete(work)
      if (isDueAgain) enqueue(name, receiver, id)
      else if (isIdle(receiver)) receivers.delete(name)
      serve()
    })
    inProgress.add(work)
  }

  function delay(name: string, receiver: Receiver, id: string, delayMs: number): void {
    receiver.ready.delete(id)
    const cancel = clock.after(delayMs, () => {
      receiver.later.delete(id)
      enqueue(name, receiver, id)
    })
    receiver.later.set(id, cancel)
  }

  function enqueue(name: string, receiver: Receiver, id: string): void {
    receiver.ready.add(id)
    rotation.add(name)
    serve()
  }

  return {
    add({ id, receiver: name, tenant, atMs }) {
      if (isStopped) return
      const receiver = receiverOf(name, tenant)
      receiver.later.get(id)?.()
      receiver.later.delete(id)
      const delayMs = atMs - clock.nowMs()
      if (delayMs <= 0 && receiver.sending.has(id)) receiver.sending.set(id, true)
      else if (delayMs <= 0) enqueue(name, receiver, id)
      else delay(name, receiver, id, delayMs)
    },
    drop(name) {
      const receiver = receivers.get(name)
      if (receiver === undefined) return
      for (const cancel of receiver.later.values()) cancel()
      receiver.later.clear()
      receiver.ready.clear()
      rotation.delete(name)
      if (isIdle(receiver)) receivers.delete(name)
    },
    forget(name) {
      const receiver = receivers.get(name)
      if (receiver === undefined) return
      receiver.isProven = false
      if (isIdle(receiver)) receivers.delete(name)
    },
    get receivers() {
      return receivers.size
    },
    sizeOf(name) {
      const all = name === undefined ? [...receivers.values()] : [receivers.get(name)]
      return all.reduce((sum, each) => sum + (each === undefined ? 0 : each.ready.size + each.later.size), 0)
    },
    async stop() {
      isStopped = true
      for (const name of receivers.keys()) this.drop(name)
      await Promise.all(inProgress)
    },
  }
}

/** Returns whether a receiver is in the state of a new one, so that it can be evicted. */
function isIdle({ ready, later, sending, isProven }: Receiver): boolean {
  return ready.size === 0 && later.size === 0 && sending.size === 0 && !isProven
}
