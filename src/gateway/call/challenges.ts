/** Texts of `WWW-Authenticate` of an API, compiled at activation. */

import type { RoutePlan } from '../../boundary/plan/route-plan.ts'

export interface Challenges {
  readonly credential_missing: string
  readonly credential_invalid: string
  readonly subscription_required: null
  /** Follows the parameters of another challenge; empty if the API accepts no tokens. */
  readonly metadata: string
}

/** An API that accepts tokens names its protected-resource metadata (RFC 9728, 5.1), that of `path` if it is a resource of its own. */
export function compileChallenges({ api, operations }: RoutePlan, gatewayUrl: string, path = ''): Challenges {
  const acceptsTokens = operations.some(({ security }) => security.some(({ tokenScopes }) => tokenScopes !== null))
  const metadataUrl = `${gatewayUrl}/.well-known/oauth-protected-resource/${api}${path}`
  const metadata = acceptsTokens ? `resource_metadata="${metadataUrl}"` : ''
  const after = metadata === '' ? '' : `, ${metadata}`
  return {
    credential_missing: metadata === '' ? 'Bearer' : `Bearer ${metadata}`,
    credential_invalid: `Bearer error="invalid_token"${after}`,
    subscription_required: null,
    metadata: after,
  }
}
