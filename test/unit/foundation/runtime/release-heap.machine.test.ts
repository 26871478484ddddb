import { getHeapSpaceStatistics, getHeapStatistics } from 'node:v8'
import { describe, expect, it } from 'vitest'
import { releaseHeap } from '../../../../src/foundation/runtime/release-heap.ts'

describe('releaseHeap', () => {
  it('collects what is not referenced, and shrinks the space for new objects to less than 4 MB', () => {
    const garbage = (): WeakRef<object> => {
      const kept: object[] = []
      for (let count = 0; count < 300_000; count++) kept.push({ count, text: `value ${count}` })
      return new WeakRef({ kept })
    }
    garbage()
    const before = getHeapStatistics().total_physical_size
    expect(releaseHeap()).toBe(true)
    const newSpace = getHeapSpaceStatistics().find(({ space_name }) => space_name === 'new_space')!
    expect(newSpace.physical_space_size).toBeLessThan(4_000_000)
    expect(getHeapStatistics().total_physical_size).toBeLessThan(before)
  })
})
