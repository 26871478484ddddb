import { describe, expect, it } from 'vitest'
import { EventWindow } from '../../../../../src/gateway/connection/http2/event-window.ts'

describe('EventWindow', () => {
  it('is exceeded by one event more than the maximum within its length', () => {
    const window = new EventWindow(2, 1_000)
    expect([0, 500, 999].map((at) => window.add(at))).toEqual([false, false, true])
  })

  it('starts again with the first event after its length', () => {
    const window = new EventWindow(1, 1_000)
    expect([0, 1_000, 1_999, 2_000].map((at) => window.add(at))).toEqual([false, false, true, false])
  })
})
