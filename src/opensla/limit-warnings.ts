/** Warns of limits that can never apply because of other definitions. */

import type { LimitPlan } from '../plan/sla-plan.ts'
import { propertyPointer, type Definition } from './limit-declaration.ts'
import type { Faults } from './reader.ts'

/** Warns of a property that always yields to an earlier definition, because that one is valid at all times. */
export function warnOfShadowed(
  definitions: readonly Definition[],
  limits: readonly LimitPlan[],
  byOperation: Readonly<Record<string, readonly (readonly number[])[]>>,
  faults: Faults,
): void {
  const reached = new Set<number>()
  for (const group of Object.values(byOperation).flat()) {
    for (const position of group) {
      reached.add(position)
      if (limits[position]?.validity.length === 0) break
    }
  }
  for (const definition of definitions) {
    if (definition.operationIds?.size === 0) continue
    for (const [property, position] of definition.properties) {
      if (reached.has(position)) continue
      const detail = 'This limit never applies: an earlier definition always takes precedence.'
      faults.warn(propertyPointer(definition, property), detail)
    }
  }
}
