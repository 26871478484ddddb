import { describe, expect, it } from 'vitest'
import {
  eventSubscription,
  GIVES_UP_AFTER_MS,
  type EventSubscriptionEvent,
  type EventSubscriptionState,
} from '../../../../src/control/webhooks/event-subscription-machine.ts'
import { begin, step, type PersistedActor } from '../../../../src/control/command/persisted-machine.ts'

const EVENTS: Readonly<Record<string, EventSubscriptionEvent>> = {
  delivered: { type: 'delivered' },
  failed: { type: 'failed', atMs: 1_000 },
  gone: { type: 'gone' },
  disabled: { type: 'disabled' },
  enabled: { type: 'enabled' },
}

const STATES: Readonly<
  Record<EventSubscriptionState, { by: readonly string[]; to: Readonly<Record<string, EventSubscriptionState>> }>
> = {
  active: {
    by: [],
    to: { delivered: 'active', failed: 'failing', gone: 'disabled', disabled: 'disabled', enabled: 'active' },
  },
  failing: {
    by: ['failed'],
    to: { delivered: 'active', failed: 'failing', gone: 'disabled', disabled: 'disabled', enabled: 'active' },
  },
  disabled: { by: ['gone'], to: { enabled: 'active', disabled: 'disabled' } },
}

function after(events: readonly EventSubscriptionEvent[]): PersistedActor {
  return events.reduce<PersistedActor>(
    (from, event) => {
      const result = step(eventSubscription, JSON.parse(JSON.stringify(from)), event)
      if ('refused' in result) throw new Error(`${event.type} was refused in ${result.refused.state}`)
      return result.next
    },
    begin(eventSubscription, undefined),
  )
}

describe.each(Object.entries(STATES))('an event subscription that is %s', (state, { by, to }) => {
  const reached = (): PersistedActor => after(by.map((name) => EVENTS[name]!))

  it('is reached, also by a snapshot restored from JSON', () => expect(reached().value).toBe(state))

  it.each(Object.keys(EVENTS))('handles %s as the diagram shows', (name) => {
    const result = step(eventSubscription, reached(), EVENTS[name]!)
    const next = to[name]
    if (next !== undefined) return expect(result).toMatchObject({ next: { value: next } })
    expect(result).toEqual({ refused: { state, allowed: Object.keys(to).sort() } })
  })
})

describe('a failing event subscription', () => {
  const failed = (atMs: number): EventSubscriptionEvent => ({ type: 'failed', atMs })

  it('is disabled after five days of failures', () => {
    expect(after([failed(0), failed(GIVES_UP_AFTER_MS - 1)]).value).toBe('failing')
    expect(after([failed(0), failed(GIVES_UP_AFTER_MS)]).value).toBe('disabled')
  })

  it('measures the time from the first failure after the last delivery', () => {
    const events = [failed(0), { type: 'delivered' } as const, failed(GIVES_UP_AFTER_MS), failed(GIVES_UP_AFTER_MS + 1)]
    expect(after(events)).toMatchObject({ value: 'failing', context: { failingSinceMs: GIVES_UP_AFTER_MS } })
  })

  it('ignores failures from before it was enabled', () => {
    expect(after([failed(0), { type: 'gone' }, { type: 'enabled' }])).toMatchObject({
      value: 'active',
      context: { failingSinceMs: null },
    })
  })
})
