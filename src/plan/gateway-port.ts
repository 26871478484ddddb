/**
 * The gateway as the control plane uses it. Every promise resolves when every thread has acknowledged, so
 * that the next call on any thread observes the change.
 */

import type { SlaPlan } from './sla-plan.ts'
import type { Grant } from './grant.ts'
import type { ProviderPlan } from './provider-plan.ts'
import type { RoutePlan } from './route-plan.ts'

export interface PreparedRevision {
  /** Every thread serves the revision from its next call on. */
  swap(): Promise<void>
  /** Forgets what was compiled. */
  abort(): void
}

export interface GatewayPort {
  /** Compiles the revision aside on every thread. Throws `Problem('specification_invalid')` where one cannot. */
  prepare(plan: RoutePlan, slas: readonly SlaPlan[]): Promise<PreparedRevision>
  /** A declaration comes into force for running subscriptions; counters of the same `key` go on. */
  applySla(sla: SlaPlan): Promise<void>
  /** Corrects what threads have cached of a credential; a grant that is not valid leaves a tombstone. */
  applyGrant(grant: Grant): Promise<void>
  /** The products that an API is a member of from now on; tokens of others open nothing. */
  applyMembership(api: string, productIds: readonly string[]): Promise<void>
  /** A token of ours opens nothing from now on, though its signature still verifies. */
  revokeToken(token: RevokedToken): Promise<void>
  /** Replaces all federated providers at once. */
  applyProviders(providers: readonly ProviderPlan[]): Promise<void>
}

export interface RevokedToken {
  readonly jti: string
  /** When the token has expired by itself and need not be remembered. */
  readonly untilMs: number
}
