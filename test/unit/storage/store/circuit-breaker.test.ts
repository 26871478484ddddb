import { describe, expect, it } from 'vitest'
import { CircuitBreaker } from '../../../../src/storage/store/circuit-breaker.ts'

function open() {
  const time = { nowMs: 0 }
  const breaker = new CircuitBreaker({ failuresMax: 2, pauseMs: 100, monotonicMs: () => time.nowMs })
  return { time, breaker }
}

describe('CircuitBreaker', () => {
  it('opens after failures in a row, and lets one request through after each pause', () => {
    const { time, breaker } = open()
    breaker.failed()
    time.nowMs = 1
    expect(breaker.allows()).toBe(true)
    breaker.failed()
    expect(breaker.isOpen).toBe(true)
    time.nowMs = 100
    expect(breaker.allows()).toBe(false)
    time.nowMs = 101
    expect(breaker.allows()).toBe(true)
    time.nowMs = 102
    expect(breaker.allows()).toBe(false)
  })

  it('closes after a success, and counts failures anew', () => {
    const { breaker } = open()
    breaker.failed()
    breaker.succeeded()
    breaker.failed()
    expect(breaker.allows()).toBe(true)
  })
})
