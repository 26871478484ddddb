import { describe, expect, it } from 'vitest'
import {
  ATTEMPTS_MAX,
  webhookDelivery,
  type DeliveryEvent,
  type DeliveryState,
} from '../../../../src/control/webhooks/delivery-machine.ts'
import { begin, step, type PersistedActor } from '../../../../src/control/command/persisted-machine.ts'

type Verb = DeliveryEvent['type']
const VERBS: readonly Verb[] = ['succeeded', 'failed', 'abandoned', 'redelivered']
const STATES: Readonly<Record<DeliveryState, { by: readonly Verb[]; to: Partial<Record<Verb, DeliveryState>> }>> = {
  pending: { by: [], to: { abandoned: 'failed', failed: 'pending', succeeded: 'delivered' } },
  delivered: { by: ['succeeded'], to: { redelivered: 'pending' } },
  failed: { by: ['abandoned'], to: { redelivered: 'pending' } },
}

function after(verbs: readonly Verb[]): PersistedActor {
  return verbs.reduce<PersistedActor>(
    (from, type) => {
      const result = step(webhookDelivery, JSON.parse(JSON.stringify(from)), { type })
      if ('refused' in result) throw new Error(`${type} was refused in ${result.refused.state}`)
      return result.next
    },
    begin(webhookDelivery, undefined),
  )
}

describe.each(Object.entries(STATES))('a delivery that is %s', (state, { by, to }) => {
  it('is reached, also by a snapshot restored from JSON', () => expect(after(by).value).toBe(state))

  it.each(VERBS)('handles %s as the diagram shows', (type) => {
    const result = step(webhookDelivery, after(by), { type })
    const next = to[type]
    if (next !== undefined) return expect(result).toMatchObject({ next: { value: next } })
    expect(result).toEqual({ refused: { state, allowed: Object.keys(to) } })
  })
})

it('a delivery fails finally with its tenth attempt, and starts over when it is redelivered', () => {
  const failures: Verb[] = Array(ATTEMPTS_MAX - 1).fill('failed')
  expect(after(failures)).toMatchObject({ value: 'pending', context: { tries: 9 } })
  expect(after([...failures, 'failed'])).toMatchObject({ value: 'failed', context: { tries: 10 } })
  expect(after([...failures, 'failed', 'redelivered'])).toMatchObject({ value: 'pending', context: { tries: 0 } })
})
