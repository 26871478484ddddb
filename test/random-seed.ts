/**
 * The seed of random tests. It is fixed, so that a failure of `npm test` is a defect of the change.
 *
 * The long runs (`npm run fuzz` and the like) set `SEED=random`: all files of the run use one new seed, printed as it begins. `SEED=7`
 * repeats a run.
 */

import { randomInt } from 'node:crypto'

/** Global setup: replaces `random` before workers inherit the environment. */
export default function chooseSeed(): void {
  if (process.env['SEED'] !== 'random') return
  process.env['SEED'] = String(randomInt(1_000_000_000))
  console.log(`SEED=${process.env['SEED']} repeats this run`)
}

/** Returns `SEED` of the environment, else the fixed seed of the test file. */
export function readSeed(fixed: number): number {
  const seed = Number(process.env['SEED'] ?? fixed)
  if (!Number.isSafeInteger(seed) || seed < 0)
    throw new Error(`SEED must be a number or random, not ${process.env['SEED']}`)
  return seed
}
