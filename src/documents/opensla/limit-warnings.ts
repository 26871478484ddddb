/** Warns about limits that can never apply because of other definitions. */

import type { LimitPlan } from '../../boundary/plan/sla-plan.ts'
import { propertyPointer, type Definition } from './limit-declaration.ts'
import type { Faults } from './reader.ts'

/**
 * Warns about each limit that never applies, because for all its operations an earlier definition, valid at all times, takes precedence.
 *
 * `groupsByOperation` has groups of indexes into `limits`, each in order of precedence.
 */
export function warnAboutShadowedLimits(
  definitions: readonly Definition[],
  limits: readonly LimitPlan[],
  groupsByOperation: Readonly<Record<string, readonly (readonly number[])[]>>,
  faults: Faults,
): void {
  const reached = new Set<number>()
  for (const group of Object.values(groupsByOperation).flat()) {
    for (const index of group) {
      reached.add(index)
      const isAlwaysValid = limits[index]?.validity.length === 0
      if (isAlwaysValid) break
    }
  }
  for (const definition of definitions) {
    // A definition without operations has its own warning.
    if (definition.operationIds?.size === 0) continue
    for (const [property, index] of definition.properties) {
      if (reached.has(index)) continue
      const detail = 'This limit never applies: an earlier definition always takes precedence.'
      faults.warn(propertyPointer(definition, property), detail)
    }
  }
}
