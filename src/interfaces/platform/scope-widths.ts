/** The scopes that open an operation: in both widths, or in one, with the reason why. */

import { ownScope } from '../../foundation/domain/scope-width.ts'
import type { Operation, TAGS } from './operation.ts'

/** Why the operations of a tag have only one width. */
const REASONS: Readonly<Record<keyof typeof TAGS, string>> = {
  Approvals: 'The provider decides, and never the consumer that asked.',
  Audit: 'The audit log shows the changes of the whole tenant.',
  Catalogue: 'The provider maintains its APIs.',
  Consumers: 'The provider maintains its consumers.',
  Events: 'The operation concerns the whole tenant.',
  Governance: 'Governance belongs to the provider.',
  Identity: 'Identity providers and keys belong to the whole tenant.',
  Products: 'The provider maintains its products.',
  Proxies: 'Deployments belong to the provider.',
  Risks: 'The operation concerns the whole tenant.',
  Service: 'The process serves all tenants.',
  Specifications: 'The provider publishes its documents.',
  Subscriptions: 'The provider decides.',
  Tenants: 'Tenants belong to the operator.',
  Usage: 'The operation concerns the whole tenant.',
  Users: 'Users belong to the tenant, and not to a consumer.',
}

/** Returns the scopes of which a caller needs one, the widest first; empty if the operation is public. */
export function alternativesOf({ scope, own }: Pick<Operation, 'scope' | 'own'>): readonly string[] {
  if (scope === null) return []
  return own === undefined ? [scope] : [scope, ownScope(scope)]
}

/** Returns null if the scope of the operation has both widths, or if the operation is public. */
export function singleWidthReason({ scope, own, singleWidth, tag }: Operation): string | null {
  return scope === null || own !== undefined ? null : (singleWidth ?? REASONS[tag])
}
