/**
 * Histogram buckets for latencies: sixteen per power of two, so that a percentile is exact to a sixteenth of its value, and
 * the counts of two measurements can be added.
 */

/** Upper bound, 268 seconds: longer latencies are in the last bucket. */
const LATENCY_US_MAX = 2 ** 28 - 1
const PER_OCTAVE = 16
export const BUCKETS = 25 * PER_OCTAVE

/** Returns the bucket of a latency in whole microseconds. */
export function bucketOf(us: number): number {
  if (us < PER_OCTAVE) return us
  const bounded = us < LATENCY_US_MAX ? us : LATENCY_US_MAX
  const exponent = 31 - Math.clz32(bounded)
  return (exponent - 3) * PER_OCTAVE + ((bounded >>> (exponent - 4)) & (PER_OCTAVE - 1))
}

/** Returns the longest latency of a bucket, in microseconds. */
export function longestIn(bucket: number): number {
  if (bucket < PER_OCTAVE) return bucket
  const shift = Math.floor(bucket / PER_OCTAVE) - 1
  return 2 ** shift * (PER_OCTAVE + (bucket % PER_OCTAVE) + 1) - 1
}

/** Returns the percentile in microseconds; null if nothing was counted. */
export function percentileOf(counts: ReadonlyMap<number, number>, percent: number): number | null {
  const buckets = [...counts].filter(([, count]) => count > 0).sort(([a], [b]) => a - b)
  const total = buckets.reduce((sum, [, count]) => sum + count, 0)
  const rank = Math.max(1, Math.ceil((total * percent) / 100 - 1e-9))
  let seen = 0
  for (const [bucket, count] of buckets) {
    seen += count
    if (seen >= rank) return longestIn(bucket)
  }
  return null
}
