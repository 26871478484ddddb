/**
 * Calls of one thread that wait for a lease.
 *
 * All calls that lack the same leases share a request to the main thread. A call that arrives while a request is under way waits for
 * the next one, which states what all that wait lack. Calls that lack others do not wait for them: a lease may be closed for seconds.
 */

import type { LeaseNeed } from './lease-book.ts'
import type { Lacking } from './limit-verdict.ts'

export interface LeaseWaits {
  /** Resolves when the leases were asked for; false if they cannot be had at the moment. */
  wait(lacking: readonly Lacking[]): Promise<boolean>
}

interface Round {
  /** By the id of the lease. */
  readonly needs: Map<number, { amount: number; least: number }>
  readonly done: Promise<boolean>
}

interface Waiting {
  /** The request under way; settles without a result. */
  running: Promise<unknown>
  next: Round | null
}

/** `refill` asks the main thread, and rejects if it does not answer. */
export function createLeaseWaits(refill: (need: LeaseNeed) => Promise<boolean>): LeaseWaits {
  /** By the ids of the leases. */
  const byLeases = new Map<string, Waiting>()

  function begin(leases: string, waiting: Waiting): Round {
    const before = waiting.running
    return { needs: new Map(), done: before.then(() => send(leases, waiting)) }
  }

  async function send(leases: string, waiting: Waiting): Promise<boolean> {
    const { needs } = waiting.next!
    waiting.next = null
    const request = refill([...needs].map(([id, { amount, least }]) => [id, amount, least] as const)).catch(() => false)
    waiting.running = request
    const isReached = await request
    if (waiting.next === null && waiting.running === request) byLeases.delete(leases)
    return isReached
  }

  return {
    wait(lacking) {
      const leases = lacking.map(([id]) => id).join()
      let waiting = byLeases.get(leases)
      if (waiting === undefined) byLeases.set(leases, (waiting = { running: Promise.resolve(), next: null }))
      const round = (waiting.next ??= begin(leases, waiting))
      for (const [id, amount] of lacking) {
        const need = round.needs.get(id)
        if (need === undefined) round.needs.set(id, { amount, least: amount })
        else {
          need.amount += amount
          need.least = Math.min(need.least, amount)
        }
      }
      return round.done
    },
  }
}
