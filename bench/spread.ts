/** The middle of some samples and how far they lie apart. */

export interface Spread {
  readonly median: number
  readonly min: number
  readonly max: number
}

export function spreadOf(samples: readonly number[]): Spread {
  const sorted = samples.toSorted((a, b) => a - b)
  return { median: percentile(sorted, 50), min: sorted[0] ?? NaN, max: sorted.at(-1) ?? NaN }
}

/** Of ascending samples, the one that `percent` of them do not exceed. */
export function percentile(sorted: readonly number[], percent: number): number {
  return sorted[Math.max(0, Math.ceil((percent / 100) * sorted.length) - 1)] ?? NaN
}

export function toText({ median, min, max }: Spread, digits: number): string {
  return `${median.toFixed(digits)}  (${min.toFixed(digits)} – ${max.toFixed(digits)})`
}
