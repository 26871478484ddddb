/** Finds the operations that a caller may call: by the scopes of the credential, and the consumers that its own widths cover. */

import type { Entitlements } from '../../../control/access/people/entitlements.ts'
import { isOwnScope } from '../../../foundation/domain/scope-width.ts'
import type { Caller } from '../../../boundary/plan/caller.ts'
import { ownerOf } from '../caller-owner.ts'
import type { Operation } from '../operation.ts'
import { alternativesOf } from '../scope-widths.ts'

/** Whether the caller may call an operation, for some consumer at least. */
export type IsPermitted = (operation: Operation) => boolean

export async function findPermitted(entitlements: Pick<Entitlements, 'ofUser'>, caller: Caller): Promise<IsPermitted> {
  const covered = new Set<string>()
  let entitlement: ReturnType<Entitlements['ofUser']> | null = null
  // Read once for all scopes.
  const ofUser: Entitlements['ofUser'] = (tenant, id) => (entitlement ??= entitlements.ofUser(tenant, id))
  for (const scope of caller.scopes) {
    const isCovered = !isOwnScope(scope) || (await ownerOf({ ofUser }, caller, scope, undefined)) !== null
    if (isCovered) covered.add(scope)
  }
  return (operation) => {
    // The widest scope decides, as in the guard.
    const opening = alternativesOf(operation).find((scope) => caller.scopes.has(scope))
    return opening !== undefined && covered.has(opening)
  }
}
