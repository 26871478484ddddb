import { describe, expect, it } from 'vitest'
import { OverAdmission } from '../../simulation/lease-checker.ts'
import { PLANTED_SLICE_FAULTS } from '../../simulation/planted-slice-faults.ts'
import { simulateSlices } from '../../simulation/slice-simulation.ts'

const SCHEDULES = 2_000

function isFoundIn(seed: number, name: string): boolean {
  try {
    simulateSlices({ seed, planted: PLANTED_SLICE_FAULTS[name]!() })
    return false
  } catch (error) {
    if (error instanceof OverAdmission) return true
    throw error
  }
}

describe('The simulation of slices', () => {
  it.each(Object.keys(PLANTED_SLICE_FAULTS))('finds that %s', { timeout: 60_000 }, (name) => {
    let seed = 1
    while (seed <= SCHEDULES && !isFoundIn(seed, name)) seed++
    expect(seed).toBeLessThanOrEqual(SCHEDULES)
  })
})
