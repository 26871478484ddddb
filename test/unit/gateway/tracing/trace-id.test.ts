import { describe, expect, it } from 'vitest'
import { createTraceIds, isWithinRatio } from '../../../../src/gateway/tracing/trace-id.ts'

const PREFIX = '0123456789abcdef'
const newTraceId = createTraceIds(PREFIX, Buffer.from('4f1d6b8a99c3e207', 'hex'))
const ids = Array.from({ length: 20_000 }, (_, sequence) => newTraceId(sequence + 1))

describe('An id of a trace', () => {
  it('begins with the prefix of the request ids, has 32 hex digits, and is that of one call only', () => {
    expect(ids.filter((id) => !/^0123456789abcdef[0-9a-f]{16}$/.test(id))).toEqual([])
    expect(new Set(ids).size).toBe(ids.length)
    expect(newTraceId(2 ** 32 - 1)).toMatch(/^[0-9a-f]{32}$/)
  })
})

describe('A ratio', () => {
  it.each([0.01, 0.1, 0.5, 0.9])('of %d samples about that share of calls in sequence', (ratio) => {
    const share = ids.filter((id) => isWithinRatio(id, ratio)).length / ids.length
    expect(Math.abs(share - ratio)).toBeLessThan(0.02)
  })

  it('of 0 samples none, of 1 all', () => {
    expect(ids.some((id) => isWithinRatio(id, 0))).toBe(false)
    expect(ids.every((id) => isWithinRatio(id, 1))).toBe(true)
  })

  it('samples every call that a smaller one samples', () => {
    const sampled = ids.filter((id) => isWithinRatio(id, 0.2))
    expect(sampled.every((id) => isWithinRatio(id, 0.3))).toBe(true)
  })

  it('compares the last 56 bits, as other services do', () => {
    expect(isWithinRatio(`${'f'.repeat(18)}${'0'.repeat(14)}`, 0.99)).toBe(false)
    expect(isWithinRatio(`${'0'.repeat(18)}${'f'.repeat(14)}`, 0.01)).toBe(true)
  })
})
