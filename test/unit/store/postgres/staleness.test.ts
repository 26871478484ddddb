import { describe, expect, it } from 'vitest'
import { createStaleness } from '../../../../src/store/postgres/staleness.ts'

/** A node whose system clock shows `ago` milliseconds less while it sends. */
function open() {
  let nowMs = 1_000_000
  const staleness = createStaleness({ nowMs: () => nowMs })
  const report = (end: number): void => staleness.reported(staleness.now(), end)
  return { staleness, report, forward: (ms: number) => void (nowMs += ms) }
}

describe('the staleness of a node', () => {
  it('is infinite until a report finds nothing that the node does not serve', () => {
    const { staleness, report } = open()
    expect(staleness.staleMs()).toBe(Infinity)
    report(5)
    expect(staleness.staleMs()).toBe(Infinity)
    staleness.serve(4)
    expect(staleness.staleMs()).toBe(Infinity)
    staleness.serve(5)
    expect(staleness.staleMs()).toBeLessThan(60_000)
  })

  it('counts from the sending of the report, not from its answer', () => {
    const { staleness, forward } = open()
    staleness.serve(5)
    const sentAt = staleness.now()
    forward(60_000)
    staleness.reported(sentAt, 5)
    expect(staleness.staleMs()).toBeGreaterThanOrEqual(60_000)
  })

  it('grows although the node reports, while it makes no progress', () => {
    const { staleness, report, forward } = open()
    staleness.serve(5)
    report(5)
    for (let number = 0; number < 300; number++) {
      forward(1_000)
      report(6)
    }
    expect(staleness.staleMs()).toBeGreaterThanOrEqual(300_000)
    staleness.serve(6)
    expect(staleness.staleMs()).toBeLessThan(300_000)
    report(6)
    expect(staleness.staleMs()).toBeLessThan(60_000)
  })

  it('does not grow while the node always lags behind by one change', () => {
    const { staleness, report, forward } = open()
    for (let end = 1; end < 100; end++) {
      report(end)
      staleness.serve(end - 1)
      forward(1_000)
    }
    expect(staleness.staleMs()).toBeLessThan(10_000)
  })

  it('does not shrink by a system clock that goes back', () => {
    const { staleness, report, forward } = open()
    staleness.serve(5)
    report(5)
    forward(-60_000)
    expect(staleness.staleMs()).toBeGreaterThanOrEqual(0)
  })
})
