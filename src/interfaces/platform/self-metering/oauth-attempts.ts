/** Wraps the OAuth endpoints that gateway threads call: each failed attempt is recorded before its answer is sent. */

import { toParty } from '../../../boundary/plan/caller.ts'
import type { TokenScopes } from '../../../control/access/token-scopes.ts'
import type { OauthEndpoint } from '../../../boundary/plan/oauth-call.ts'
import type { PlatformRecorder } from './platform-recorder.ts'
import type { Clock } from '../../../foundation/runtime/clock.ts'

export interface OauthAttemptsOptions {
  readonly endpoints: OauthEndpoint
  readonly scopesOf: (api: string) => Promise<TokenScopes | null>
  readonly recorder: PlatformRecorder
  readonly clock: Clock
}

export function recordOauthAttempts({ endpoints, scopesOf, recorder, clock }: OauthAttemptsOptions): OauthEndpoint {
  return async (call) => {
    const startedMs = clock.nowMs()
    const answer = await endpoints(call)
    const { signal, status } = answer
    const target = signal === null ? null : await scopesOf(signal.api)
    if (signal === null || target === null) return answer
    const { api, grant, outcome } = signal
    // A tenant must not see clients of other tenants.
    const party = grant === null || grant.tenant !== target.tenant ? null : toParty(grant)
    const attempt = { tenant: target.tenant, api, operation: '', party, status, code: outcome, startedMs }
    await recorder.record({ ...attempt, requestId: null })
    return answer
  }
}
