import { describe, expect, it } from 'vitest'
import { readSeed } from '../../random-seed.ts'
import { simulateSlices } from '../../simulation/slice-simulation.ts'

/** `npm run simulate` runs 20,000. */
const SCHEDULES = Number(process.env['SCHEDULES'] ?? 400)
const TIMEOUT_MS = 60_000 + SCHEDULES * 40
const FIRST_SEED = readSeed(1)

describe('Slices of several nodes', () => {
  it.each([
    ['than declared', false],
    ['than declared and calls used beyond their cost', true],
  ])(
    `never admit more %s, in ${SCHEDULES} schedules with faults from seed ${FIRST_SEED}`,
    { timeout: TIMEOUT_MS },
    (_, hasOverdrafts) => {
      const failed: string[] = []
      let admitted = 0
      for (let seed = FIRST_SEED; seed < FIRST_SEED + SCHEDULES; seed++) {
        try {
          admitted += simulateSlices({ seed, hasOverdrafts }).admitted
        } catch (error) {
          failed.push(`SEED=${seed} SCHEDULES=1: ${String(error)}`)
        }
      }
      expect(failed).toEqual([])
      // A protocol that admits nothing would pass otherwise.
      expect(admitted / SCHEDULES).toBeGreaterThan(50)
    },
  )

  it('can be granted again on every node after all faults have ended', { timeout: TIMEOUT_MS }, () => {
    const stuck: number[] = []
    for (let seed = FIRST_SEED; seed < FIRST_SEED + SCHEDULES / 10; seed++) {
      const { isServing, admittedHealed } = simulateSlices({ seed, isHealed: true, hasOverdrafts: seed % 2 === 0 })
      if (!isServing || admittedHealed === 0) stuck.push(seed)
    }
    expect(stuck).toEqual([])
  })

  it('give the same result for the same seed', () => {
    expect(simulateSlices({ seed: 7 }).admitted).toBe(simulateSlices({ seed: 7 }).admitted)
  })
})
