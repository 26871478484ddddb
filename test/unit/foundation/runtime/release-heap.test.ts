import { runInNewContext } from 'node:vm'
import { describe, expect, it } from 'vitest'
import { releaseHeap } from '../../../../src/foundation/runtime/release-heap.ts'

describe('releaseHeap', () => {
  it('leaves a heap alone that is larger than its limit', () => {
    expect(releaseHeap(1_000)).toBe(false)
  })

  it('does not leave the function that collects garbage to contexts that are created later', () => {
    releaseHeap()
    expect(runInNewContext('typeof gc')).toBe('undefined')
    expect('gc' in globalThis).toBe(false)
  })
})
