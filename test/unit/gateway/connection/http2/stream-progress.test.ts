import { describe, expect, it } from 'vitest'
import { StreamProgress } from '../../../../../src/gateway/connection/http2/stream-progress.ts'

const MIN = 4_096

/** Returns the bytes that count in each of the windows of ten seconds. */
function windows(delivered: (second: number) => number, seconds: number): readonly number[] {
  const progress = new StreamProgress(0)
  const counted: number[] = []
  let before = progress.measure(delivered(0), 0, false, MIN, 1_000)
  for (let second = 1; second <= seconds; second++) {
    const now = progress.measure(delivered(second), 0, false, MIN, 1_000 + second * 1_000)
    if (second % 10 > 0) continue
    counted.push(now - before)
    before = now
  }
  return counted
}

describe('StreamProgress', () => {
  it('counts a reader that is just fast enough', () => {
    for (const bytes of windows((second) => second * MIN, 60)) expect(bytes).toBe(MIN * 10)
  })

  it('counts a reader that grants a large window seldom', () => {
    const counted = windows((second) => Math.floor(second / 60) * 300_000 + 300_000, 240)
    expect(counted.every((bytes) => bytes >= MIN * 10 - 1)).toBe(true)
  })

  it('does not count a reader that has stopped, two minutes after it got much', () => {
    const counted = windows((second) => (second === 0 ? 0 : 100_000_000), 200)
    expect(counted.slice(1, 11).every((bytes) => bytes >= MIN * 10)).toBe(true)
    expect(counted.slice(14)).toEqual(counted.slice(14).map(() => 0))
  })

  it('counts the other streams of a connection that is blocked, and only then', () => {
    const progress = new StreamProgress(1_000)
    progress.measure(0, 1_000, true, MIN, 1_000)
    expect(progress.measure(0, 5_000, true, MIN, 2_000)).toBe(4_000)
    expect(progress.measure(0, 9_000, false, MIN, 3_000)).toBe(4_000)
    expect(progress.measure(100, 9_000, false, MIN, 4_000)).toBe(4_100)
  })

  it('does not count a connection that is blocked and accepts nothing', () => {
    const progress = new StreamProgress(0)
    progress.measure(0, 0, true, MIN, 1_000)
    expect(progress.measure(0, 0, true, MIN, 60_000)).toBe(0)
  })
})
