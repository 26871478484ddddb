import { describe, expect, it } from 'vitest'
import {
  CONCURRENT_MAX,
  createFetchBudget,
  PER_HOST_MAX,
  PER_MINUTE_MAX,
} from '../../../../../src/control/identity/clients/fetch-budget.ts'

/** Takes and ends requests; returns how many were allowed. */
function allowed(budget: ReturnType<typeof createFetchBudget>, hosts: readonly string[]): number {
  return hosts.filter((host) => {
    const end = budget.take(host)
    end?.()
    return end !== null
  }).length
}

describe('the budget of fetches', () => {
  it('is bounded per host and in total, and starts anew each minute', () => {
    let nowMs = 1_000_000
    const budget = createFetchBudget(() => nowMs)
    const [one, many] = [Array<string>(100).fill('app.example'), Array.from({ length: 100 }, (_, n) => `h${n}.example`)]
    expect(allowed(budget, one)).toBe(PER_HOST_MAX)
    expect(allowed(budget, many)).toBe(PER_MINUTE_MAX - PER_HOST_MAX)
    nowMs += 60_000
    expect(allowed(budget, one)).toBe(PER_HOST_MAX)
  })

  it('is bounded at the same time', () => {
    let nowMs = 0
    const budget = createFetchBudget(() => nowMs)
    const ends = Array.from({ length: 20 }, (_, n) => budget.take(`h${n}.example`)).filter((end) => end !== null)
    expect(ends).toHaveLength(CONCURRENT_MAX)
    nowMs += 60_000
    expect(budget.take('another.example')).toBeNull()
    ends[0]?.()
    expect(budget.take('another.example')).not.toBeNull()
  })
})
