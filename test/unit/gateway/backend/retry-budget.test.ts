import { describe, expect, it } from 'vitest'
import { RetryBudget } from '../../../../src/gateway/backend/retry-budget.ts'
import { createRandom } from '../../../random.ts'

const NOW_MS = 1_700_000_000_000
/** Repetitions within ten seconds without any call. */
const RESERVE = 100

function open() {
  const budget = new RetryBudget()
  let nowMs = NOW_MS
  return {
    pass: (ms: number) => void (nowMs += ms),
    call(count = 1): void {
      for (let done = 0; done < count; done++) budget.deposit(nowMs)
    },
    retry: (): boolean => budget.withdraw(nowMs),
    /** Takes all that is left. */
    spend(): number {
      let spent = 0
      while (spent < 100_000 && budget.withdraw(nowMs)) spent++
      return spent
    },
  }
}

describe('a budget of retries', () => {
  it('allows a constant number without any call, which is there again ten seconds later', () => {
    const { spend, pass } = open()
    expect([spend(), spend()]).toEqual([RESERVE, 0])
    pass(9_000)
    expect(spend()).toBe(0)
    pass(1_000)
    expect(spend()).toBe(RESERVE)
  })

  it('allows one more for five calls', () => {
    const { spend, call } = open()
    call(1_000)
    expect(spend()).toBe(RESERVE + 200)
    call(4)
    expect(spend()).toBe(0)
    call(1)
    expect(spend()).toBe(1)
  })

  it('forgets calls after ten seconds', () => {
    const { spend, call, pass } = open()
    call(500)
    pass(5_000)
    call(50)
    pass(4_900)
    expect(spend()).toBe(RESERVE + 110)
    const later = open()
    later.call(500)
    later.pass(5_000)
    later.call(50)
    later.pass(5_000)
    expect(later.spend()).toBe(RESERVE + 10)
  })

  it('is only the constant part after a long silence, and after a clock that jumps', () => {
    for (const jumpMs of [3_600_000, 10_000, -1_000, -3_600_000]) {
      const { spend, call, pass } = open()
      call(10_000)
      pass(jumpMs)
      expect(spend(), String(jumpMs)).toBe(RESERVE)
    }
  })

  it('never allows one that exceeds a fifth of the calls of ten seconds and the constant part', () => {
    for (let seed = 0; seed < 30; seed++) {
      const { below } = createRandom(seed)
      const { call, retry, pass } = open()
      const seconds: { calls: number; retries: number }[] = []
      for (let second = 0; second < 60; second++) {
        const calls = below(4) === 0 ? below(300) : below(10)
        call(calls)
        const wanted = below(3) === 0 ? calls * 2 : below(30)
        const retries = Array.from({ length: wanted }, retry).filter(Boolean).length
        seconds.push({ calls, retries })
        pass(1_000)
        if (retries === 0) continue
        const recent = seconds.slice(-10)
        const called = recent.reduce((sum, entry) => sum + entry.calls, 0)
        const repeated = recent.reduce((sum, entry) => sum + entry.retries, 0)
        expect(repeated, `seed ${seed}, second ${second}`).toBeLessThanOrEqual(RESERVE + called / 5)
      }
    }
  })
})
