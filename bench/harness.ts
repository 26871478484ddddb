/**
 * Measures one thing per process, and says on what machine.
 *
 * Plain Node runs it, not the test runner: a transformed import is read through a getter, and a
 * nanosecond loop would measure that. One JSON line per run; two commits are compared by alternating
 * their runs and taking the median of each.
 */

import { cpus } from 'node:os'

export interface Trial {
  readonly name: string
  /** How many operations one call of `run` makes. */
  readonly operations: number
  /** Returns something that depends on the work, so that the work cannot be optimised away. */
  readonly run: () => unknown
}

const WARM_UP_MS = 500
const SAMPLES = 60

export function measure({ name, operations, run }: Trial): void {
  for (const endMs = performance.now() + WARM_UP_MS; performance.now() < endMs;) keep(run())

  const nsPerOperation = Array.from({ length: SAMPLES }, () => {
    const start = process.hrtime.bigint()
    keep(run())
    return Number(process.hrtime.bigint() - start) / operations
  }).sort((a, b) => a - b)

  const at = (share: number) => Number((nsPerOperation[Math.floor(share * (SAMPLES - 1))] ?? NaN).toFixed(1))
  console.log(
    JSON.stringify({
      name,
      nsMedian: at(0.5),
      nsP10: at(0.1),
      nsP90: at(0.9),
      node: process.version,
      cpu: cpus()[0]?.model,
    }),
  )
}

let kept: unknown
function keep(value: unknown): void {
  kept = value
}
process.on('exit', () => kept)
