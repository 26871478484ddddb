/**
 * The state that all gateway threads serve with: plans, declarations, keys, identity providers, circuit breakers and revoked
 * tokens. The main thread keeps it to bring a restarted thread up to date before that thread accepts calls.
 */

import type { RevokedPerson, RevokedToken } from '../../boundary/plan/gateway-port.ts'
import type { ProviderPlan } from '../../boundary/plan/provider-plan.ts'
import type { PackedPlan } from '../../boundary/plan/packed-plan.ts'
import type { SlaPlan } from '../../boundary/plan/sla-plan.ts'
import type { TlsPlan } from '../../foundation/tls/tls-plan.ts'
import { createProductMembership } from './product-membership.ts'
import type { Command, JsonWebKeySet } from '../messages/messages.ts'
import { createRevokedPeople } from '../authentication/revoked-people.ts'
import { createRevokedTokens } from '../authentication/revoked-tokens.ts'
import type { GatePlan } from '../backend/upstream-gate.ts'

export interface ServingState {
  /** Returns the version to pass to `setPlan` for a plan that is compiled now. */
  membershipVersion(): number
  /** Replaces the plan of an API; returns it with the membership that was set after `capturedAt`, if any. */
  setPlan(plan: PackedPlan, slas: readonly SlaPlan[], capturedAt: number): PackedPlan
  removePlan(api: string): void
  setSla(sla: SlaPlan): void
  setMembership(api: string, productIds: readonly string[]): void
  /** Returns false if the maximum number of revoked tokens is reached. */
  addRevokedToken(token: RevokedToken): boolean
  /** Returns false if the maximum number of revoked people is reached. */
  addRevokedPerson(person: RevokedPerson): boolean
  setKeys(jwks: JsonWebKeySet): void
  setCertificates(tls: TlsPlan): void
  setGate(api: string, key: string, gate: GatePlan): void
  setProviders(providers: readonly ProviderPlan[]): void
  plans(): Iterable<{ readonly plan: PackedPlan; readonly slas: readonly SlaPlan[] }>
  /** Returns the commands that restore everything except the plans on a new thread. */
  restoreCommands(): readonly Command[]
}

export function createServingState(nowMs: () => number): ServingState {
  /** Circuit breakers that are not in their default state. */
  const gates = new Map<string, { readonly api: string; readonly gate: GatePlan }>()
  const serving = new Map<string, { plan: PackedPlan; slas: Map<string, SlaPlan> }>()
  const membership = createProductMembership()
  const revokedTokens = createRevokedTokens(nowMs)
  const revokedPeople = createRevokedPeople(nowMs)
  let jwks: JsonWebKeySet = { keys: [] }
  /** Null if they are still those of the start. */
  let tls: TlsPlan | null = null
  let providers: readonly ProviderPlan[] = []

  return {
    membershipVersion: membership.version,
    setPlan(plan, slas, capturedAt) {
      const current = membership.apply(plan, capturedAt)
      serving.set(plan.api, { plan: current, slas: new Map(slas.map((sla) => [sla.variant, sla])) })
      return current
    },
    removePlan(api) {
      serving.delete(api)
      for (const [key, gate] of gates) if (gate.api === api) gates.delete(key)
    },
    setSla(sla) {
      serving.get(sla.api)?.slas.set(sla.variant, sla)
    },
    setMembership(api, productIds) {
      membership.set(api, productIds)
      const entry = serving.get(api)
      if (entry !== undefined) entry.plan = { ...entry.plan, memberOfProductIds: productIds }
    },
    addRevokedToken: (token) => revokedTokens.add(token),
    addRevokedPerson: (person) => revokedPeople.add(person),
    setGate(api, key, gate) {
      if (gate.mode === 'open') gates.delete(key)
      else gates.set(key, { api, gate })
    },
    setKeys(next) {
      jwks = next
    },
    setCertificates(next) {
      tls = next
    },
    setProviders(next) {
      providers = next
    },
    plans: () => serving.values().map(({ plan, slas }) => ({ plan, slas: [...slas.values()] })),
    restoreCommands: () => [
      { type: 'keys', jwks },
      { type: 'providers', providers },
      { type: 'revoked', tokens: revokedTokens.live(nowMs()) },
      { type: 'revokedPeople', people: revokedPeople.live(nowMs()) },
      ...(tls === null ? [] : [{ type: 'certificates', tls } as const]),
      ...[...gates].map(([key, { gate }]) => ({ type: 'gate', key, gate }) as const),
    ],
  }
}
