import { describe, expect, it } from 'vitest'
import { OverAdmission } from '../../simulation/lease-checker.ts'
import { simulateLeases, type Planted } from '../../simulation/lease-simulation.ts'
import { PLANTED_FAULTS, PLANTED_REMOVAL_FAULTS } from '../../simulation/planted-faults.ts'

const SCHEDULES_MAX = 2_000

/** Returns the first seed at which the simulation finds the fault; null if it does not. */
function findFault(plant: () => Planted, areRemoved = false): number | null {
  // The long schedules begin shortly before one that finds the rarest fault.
  for (let seed = areRemoved ? 101 : 1; seed <= SCHEDULES_MAX; seed++) {
    try {
      simulateLeases({ seed, planted: plant(), areRemoved })
    } catch (error) {
      if (error instanceof OverAdmission) return seed
      throw error
    }
  }
  return null
}

describe('The simulation of leases', () => {
  it.each(Object.entries(PLANTED_FAULTS))('finds that %s', (_, plant) => {
    expect(findFault(plant)).not.toBeNull()
  })

  it.each(Object.entries(PLANTED_REMOVAL_FAULTS))('finds that %s, when nodes are removed', (_, plant) => {
    expect(findFault(plant, true)).not.toBeNull()
  })
})
