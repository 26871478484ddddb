import { describe, expect, it } from 'vitest'
import { readSeed } from '../../random-seed.ts'
import { BrokenInvariant } from '../../simulation/signal-checker.ts'
import { simulateSignals, type PlantedInSignals } from '../../simulation/signal-simulation.ts'

/** `npm run simulate` runs 100,000. */
const SCHEDULES = Number(process.env['SCHEDULES'] ?? 200)
const TIMEOUT_MS = 60_000 + SCHEDULES * 100
const FIRST_SEED = readSeed(1)
const PLANTED_MAX = 500

const PLANTED_FAULTS: Readonly<Record<string, PlantedInSignals>> = {
  'a late batch is executed after the source has moved': { ignoresSequence: true },
  'a source moves without its signals': { splitsBatches: true },
  'two nodes advance a partition at once': { ignoresLocks: true },
  'a node continues with episodes that another one has advanced': { keepsVersions: true },
  'signals are removed before they are counted': { removesEarly: true },
  'signals stay after they were counted': { keepsSignals: true },
  'events are numbered outside of the transaction': { countsApart: true },
  'a batch without an answer is sent again': { resends: true },
  'a start continues where the disk says': { trustsDisk: true },
}

describe('Risks of several nodes', () => {
  it(
    `lose and repeat no call and no event, in ${SCHEDULES} schedules with faults from seed ${FIRST_SEED}`,
    { timeout: TIMEOUT_MS },
    async () => {
      const failed: string[] = []
      let calls = 0
      let events = 0
      for (let seed = FIRST_SEED; seed < FIRST_SEED + SCHEDULES; seed++) {
        try {
          const result = await simulateSignals(seed)
          calls += result.calls
          events += result.events
        } catch (error) {
          failed.push(`SEED=${seed} SCHEDULES=1: ${String(error)}`)
        }
      }
      expect(failed).toEqual([])
      // Nodes that detect nothing would pass otherwise.
      expect(calls / SCHEDULES).toBeGreaterThan(20)
      expect(events / SCHEDULES).toBeGreaterThan(5)
    },
  )

  it('are the same for the same seed', async () => {
    expect(await simulateSignals(7)).toEqual(await simulateSignals(7))
  })
})

describe('The simulation of risks', () => {
  it.each(Object.entries(PLANTED_FAULTS))('finds that %s', { timeout: 60_000 }, async (_, planted) => {
    expect(await findFault(planted)).not.toBeNull()
  })
})

/** Returns the first seed at which the simulation finds the fault; null if it does not. */
async function findFault(planted: PlantedInSignals): Promise<number | null> {
  for (let seed = 1; seed <= PLANTED_MAX; seed++) {
    try {
      await simulateSignals(seed, planted)
    } catch (error) {
      if (error instanceof BrokenInvariant) return seed
      throw error
    }
  }
  return null
}
