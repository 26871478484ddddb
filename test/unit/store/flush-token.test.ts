import { describe, expect, it } from 'vitest'
import { flushToken, riskToken } from '../../../src/store/flush-token.ts'
import type { RiskEvent } from '../../../src/domain/risk.ts'

const from = { 'gateway-0': { segment: 1, offset: 10 }, platform: { segment: 3, offset: 30 } }
const to = { platform: { segment: 3, offset: 40 }, 'gateway-0': { segment: 2, offset: 20 } }
const flush = { number: 7, from, to, tokens: 'range' as const }

describe('the token of a flush', () => {
  it('is the same for the same range, in whatever order its sources are named', () => {
    const turned = { ...flush, to: { 'gateway-0': to['gateway-0'], platform: to.platform } }
    expect(flushToken('usage', 'here', turned)).toBe(flushToken('usage', 'here', flush))
  })

  it('is another one for another range under the same number', () => {
    const tokens = [
      flush,
      { ...flush, to: { ...to, platform: { segment: 3, offset: 41 } } },
      { ...flush, from: { ...from, platform: { segment: 2, offset: 30 } } },
      { ...flush, number: 8 },
    ].map((each) => flushToken('usage', 'here', each))
    expect(new Set(tokens).size).toBe(tokens.length)
  })

  it('is the number alone for a flush that an earlier version began', () => {
    expect(flushToken('usage', 'here', { number: 7, from, to })).toBe('usage-here-7')
  })
})

describe('the token of a batch of risk events', () => {
  const events = ['evt_1', 'evt_2'].map((id) => ({ id })) as unknown as RiskEvent[]

  it('names its events, so a number that is used again drops no others', () => {
    const token = (batch: readonly RiskEvent[]) => riskToken('here', { number: 1, events: batch, isNumbered: false })
    expect(token(events)).toBe(token([...events]))
    expect(token(events)).not.toBe(token(events.slice(1)))
  })

  it('is the number alone for a batch that an earlier version claimed', () => {
    expect(riskToken('here', { number: 1, events, isNumbered: true })).toBe('risk-here-1')
  })
})
