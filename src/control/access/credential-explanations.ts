/**
 * Explains a credential to its provider or its consumer: its holder, its state, and the reason why calls with it are refused.
 *
 * A token is neither stored nor cached. Credentials of another tenant, or of another consumer if the caller is restricted to one, are
 * explained like those that do not exist.
 */

import { toTime } from '../command/commands.ts'
import type { Caller } from '../../boundary/plan/caller.ts'
import type { Grant } from '../../boundary/plan/grant.ts'
import type { JudgedToken, JudgeToken, TokenState } from '../../boundary/plan/judged-token.ts'
import type { Clock } from '../../foundation/runtime/clock.ts'
import type { Document, Registry } from '../../storage/store/registry.ts'
import { CREDENTIAL_KIND, credentialState, type CredentialBody, type CredentialType } from './credential-document.ts'
import type { CredentialState } from './credential-machine.ts'
import { toGrant } from './grants.ts'
import type { TokenScopes } from './token-scopes.ts'

/** Why a call with the credential is refused. */
export interface CredentialRefusal {
  readonly code: string
  readonly detail: string
}

interface Holder {
  readonly consumer: string
  readonly consumerName: string
  readonly agent: string
  readonly subscription: string
  /** Null for a product. */
  readonly api: string | null
  readonly ApiProductId: string | null
  readonly scopes: readonly string[]
}

export interface ExplainedToken {
  readonly state: TokenState
  /** Null if a call is admitted that its operation and its limits admit. */
  readonly refusal: CredentialRefusal | null
  /** Null if the token is not known, or not one of the caller's. */
  readonly holder:
    | (Holder & { readonly onBehalfOf: string; readonly tokenId: string; readonly expiresAt: string })
    | null
}

export interface ExplainedKey extends Holder {
  readonly id: string
  readonly type: CredentialType
  readonly keyPrefix: string
  readonly state: CredentialState
  readonly createdAt: string
  readonly expiresAt: string
  readonly refusal: CredentialRefusal | null
}

/** Whose credentials are explained; `owner` null: those of the whole tenant. */
export interface Viewer {
  readonly tenant: string
  readonly owner: string | null
}

export interface CredentialExplanations {
  /** `api`: the API that is called; null: the one that the token is for. */
  token(text: string, api: string | null, viewer: Viewer): Promise<ExplainedToken>
  /** Returns the credentials whose API key begins with `start`, at most 20. */
  keys(start: string, viewer: Viewer): Promise<readonly ExplainedKey[]>
}

export interface CredentialExplanationsOptions {
  readonly registry: Registry
  readonly judge: JudgeToken
  readonly scopesOf: (api: string) => Promise<TokenScopes | null>
  readonly clock: Pick<Clock, 'nowMs'>
}

const KEYS_MAX = 20
const NOT_YOURS: ExplainedToken = {
  state: 'Unknown',
  refusal: { code: 'credential_invalid', detail: 'The token does not belong to a consumer that you may see.' },
  holder: null,
}

export function createCredentialExplanations(options: CredentialExplanationsOptions): CredentialExplanations {
  const { registry, judge, clock } = options

  return {
    async token(text, api, viewer) {
      const judged = await judge(text, api, viewer.tenant)
      const { state, refusal, caller, endsMs } = judged
      if (caller === null || endsMs === null) return { state, refusal, holder: null }
      if (!isOf(viewer, caller.grant)) return NOT_YOURS
      const holder = {
        ...toHolder(caller.grant),
        agent: caller.agent,
        api: caller.api,
        scopes: [...caller.scopes],
        onBehalfOf: caller.person,
        tokenId: caller.jti,
        expiresAt: toTime(endsMs),
      }
      return { ...(await atProxy(options, judged, caller)), holder }
    },
    async keys(start, viewer) {
      const where = { keyPrefix: start }
      const found = await registry.list(CREDENTIAL_KIND, { tenant: viewer.tenant, where, limit: KEYS_MAX })
      const grants = await Promise.all(found.map(async (each) => [each, await toGrant(registry, each)] as const))
      return grants.flatMap(([credential, grant]) =>
        grant === null || !isOf(viewer, grant) ? [] : [toKey(credential, grant, clock.nowMs())],
      )
    },
  }
}

function isOf({ tenant, owner }: Viewer, grant: Grant): boolean {
  return grant.tenant === tenant && (owner === null || grant.consumer === owner)
}

/** Adds what the proxy of the API refuses of every call, as `gateway/authentication/authorise.ts` does. */
async function atProxy(
  { scopesOf }: CredentialExplanationsOptions,
  { state, refusal }: JudgedToken,
  { api, grant, scopes }: Caller,
): Promise<Pick<ExplainedToken, 'state' | 'refusal'>> {
  if (refusal !== null) return { state, refusal }
  const target = await scopesOf(api)
  if (target === null) return { state, refusal: { code: 'not_found', detail: 'The API has no active revision.' } }
  if (grant.apiProductId !== '' && !target.productIds.includes(grant.apiProductId)) {
    const detail = 'The API is no longer part of the product of the subscription.'
    return { state: 'SubscriptionInactive', refusal: { code: 'subscription_required', detail } }
  }
  const excess = [...scopes].find((scope) => !target.allowed.includes(scope))
  if (excess === undefined) return { state, refusal: null }
  const detail = `The API does not allow the scope ${excess}, which the token has. Request a token without it.`
  return { state, refusal: { code: 'operation_forbidden', detail } }
}

function toHolder(grant: Grant): Holder {
  const { consumer, consumerName, consumerKind, subscription, api, apiProductId, scopes } = grant
  return {
    consumer,
    consumerName,
    agent: consumerKind === 'agent' ? consumer : '',
    subscription,
    api: api === '' ? null : api,
    ApiProductId: apiProductId === '' ? null : apiProductId,
    scopes,
  }
}

function toKey({ id, body, createdAtMs }: Document<CredentialBody>, grant: Grant, nowMs: number): ExplainedKey {
  const state = credentialState(body, nowMs)
  return {
    id,
    type: body.type,
    keyPrefix: body.keyPrefix ?? '',
    state,
    createdAt: toTime(createdAtMs),
    expiresAt: toTime(body.expiresAtMs),
    ...toHolder(grant),
    refusal: keyRefusal(state, grant, nowMs),
  }
}

/** In the order of the gateway (`gateway/authentication/known-caller.ts`). */
function keyRefusal(
  state: CredentialState,
  { valid, active, expiresAtMs }: Grant,
  nowMs: number,
): CredentialRefusal | null {
  const code = 'credential_invalid'
  if (expiresAtMs !== 0 && expiresAtMs <= nowMs) return { code, detail: 'The credential has expired.' }
  if (state === 'Revoked') return { code, detail: 'The credential has been revoked.' }
  if (!valid) return { code, detail: 'The subscription of the credential has ended.' }
  return active ? null : { code: 'subscription_required', detail: 'The subscription is not active.' }
}
