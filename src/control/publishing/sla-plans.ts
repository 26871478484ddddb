/** The plans of the declarations in force of an API. */

import { compileDeclaration } from '../../documents/opensla/declaration.ts'
import type { Fields } from '../../documents/opensla/reader.ts'
import type { SlaPlan } from '../../boundary/plan/sla-plan.ts'

export interface InForce {
  readonly body: {
    readonly api: string
    readonly number?: number
    readonly operationIds: readonly string[]
  }
  /** Members of the declaration. */
  readonly fields: Fields
}

/** `operationIds` are those of the active revision. */
export function toSlaPlans(declared: readonly InForce[], operationIds: readonly string[]): readonly SlaPlan[] {
  const number = latestNumber(declared)
  return declared.map(({ body, fields }) => {
    const known = [...new Set([...operationIds, ...body.operationIds])]
    return { ...compileDeclaration(fields, { technicalName: body.api, operationIds: known }), number }
  })
}

/** Returns the number of all plans of an API. A subscription that changes its variant thus never goes to a plan that counts as older. */
export function latestNumber(declared: readonly Pick<InForce, 'body'>[]): number {
  return Math.max(0, ...declared.map(({ body }) => body.number ?? 0))
}
