import { describe, expect, it } from 'vitest'
import { readSeed } from '../../random-seed.ts'
import { simulateLeases } from '../../simulation/lease-simulation.ts'

/** `npm run simulate` runs 100,000. */
const SCHEDULES = Number(process.env['SCHEDULES'] ?? 1_000)
/** They last ten times as long. */
const REMOVALS = Math.ceil(SCHEDULES / 20)
const TIMEOUT_MS = 60_000 + SCHEDULES * 40
const FIRST_SEED = readSeed(1)

describe('Leases of several nodes', () => {
  it(
    `never admit a call more than declared, in ${SCHEDULES} schedules with faults from seed ${FIRST_SEED}`,
    { timeout: TIMEOUT_MS },
    () => {
      const failed: string[] = []
      let admitted = 0
      for (let seed = FIRST_SEED; seed < FIRST_SEED + SCHEDULES; seed++) {
        try {
          admitted += simulateLeases({ seed }).admitted
        } catch (error) {
          failed.push(`SEED=${seed} SCHEDULES=1: ${String(error)}`)
        }
      }
      expect(failed).toEqual([])
      // A protocol that admits nothing would pass otherwise.
      expect(admitted / SCHEDULES).toBeGreaterThan(90)
    },
  )

  it('can be granted again on every node after all faults have ended', { timeout: TIMEOUT_MS }, () => {
    const stuck: number[] = []
    for (let seed = FIRST_SEED; seed < FIRST_SEED + SCHEDULES / 10; seed++) {
      const { isServing, admittedHealed } = simulateLeases({ seed, isHealed: true })
      if (!isServing || admittedHealed === 0) stuck.push(seed)
    }
    expect(stuck).toEqual([])
  })

  it(
    `never admit a call more than declared while nodes are removed, in ${REMOVALS} schedules from seed ${FIRST_SEED}`,
    { timeout: TIMEOUT_MS },
    () => {
      const failed: string[] = []
      for (let seed = FIRST_SEED; seed < FIRST_SEED + REMOVALS; seed++) {
        try {
          simulateLeases({ seed, areRemoved: true })
        } catch (error) {
          failed.push(`SEED=${seed} SCHEDULES=20: ${String(error)}`)
        }
      }
      expect(failed).toEqual([])
    },
  )

  it.each([
    // Slots of calls that ran when the limit was lowered were used again, after a generation that nobody knew whole.
    1_005_905,
  ])('admit no call too many in schedule %i, which has failed before', (seed) => {
    expect(simulateLeases({ seed }).admitted).toBeGreaterThan(0)
  })

  it('gives the same result for the same seed', () => {
    expect(simulateLeases({ seed: 7 }).admitted).toBe(simulateLeases({ seed: 7 }).admitted)
  })
})
