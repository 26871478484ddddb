import { describe, expect, it } from 'vitest'
import { OverAdmission } from '../../simulation/lease-checker.ts'
import { simulateLeases, type Planted } from '../../simulation/lease-simulation.ts'
import { PLANTED_FAULTS } from '../../simulation/planted-faults.ts'

const SCHEDULES_MAX = 2_000

/** Returns the first seed at which the simulation finds the fault; null if it does not. */
function findFault(plant: () => Planted): number | null {
  for (let seed = 1; seed <= SCHEDULES_MAX; seed++) {
    try {
      simulateLeases({ seed, planted: plant() })
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
})
