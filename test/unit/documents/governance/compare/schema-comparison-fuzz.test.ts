/**
 * Compares the verdict on random pairs of schemas with what the gateway's validators accept.
 *
 * `PAIRS` and `SEED` (of the first chain) make long runs; `TRIES` is the number of values for each pair, `CONFIRM_TRIES` for one
 * reported as breaking. `SOURCE` is `random`, `real` (edits of real schemas), or `both`.
 */

import { expect, it } from 'vitest'
import { readSeed } from '../../../../random-seed.ts'
import { EDITS, judgeChain, type Kind, type Verdict } from './fuzz-chains.ts'

const PAIRS = Number(process.env['PAIRS'] ?? 400)
const SEED = readSeed(1)
const TRIES = Number(process.env['TRIES'] ?? 150)
/** Values for a pair that is reported as breaking: a report that none of them confirms counts as a false alarm. */
const CONFIRM_TRIES = Number(process.env['CONFIRM_TRIES'] ?? TRIES)
const SOURCE = process.env['SOURCE'] ?? 'both'
const REAL_EVERY = 8

interface Totals {
  readonly counts: Record<Kind, number>
  confirmed: number
  /** Reports without a value, by chain, edit, direction and rules. */
  readonly alarms: string[]
}

const isReal = (seed: number): boolean => SOURCE === 'real' || (SOURCE === 'both' && seed % REAL_EVERY === 0)

function countChain(seed: number, { counts, alarms }: Totals, totals: Totals): number {
  let pairs = 0
  for (const verdict of judgeChain(seed, { isReal: isReal(seed), tries: TRIES, confirmTries: CONFIRM_TRIES })) {
    const { kind, witness, changes } = verdict
    pairs++
    counts[kind]++
    if ((kind === 'same' || kind === 'tolerated') && witness !== null) fail(seed, verdict)
    if (kind !== 'breaking') continue
    if (witness !== null) totals.confirmed++
    else alarms.push(`${seed} ${verdict.edit} ${[...new Set(changes.map(({ id }) => id))].join(' ')}`)
  }
  return pairs
}

function fail(seed: number, { edit, direction, witness }: Verdict): never {
  const value = JSON.stringify(witness?.value)
  expect.fail(`seed ${seed} (${SOURCE}), edit ${edit}, ${direction}: no change was reported for the value ${value}`)
}

it(
  `The comparison of ${PAIRS} random pairs of schemas reports every value that was accepted and is refused`,
  { timeout: 60_000 + PAIRS * 1_000 },
  () => {
    const toTotals = (): Totals => ({
      counts: { same: 0, breaking: 0, undecided: 0, tolerated: 0 },
      confirmed: 0,
      alarms: [],
    })
    const totals = { random: toTotals(), real: toTotals() }
    let pairs = 0
    for (let seed = SEED; pairs < PAIRS; seed++) {
      const own = totals[isReal(seed) ? 'real' : 'random']
      pairs += countChain(seed, own, own)
    }
    if (process.env['PAIRS'] !== undefined) console.log(JSON.stringify({ pairs, seed: SEED, edits: EDITS, ...totals }))
    // Each verdict occurs often enough to mean something.
    const { counts, confirmed } = SOURCE === 'real' ? totals.real : totals.random
    expect(Math.min(counts.same, confirmed)).toBeGreaterThan(PAIRS / 20)
  },
)
