import { describe, expect, it } from 'vitest'
import { CircuitBreaker } from '../../../src/store/circuit-breaker.ts'

describe('CircuitBreaker', () => {
  it('opens after failures in a row, and lets one request through after each pause', () => {
    const breaker = new CircuitBreaker({ failuresMax: 2, pauseMs: 100 })
    breaker.failed(0)
    expect(breaker.allows(1)).toBe(true)
    breaker.failed(1)
    expect(breaker.isOpen).toBe(true)
    expect(breaker.allows(100)).toBe(false)
    expect(breaker.allows(101)).toBe(true)
    expect(breaker.allows(102)).toBe(false)
  })

  it('closes after a success, and counts failures anew', () => {
    const breaker = new CircuitBreaker({ failuresMax: 2, pauseMs: 100 })
    breaker.failed(0)
    breaker.succeeded()
    breaker.failed(1)
    expect(breaker.allows(2)).toBe(true)
  })
})
