import { describe, expect, it } from 'vitest'
import { begin, step, type PersistedActor } from '../../../../../src/control/command/persisted-machine.ts'
import {
  subscription,
  type SubscriptionEvent,
  type SubscriptionState,
} from '../../../../../src/control/subscriptions/document/subscription-machine.ts'

type Verb = SubscriptionEvent['type']

/** The events that lead to each state, and its transitions; it refuses all other events. */
const STATES: Readonly<
  Record<SubscriptionState, { by: readonly Verb[]; to: Readonly<Partial<Record<Verb, SubscriptionState>>> }>
> = {
  Pending: {
    by: [],
    to: {
      approved: 'Active',
      rejected: 'Rejected',
      'capacity.short': 'WaitlistedForCapacity',
      cancelled: 'Cancelled',
    },
  },
  WaitlistedForCapacity: { by: ['capacity.short'], to: { 'capacity.freed': 'Active', cancelled: 'Cancelled' } },
  Active: { by: ['approved'], to: { suspended: 'Suspended', cancelled: 'Cancelled' } },
  Suspended: { by: ['approved', 'suspended'], to: { resumed: 'Active', cancelled: 'Cancelled' } },
  Rejected: { by: ['rejected'], to: {} },
  Cancelled: { by: ['approved', 'cancelled'], to: {} },
}
const VERBS: readonly Verb[] = [
  'approved',
  'rejected',
  'capacity.short',
  'capacity.freed',
  'suspended',
  'resumed',
  'cancelled',
]

function reach(verbs: readonly Verb[]): PersistedActor {
  return verbs.reduce<PersistedActor>(
    (from, type) => {
      const result = step(subscription, JSON.parse(JSON.stringify(from)), { type })
      if ('refused' in result) throw new Error(`${type} was refused in ${result.refused.state}`)
      return result.next
    },
    begin(subscription, undefined),
  )
}

describe.each(Object.entries(STATES))('a subscription that is %s', (state, { by, to }) => {
  it('is reached by its events', () => {
    expect(reach(by).value).toBe(state)
  })

  it.each(VERBS)('handles the event %s as the diagram shows', (type) => {
    const result = step(subscription, reach(by), { type })
    const next = to[type]
    if (next === undefined) expect(result).toEqual({ refused: { state, allowed: Object.keys(to).sort() } })
    else expect(result).toMatchObject({ next: { value: next } })
  })

  it('is unchanged by a round trip through JSON', () => {
    const actor = reach(by)
    expect(JSON.parse(JSON.stringify(actor))).toEqual(actor)
  })
})
