/** The declaration of a counter, as a node leases it. */

import type { ConcurrentBudget, RateBudget } from './lease-messages.ts'

/** A declared total, whose window depends on the time of the grantor. */
export interface TotalDeclaration {
  readonly kind: 'total'
  readonly version: number
  readonly value: number
  windowAt(serverMs: number): { readonly startMs: number; readonly endMs: number }
}

export type LeaseDeclaration = TotalDeclaration | RateBudget | ConcurrentBudget

/** Whether two declarations differ in their version at most. */
export function isSameLimit(one: LeaseDeclaration, other: LeaseDeclaration): boolean {
  return JSON.stringify({ ...one, version: 0 }) === JSON.stringify({ ...other, version: 0 })
}
