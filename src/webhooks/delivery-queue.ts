/**
 * Which delivery goes out next: bounded in all and for each receiver, so that one that is slow or dead
 * holds up no other.
 *
 * A receiver has to prove itself: until its last answer was a good one it has a single connection, and all of
 * that sort together have a share of the whole, of which one tenant's have a part. The others are served in turn.
 */

import type { Clock } from '../runtime/clock.ts'

export interface QueuedDelivery {
  readonly id: string
  /** Id of the registration. */
  readonly receiver: string
  readonly tenant: string
  readonly atMs: number
}

export interface DeliveryQueue {
  /** An id that waits already waits for the new time. */
  add(delivery: QueuedDelivery): void
  /** Forgets what waits for a receiver. */
  drop(receiver: string): void
  /** It is gone: nothing is remembered of it once what waits has had its turn. */
  forget(receiver: string): void
  /** Deliveries that wait, of one receiver or of all. */
  sizeOf(receiver?: string): number
  /** Receivers of which something is remembered. */
  readonly receivers: number
  /** Nothing more is begun; resolves when what is under way has ended. */
  stop(): Promise<void>
}

export interface DeliveryQueueOptions {
  readonly clock: Pick<Clock, 'nowMs' | 'after'>
  /** Never rejects. Whether the receiver answered well; null where it was not asked. */
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
  /** How to cancel, by id. */
  readonly later: Map<string, () => void>
  /** Being sent; true: it became due once more meanwhile. */
  readonly sending: Map<string, boolean>
  isProven: boolean
}

export const BOUNDS: QueueBounds = { all: 256, unproven: 128, unprovenOfTenant: 32, ofReceiver: 4 }

export function createDeliveryQueue({ clock, send, bounds = BOUNDS }: DeliveryQueueOptions): DeliveryQueue {
  const receivers = new Map<string, Receiver>()
  /** Those that have something ready, in the order in which they are served. */
  const line = new Set<string>()
  const underWay = new Set<Promise<void>>()
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
      for (const name of [...line]) {
        if (underWay.size >= bounds.all) return
        const receiver = receivers.get(name)
        const [id] = receiver?.ready ?? []
        if (receiver === undefined || id === undefined) line.delete(name)
        else if (hasRoom(receiver)) {
          isMore = true
          receiver.ready.delete(id)
          // To the end of the line.
          line.delete(name)
          if (receiver.ready.size > 0) line.add(name)
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
      underWay.delete(work)
      if (isDueAgain) enter(name, receiver, id)
      else if (isIdle(receiver)) receivers.delete(name)
      serve()
    })
    underWay.add(work)
  }

  function wait(name: string, receiver: Receiver, id: string, delayMs: number): void {
    receiver.ready.delete(id)
    const cancel = clock.after(delayMs, () => {
      receiver.later.delete(id)
      enter(name, receiver, id)
    })
    receiver.later.set(id, cancel)
  }

  function enter(name: string, receiver: Receiver, id: string): void {
    receiver.ready.add(id)
    line.add(name)
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
      else if (delayMs <= 0) enter(name, receiver, id)
      else wait(name, receiver, id, delayMs)
    },
    drop(name) {
      const receiver = receivers.get(name)
      if (receiver === undefined) return
      for (const cancel of receiver.later.values()) cancel()
      receiver.later.clear()
      receiver.ready.clear()
      line.delete(name)
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
      await Promise.all(underWay)
    },
  }
}

/** What is remembered of it is no more than what is assumed of one that is new. */
function isIdle({ ready, later, sending, isProven }: Receiver): boolean {
  return ready.size === 0 && later.size === 0 && sending.size === 0 && !isProven
}
