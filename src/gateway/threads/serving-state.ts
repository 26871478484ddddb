/**
 * What is in force on the gateway's threads: the plans that serve, the declarations, keys, providers and
 * revoked tokens. A thread that had to be started again is brought to it before it takes its first call.
 */

import type { RevokedToken } from '../../plan/gateway-port.ts'
import type { ProviderPlan } from '../../plan/provider-plan.ts'
import type { RoutePlan } from '../../plan/route-plan.ts'
import type { SlaPlan } from '../../plan/sla-plan.ts'
import { createMemberships } from './product-membership.ts'
import type { Command, JsonWebKeySet } from '../messages/messages.ts'
import { createRevokedTokens } from '../authentication/revoked-tokens.ts'
import type { GatePlan } from '../backend/upstream-gate.ts'

export interface InForce {
  /** A moment, to be given to `swap`. */
  now(): number
  /** The plan that was prepared at the moment `since` serves. */
  swap(plan: RoutePlan, slas: readonly SlaPlan[], since: number): void
  sla(sla: SlaPlan): void
  membership(api: string, productIds: readonly string[]): void
  /** False where too many are remembered already. */
  revoked(token: RevokedToken): boolean
  keys(jwks: JsonWebKeySet): void
  gate(api: string, gate: GatePlan): void
  providers(providers: readonly ProviderPlan[]): void
  plans(): Iterable<{ readonly plan: RoutePlan; readonly slas: readonly SlaPlan[] }>
  /** What a thread must hear beside the plans. */
  words(): readonly Command[]
}

export function createInForce(nowMs: () => number): InForce {
  /** Those that are not open. */
  const gates = new Map<string, GatePlan>()
  const serving = new Map<string, { plan: RoutePlan; slas: Map<string, SlaPlan> }>()
  const memberships = createMemberships()
  const tokens = createRevokedTokens(nowMs)
  let jwks: JsonWebKeySet = { keys: [] }
  let federated: readonly ProviderPlan[] = []

  return {
    now: memberships.now,
    swap(plan, slas, since) {
      const corrected = memberships.correct(plan, since)
      serving.set(plan.api, { plan: corrected, slas: new Map(slas.map((sla) => [sla.variant, sla])) })
    },
    sla(sla) {
      serving.get(sla.api)?.slas.set(sla.variant, sla)
    },
    membership(api, productIds) {
      memberships.say(api, productIds)
      const entry = serving.get(api)
      if (entry !== undefined) entry.plan = { ...entry.plan, memberOfProductIds: productIds }
    },
    revoked: (token) => tokens.add(token),
    gate(api, gate) {
      if (gate.mode === 'open') gates.delete(api)
      else gates.set(api, gate)
    },
    keys(next) {
      jwks = next
    },
    providers(next) {
      federated = next
    },
    plans: () => serving.values().map(({ plan, slas }) => ({ plan, slas: [...slas.values()] })),
    words: () => [
      { type: 'keys', jwks },
      { type: 'providers', providers: federated },
      { type: 'revoked', tokens: tokens.live(nowMs()) },
      ...[...gates].map(([api, gate]) => ({ type: 'gate', api, gate }) as const),
    ],
  }
}
