import { describe, expect, it } from 'vitest'
import { ServerClock } from '../../../../src/boundary/leases/server-clock.ts'

function createClock(): ServerClock {
  const clock = new ServerClock(250, 250)
  clock.reset({ sentMs: 1_000, receivedMs: 1_010, serverMs: 5_005 })
  return clock
}

describe('The bounds of the grantor’s clock', () => {
  it('contain its time, whenever in the exchange it was read', () => {
    const clock = createClock()
    expect(clock.earliestMs(1_010)).toBe(5_005)
    expect(clock.latestMs(1_010)).toBe(5_016)
  })

  it('narrow with every exchange, and widen with time', () => {
    const clock = createClock()
    expect(clock.accept({ sentMs: 2_000, receivedMs: 2_002, serverMs: 6_001 })).toBe(true)
    expect(clock.latestMs(2_002) - clock.earliestMs(2_002)).toBeLessThan(5)
    expect(clock.latestMs(12_002) - clock.earliestMs(12_002)).toBeGreaterThan(20)
  })

  it.each([1_000, -1_000])('do not accept a clock that was set by %i ms', (stepMs) => {
    const clock = createClock()
    expect(clock.accept({ sentMs: 2_000, receivedMs: 2_010, serverMs: 6_005 + stepMs })).toBe(false)
    expect(clock.accept({ sentMs: 2_000, receivedMs: 2_010, serverMs: 6_005 })).toBe(true)
  })

  it('follow a small step, and measure anew', () => {
    const clock = createClock()
    expect(clock.accept({ sentMs: 2_000, receivedMs: 2_010, serverMs: 6_105 })).toBe(true)
    expect(clock.earliestMs(2_010)).toBe(6_105)
  })
})
