/**
 * The seats of all callers of one thread.
 *
 * A seat is found by the caller object, which lives as long as its token is cached: no table of our
 * own can outgrow the token cache. The place of its counters is asked for once, from the main thread.
 */

import type { Caller } from '../../plan/caller.ts'
import type { HostLink } from '../messages/main-thread-link.ts'
import type { Limiter } from '../limits/limiter.ts'
import type { CompiledRevision } from './revision.ts'
import { createSeat, variantFor, type Seat } from './caller-context.ts'

export interface SeatsOptions {
  readonly host: Pick<HostLink, 'ask'>
  readonly limiter: Pick<Limiter, 'open'>
}

export interface Seats {
  /** A promise only where the counters of the subscription are not known here yet. */
  of(caller: Caller, revision: CompiledRevision): Seat | Promise<Seat>
  /** Forgets all seats at one API: their declaration or the places of their counters have changed. */
  release(api: string): void
}

export function createSeats({ host, limiter }: SeatsOptions): Seats {
  const seats = new WeakMap<Caller, Seat>()
  const generations = new Map<string, number>()
  const seatGenerations = new WeakMap<Seat, number>()

  async function take(caller: Caller, revision: CompiledRevision): Promise<Seat> {
    const { api } = revision.plan
    const generation = generations.get(api) ?? 0
    const { subscription } = caller.grant
    const variant = variantFor(caller.grant, revision)
    const block = await host.ask('block', { subscription, api, variant })
    if ((generations.get(api) ?? 0) !== generation) return take(caller, revision)
    // Without counters there are no limits, and a caller without limits is not what was declared.
    if (block === null) throw new Error(`there are no counters for ${subscription} at ${api}`)
    return keep(createSeat(caller, revision, limiter.open(block)), generation)
  }

  function keep(seat: Seat, generation: number): Seat {
    seats.set(seat.caller, seat)
    seatGenerations.set(seat, generation)
    return seat
  }

  return {
    of(caller, revision) {
      const seat = seats.get(caller)
      const generation = generations.get(revision.plan.api) ?? 0
      if (seat !== undefined && seat.grant === caller.grant && seatGenerations.get(seat) === generation) {
        if (seat.revision === revision) return seat
        if (isCountedAlike(seat, revision)) return keep(createSeat(caller, revision, seat.block), generation)
      }
      if (!revision.slas.has(variantFor(caller.grant, revision)))
        return keep(createSeat(caller, revision, null), generation)
      return take(caller, revision)
    },
    release(api) {
      generations.set(api, (generations.get(api) ?? 0) + 1)
    },
  }
}

/** Whether the counters of a seat are those of its caller at `revision` as well. */
function isCountedAlike({ caller, revision: before }: Seat, revision: CompiledRevision): boolean {
  if (before.plan.api !== revision.plan.api) return false
  const variant = variantFor(caller.grant, revision)
  return variantFor(caller.grant, before) === variant && before.slas.has(variant) === revision.slas.has(variant)
}
