import { describe, expect, it } from 'vitest'
import { BUCKETS, bucketOf, longestIn, percentileOf } from '../../../../src/foundation/domain/latency-buckets.ts'
import { createRandom } from '../../../random.ts'

describe('latency buckets', () => {
  it('contain latencies at most a sixteenth below their upper bound, without gap or overlap', () => {
    expect(longestIn(0)).toBe(0)
    for (let bucket = 0; bucket < BUCKETS - 1; bucket++) {
      const [longest, next] = [longestIn(bucket), longestIn(bucket) + 1]
      expect([bucketOf(longest), bucketOf(next)]).toEqual([bucket, bucket + 1])
      expect(longestIn(bucket + 1)).toBeLessThanOrEqual(next * (1 + 1 / 16))
    }
  })

  it('contain all longer latencies in the last one', () => {
    expect(bucketOf(2 ** 28 - 1)).toBe(BUCKETS - 1)
    expect(bucketOf(4_294_967_295)).toBe(BUCKETS - 1)
    expect(longestIn(BUCKETS - 1)).toBe(2 ** 28 - 1)
  })

  it('yield the percentiles of a sorted list, within a sixteenth', () => {
    const seed = 11
    const random = createRandom(seed)
    for (let round = 0; round < 200; round++) {
      const latencies = Array.from({ length: 1 + random.below(300) }, () => random.below(2 ** (1 + random.below(27))))
      const counts = new Map<number, number>()
      for (const us of latencies) counts.set(bucketOf(us), (counts.get(bucketOf(us)) ?? 0) + 1)
      const sorted = latencies.toSorted((a, b) => a - b)
      for (const percent of [1, 50, 95, 99, 99.9, 100]) {
        const exact = sorted[Math.max(1, Math.ceil((sorted.length * percent) / 100 - 1e-9)) - 1] ?? 0
        const found = percentileOf(counts, percent) ?? -1
        expect(found, `seed ${seed}, round ${round}, p${percent}`).toBeGreaterThanOrEqual(exact)
        expect(found, `seed ${seed}, round ${round}, p${percent}`).toBeLessThanOrEqual(exact * (1 + 1 / 16))
      }
    }
  })

  it('yield no percentile if nothing was counted', () => {
    expect(percentileOf(new Map([[3, 0]]), 50)).toBeNull()
  })
})
