/**
 * The interface of a limit kind in a declaration. Each kind has a file (`rate-declaration.ts` …), and `limits.ts` lists them.
 */

import type { LimitKind, RuleOf } from '../../foundation/domain/limit-rule.ts'
import type { LimitPlan, Validity } from '../../boundary/plan/sla-plan.ts'
import type { Faults } from './reader.ts'

export interface LimitDeclaration<K extends LimitKind> {
  /** Member of a definition that declares limits of this kind. */
  readonly member: string
  /** Reads that member: property of the definition (`totals.minute`) → rule. */
  read(
    value: unknown,
    pointer: string,
    validity: readonly Validity[],
    faults: Faults,
  ): readonly (readonly [property: string, rule: RuleOf<K>])[]
  /** Warns of valid rules of one definition that can have no effect. */
  warn(definition: Definition, limits: readonly LimitPlan[], faults: Faults): void
}

/** A definition before it is resolved per operation. */
export interface Definition {
  readonly pointer: string
  /** Null for all operations. */
  readonly operationIds: ReadonlySet<string> | null
  /** Property → position in `limits`. */
  readonly properties: ReadonlyMap<string, number>
}

/** Returns the RFC 6901 pointer of a property: `totals.minute` of `/limits/0` is at `/limits/0/totals/minute`. */
export function propertyPointer({ pointer }: Definition, property: string): string {
  return `${pointer}/${property.replace('.', '/')}`
}
