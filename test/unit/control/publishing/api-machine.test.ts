import { describe, expect, it } from 'vitest'
import { apiLifecycle, type ApiEvent, type ApiState } from '../../../../src/control/publishing/api-machine.ts'
import { begin, step, type PersistedActor } from '../../../../src/control/command/persisted-machine.ts'

type Verb = ApiEvent['type']
const EVENTS: Readonly<Record<Verb, ApiEvent>> = {
  activated: { type: 'activated' },
  deprecated: { type: 'deprecated' },
  retired: { type: 'retired', activeSubscriptions: 0, isForced: false },
}

/** The events that lead to each state, and its transitions; it refuses all other events. */
const STATES: Readonly<Record<ApiState, { by: readonly Verb[]; to: Readonly<Partial<Record<Verb, ApiState>>> }>> = {
  Prospect: { by: [], to: { activated: 'Active' } },
  Active: { by: ['activated'], to: { deprecated: 'Deprecated' } },
  Deprecated: { by: ['activated', 'deprecated'], to: { retired: 'Retired' } },
  Retired: { by: ['activated', 'deprecated', 'retired'], to: {} },
}

function reach(verbs: readonly Verb[]): PersistedActor {
  return verbs.reduce<PersistedActor>(
    (from, verb) => {
      const result = step(apiLifecycle, JSON.parse(JSON.stringify(from)), EVENTS[verb])
      if ('refused' in result) throw new Error(`${verb} was refused in ${result.refused.state}`)
      return result.next
    },
    begin(apiLifecycle, undefined),
  )
}

describe.each(Object.entries(STATES))('an API that is %s', (state, { by, to }) => {
  it('is reached by its events, with every snapshot stored as JSON', () => expect(reach(by).value).toBe(state))

  it.each(Object.keys(EVENTS) as Verb[])('handles the event %s as the diagram shows', (verb) => {
    const result = step(apiLifecycle, reach(by), EVENTS[verb])
    const next = to[verb]
    if (next !== undefined) return expect(result).toMatchObject({ next: { value: next } })
    expect(result).toEqual({ refused: { state, allowed: Object.keys(to) } })
  })
})

describe('retiring', () => {
  it.each([
    [1, false, 'refused'],
    [1, true, 'next'],
    [0, false, 'next'],
  ])('with %d active subscriptions and force %s is %s', (activeSubscriptions, isForced, outcome) => {
    const event = { type: 'retired', activeSubscriptions, isForced } as const
    expect(step(apiLifecycle, reach(['activated', 'deprecated']), event)).toHaveProperty(outcome)
  })
})
