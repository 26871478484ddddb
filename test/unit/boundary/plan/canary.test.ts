import { describe, expect, it } from 'vitest'
import { canaryScope, createCanaryMatch } from '../../../../src/boundary/plan/canary.ts'
import { createIdFactory } from '../../../../src/foundation/runtime/ids.ts'

const API = 'orders-v1'
const toSubscriber = (subscription: string) => ({ subscription, consumer: `con_of_${subscription}` })

/** Ids as they are made, and ids that differ in one digit only. */
const createId = createIdFactory(() => 1_800_000_000_000)
const IDS = {
  made: Array.from({ length: 20_000 }, () => createId('sub')),
  numbered: Array.from({ length: 20_000 }, (_, index) => `sub_${index}`),
}

const chosen = (ids: readonly string[], percent: number, api = API): readonly string[] => {
  const matches = createCanaryMatch(api, { percent })
  return ids.filter((id) => matches(toSubscriber(id)))
}

describe.each(Object.entries(IDS))('a share of subscriptions with %s ids', (_, ids) => {
  it.each([1, 10, 50, 99])('of %i percent is about that share', (percent) => {
    const expected = (ids.length * percent) / 100
    // Six standard deviations.
    const deviation = 6 * Math.sqrt(expected * (1 - percent / 100))
    expect(Math.abs(chosen(ids, percent).length - expected)).toBeLessThan(deviation)
  })

  it('only grows: each percent more keeps those that were chosen', () => {
    let before = new Set<string>()
    for (let percent = 1; percent <= 99; percent++) {
      const now = new Set(chosen(ids, percent))
      expect(before.isSubsetOf(now)).toBe(true)
      before = now
    }
  })

  it('is the same for every revision of an API, and another one at another API', () => {
    const here = new Set(chosen(ids, 50))
    expect(chosen(ids, 50)).toEqual([...here])
    const both = chosen(ids, 50, 'parcels-v1').filter((id) => here.has(id))
    expect(Math.abs(both.length - ids.length / 4)).toBeLessThan(6 * Math.sqrt((ids.length * 3) / 16))
  })
})

describe('a choice of consumers', () => {
  it('serves all their subscriptions, and no others', () => {
    const matches = createCanaryMatch(API, { consumers: ['con_1', 'con_3'] })
    const answers = ['con_1', 'con_2', 'con_3', '', 'constructor', '__proto__'].map((consumer) =>
      matches({ consumer, subscription: 'sub_1' }),
    )
    expect(answers).toEqual([true, false, true, false, false, false])
  })
})

it('The scope of a canary is the name of no API', () => {
  expect(canaryScope(API)).toBe('orders-v1 canary')
})
