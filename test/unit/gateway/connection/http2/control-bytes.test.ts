import { describe, expect, it } from 'vitest'
import { ControlBytes, type Traffic } from '../../../../../src/gateway/connection/http2/control-bytes.ts'

const NONE: Traffic = { receivedBytes: 0, sentBytes: 0, bodyBytes: 0, streams: 0 }

describe('ControlBytes', () => {
  it.each([
    ['a megabyte of other frames', { receivedBytes: 1_048_576 }, false],
    ['more than a megabyte', { receivedBytes: 1_048_577 }, true],
    ['many requests with large heads', { receivedBytes: 33_000_000, streams: 1_000 }, false],
    ['many bodies that are refused', { receivedBytes: 80_000_000, streams: 1_000 }, false],
    ['a body in tiny frames', { receivedBytes: 11_000_000, bodyBytes: 1_000_000 }, false],
    ['a download whose client acknowledges often', { receivedBytes: 3_000_000, sentBytes: 10_000_000 }, false],
    ['a download whose client acknowledges each byte', { receivedBytes: 30_000_000, sentBytes: 10_000_000 }, true],
  ])('is right about %s', (_, traffic, isExceeded) => {
    expect(new ControlBytes().isExceededBy({ ...NONE, ...traffic })).toBe(isExceeded)
  })

  it('counts from one scan to the next', () => {
    const control = new ControlBytes()
    const received = [1_000_000, 2_000_000, 2_500_000, 4_000_000]
    const isExceeded = received.map((receivedBytes) => control.isExceededBy({ ...NONE, receivedBytes }))
    expect(isExceeded).toEqual([false, false, false, true])
  })
})
