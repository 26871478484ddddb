/** Tokens for the gateway's threads: issued here, where the keys are, and each attempt that failed recorded. */

import type { Grant } from './catalogue/grant.ts'
import type { TokenScopes } from './catalogue/token-scopes.ts'
import type { TokenAnswer, TokenForm } from './gateway/messages.ts'
import type { IssueToken } from './identity/token-issuer.ts'
import type { PlatformRecorder } from './platform-recorder.ts'
import type { Clock } from './runtime/clock.ts'

export interface TokenDeskOptions {
  readonly issue: IssueToken
  readonly scopesOf: (api: string) => Promise<TokenScopes | null>
  readonly recorder: PlatformRecorder
  readonly clock: Clock
}

export function createTokenDesk({
  issue,
  scopesOf,
  recorder,
  clock,
}: TokenDeskOptions): (form: TokenForm) => Promise<TokenAnswer> {
  return async (form) => {
    const startedMs = clock.nowMs()
    const answer = await issue(form)
    const { signal, status } = answer
    if (signal === null) return answer
    const target = await scopesOf(form.api)
    if (target === null) return answer
    const { grant, outcome } = signal
    // A party of another tenant is not this tenant's to see.
    const party = grant === null || grant.tenant !== target.tenant ? null : toParty(grant)
    await recorder.record({
      tenant: target.tenant,
      api: form.api,
      operation: '',
      party,
      status,
      code: outcome,
      startedMs,
      requestId: null,
    })
    return answer
  }
}

/** The party that a grant alone tells of. */
export function toParty(grant: Grant): { readonly grant: Grant; readonly agent: string; readonly person: string } {
  return { grant, agent: grant.consumerKind === 'agent' ? grant.consumer : '', person: '' }
}
