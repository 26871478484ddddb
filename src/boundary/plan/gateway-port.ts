/**
 * The gateway as the control plane uses it. Every promise resolves when every thread has acknowledged, so
 * that the next call on any thread observes the change.
 */

import type { SlaPlan } from './sla-plan.ts'
import type { Grant } from './grant.ts'
import type { ProviderPlan } from './provider-plan.ts'
import type { PackedPlan } from './packed-plan.ts'

export interface PreparedRevision {
  /** Serves the revision at the next call of every thread. */
  swap(): Promise<void>
  /** Discards the compiled revision. */
  abort(): void
}

export interface GatewayPort {
  /** Compiles the revision on every thread without serving it. Throws `Problem('specification_invalid')` if a thread cannot. */
  prepare(plan: PackedPlan, slas: readonly SlaPlan[]): Promise<PreparedRevision>
  /** Stops serving an API: the next call is answered as for an API that does not exist. */
  withdraw(api: string): Promise<void>
  /** Applies a declaration to running subscriptions; counters with the same `key` continue. */
  applySla(sla: SlaPlan): Promise<void>
  /** Notes the numbers of declarations that are served and have not changed otherwise. */
  renumber(slas: readonly SlaPlan[]): void
  /** Updates the cached grants of credentials; an invalid grant leaves a tombstone. */
  applyGrants(grants: readonly Grant[]): Promise<void>
  /** Sets the products that an API is a member of; tokens of other products are refused. */
  applyMembership(api: string, productIds: readonly string[]): Promise<void>
  /** Refuses a token of this gateway, although its signature still verifies. */
  revokeToken(token: RevokedToken): Promise<void>
  /** Refuses the tokens that were issued for these people before their revocation. */
  revokePeople(people: readonly RevokedPerson[]): Promise<void>
  /** Replaces all federated providers. */
  applyProviders(providers: readonly ProviderPlan[]): Promise<void>
}

export interface RevokedToken {
  readonly jti: string
  /** Expiry of the token, after which the revocation is not needed. */
  readonly untilMs: number
}

export interface RevokedPerson {
  /** The subject of the tokens. */
  readonly person: string
  /** Names the latest revocation. A token of this gateway that names another one, or none, is refused. */
  readonly id: string
  /** A token of an earlier version names nothing at all; those with this id or a lower one are refused. */
  readonly before: string
  /** Expiry of the last of these tokens. */
  readonly untilMs: number
}

/** The claim of a token for a person that names the latest revocation of the person; `''`: there was none. */
export const REVOCATION_CLAIM = 'person_revocation'

/** Whether a revocation covers a token. `named`: the claim of the token; undefined if it has none. */
export function covers(
  { id, before }: Pick<RevokedPerson, 'id' | 'before'>,
  jti: string,
  named: string | undefined,
): boolean {
  return named === undefined ? jti <= before : named !== id
}
