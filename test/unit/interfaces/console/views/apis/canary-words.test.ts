import { describe, expect, it } from 'vitest'
import { canaryText, effectOf, toRule } from '../../../../../../src/interfaces/console/views/apis/canary-words.ts'

const CHANGE = { revision: 3, active: 2, names: [] }
const SINCE = '2026-01-01T00:00:00Z'

describe('A canary in words', () => {
  it('says which share of the subscriptions it serves, or how many consumers', () => {
    expect(canaryText({ revision: 3, percent: 7, since: SINCE })).toContain('serves 7 % of the subscriptions')
    expect(canaryText({ revision: 3, consumers: ['con_1'], since: SINCE })).toContain('serves 1 consumer as')
    expect(canaryText({ revision: 3, consumers: ['con_1', 'con_2'], since: SINCE })).toContain('serves 2 consumers as')
  })

  it.each([1, 50, 99])('will serve a share of %i percent', (percent) => {
    const text = effectOf({ ...CHANGE, rule: { percent } })
    expect(text).toContain(`Revision 3 will serve ${percent} % of the subscriptions, and revision 2 the others`)
  })

  it.each([0, 100, -1, 1.5, Number.NaN, 1e9])('has no effect for a share of %d percent', (percent) => {
    expect(effectOf({ ...CHANGE, rule: { percent } })).toBeNull()
  })

  it('names the consumers that it will serve, and counts those beyond the first five', () => {
    const effect = (...names: string[]) => effectOf({ ...CHANGE, rule: { consumers: names }, names })
    expect(effect()).toBeNull()
    expect(effect('Shop')).toContain('will serve the calls of Shop, and revision 2 those of all others')
    expect(effect('Shop', 'Desk')).toContain('the calls of Shop and Desk,')
    expect(effect(...'abcdef')).toContain('the calls of a, b, c, d, e, and 1 other consumer,')
    expect(effect(...'abcdefg')).toContain('and 2 other consumers,')
  })

  it('is asked for with either a share or consumers', () => {
    expect(toRule({ percent: 5 })).toEqual({ percent: 5 })
    expect(toRule({ consumers: ['con_1'] })).toEqual({ consumers: ['con_1'] })
  })
})
