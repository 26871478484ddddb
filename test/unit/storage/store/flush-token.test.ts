import { describe, expect, it } from 'vitest'
import { flushToken, riskToken } from '../../../../src/storage/store/flush-token.ts'
import type { RiskEvent } from '../../../../src/foundation/domain/risk.ts'

const from = { 'gateway-0': { segment: 1, offset: 10 }, platform: { segment: 3, offset: 30 } }
const to = { platform: { segment: 3, offset: 40 }, 'gateway-0': { segment: 2, offset: 20 } }
const flush = { number: 7, from, to, tokens: 'range' as const }

describe('the token of a flush', () => {
  it('is the same for the same range, in any order of its sources', () => {
    const turned = { ...flush, to: { 'gateway-0': to['gateway-0'], platform: to.platform } }
    expect(flushToken('usage', 'here', turned)).toBe(flushToken('usage', 'here', flush))
  })

  it('differs for another range with the same number', () => {
    const tokens = [
      flush,
      { ...flush, to: { ...to, platform: { segment: 3, offset: 41 } } },
      { ...flush, from: { ...from, platform: { segment: 2, offset: 30 } } },
      { ...flush, number: 8 },
    ].map((each) => flushToken('usage', 'here', each))
    expect(new Set(tokens).size).toBe(tokens.length)
  })

  it('contains only the number for a flush that an earlier version began', () => {
    expect(flushToken('usage', 'here', { number: 7, from, to })).toBe('usage-here-7')
  })
})

describe('the token of a batch of risk events', () => {
  const events = ['evt_1', 'evt_2'].map((id) => ({ id })) as unknown as RiskEvent[]

  it('depends on its events, so that a reused number drops no other events', () => {
    const token = (batch: readonly RiskEvent[]) => riskToken('here', { number: 1, events: batch, isNumbered: false })
    expect(token(events)).toBe(token([...events]))
    expect(token(events)).not.toBe(token(events.slice(1)))
  })

  it('contains only the number for a batch that an earlier version claimed', () => {
    expect(riskToken('here', { number: 1, events, isNumbered: true })).toBe('risk-here-1')
  })
})
