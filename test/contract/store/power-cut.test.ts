/**
 * Power cuts on a simulated disk that loses and reorders unsynced writes of spool, checkpoint, registry and master key.
 *
 * `CUTS` is the number of power cuts (200 in the suite, 10,000 in `npm run power-cut`); `SEED` repeats the random choices.
 */

// @module-tag strace

import { describe, expect, it } from 'vitest'
import { readSeed } from '../../random-seed.ts'
import { runCampaign, type Tally } from '../../power-cut/campaign.ts'
import { runCampaigns } from '../../power-cut/campaigns.ts'

const CUTS = Number(process.env['CUTS'] ?? 200)
const SEED = readSeed(1)
const CUTS_PER_RECORDING = 250
const TIMEOUT_MS = 120_000 + CUTS * 300

describe('a power cut', () => {
  it(
    `loses only what SPOOL_SYNC allows, and reports each loss, over ${CUTS} cuts`,
    { timeout: TIMEOUT_MS },
    async () => {
      const recordings = Math.max(6, Math.ceil(CUTS / CUTS_PER_RECORDING))
      const { cuts, faults, tally } = await runCampaigns({ seed: SEED, cuts: CUTS, recordings })
      console.log(summary(cuts, tally))
      expect(faults).toEqual([])
      expect(cuts).toBe(CUTS)
    },
  )

  it('is detected as a loss if the disk only pretends to sync', { timeout: TIMEOUT_MS }, async () => {
    const { faults } = await runCampaign({
      seed: SEED,
      cuts: 40,
      recordings: 1,
      syncs: ['always'],
      ignoresSyncs: true,
      faultsMax: Infinity,
    })
    for (const fault of [/promised calls are lost/, /answered commits/]) {
      expect(faults, `seed ${SEED}`).toContainEqual(expect.stringMatching(fault))
    }
  })
})

function summary(cuts: number, tally: ReadonlyMap<string, Tally>): string {
  const lines = [...tally].sort().map(([name, { cuts, withLoss, callsLost, reported, callsReported, refused }]) => {
    const loss = `${withLoss} with loss (${callsLost} calls)`
    return `  ${name}: ${cuts} cuts, ${loss}, ${reported} reported (at least ${callsReported} calls), ${refused} refused`
  })
  return [`seed ${SEED}, ${cuts} power cuts`, ...lines].join('\n')
}
