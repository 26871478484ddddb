import { describe, expect, it } from 'vitest'
import { createStaleness } from '../../../../../src/storage/store/postgres/staleness.ts'

/** A node whose clocks a test moves: both, or only the system clock. */
function open() {
  let monotonicMs = 1_000
  let systemMs = 1_000_000
  const fresh: number[] = []
  const staleness = createStaleness({
    read: () => ({ monotonicMs, systemMs }),
    onFresh: ({ monotonicMs: sentAtMs }) => fresh.push(sentAtMs),
  })
  const report = (end: number): void => staleness.reported(staleness.now(), end)
  const forward = (ms: number, isSuspended = false): void => {
    systemMs += ms
    if (!isSuspended) monotonicMs += ms
  }
  return { staleness, report, fresh, forward }
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

  it('is that of the clock that says more, be the machine suspended or its clock set back', () => {
    const { staleness, report, forward } = open()
    staleness.serve(5)
    report(5)
    forward(60_000, true)
    expect(staleness.staleMs()).toBe(60_000)
    forward(5_000)
    forward(-3_600_000, true)
    expect(staleness.staleMs()).toBe(5_000)
  })

  it('is told as the moment of sending, once per report that found the node up to date, and never an earlier one', () => {
    const { staleness, report, fresh, forward } = open()
    const late = staleness.now()
    report(5)
    forward(1_000)
    report(5)
    expect(fresh).toEqual([])
    staleness.serve(5)
    expect(fresh).toEqual([2_000])
    staleness.reported(late, 5)
    forward(1_000)
    report(5)
    expect(fresh).toEqual([2_000, 3_000])
  })
})
