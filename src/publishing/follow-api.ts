/**
 * Makes this node serve what the registry has for an API, after another node has changed it.
 *
 * The lock of the API keeps this apart from commands of this node, whose own change is found served then.
 */

import { createHash } from 'node:crypto'
import type { KeyedMutex } from '../command/keyed-mutex.ts'
import type { GatewayPort } from '../plan/gateway-port.ts'
import type { Registry } from '../store/registry.ts'
import { API_KIND } from './apis.ts'
import { PROXY_KIND, activeDeployment } from './proxy-document.ts'
import type { ActivePlan, ServingPlans } from './serving-plan.ts'
import type { Specifications } from './specifications.ts'

/** The plans that this node serves, by API. */
export interface ServedPlans {
  note(served: ActivePlan): void
  isServed(plan: ActivePlan): boolean
  forget(api: string): void
}

export function createServedPlans(): ServedPlans {
  const digests = new Map<string, string>()
  return {
    note: (served) => void digests.set(served.plan.api, digestOf(served)),
    isServed: (plan) => digests.get(plan.plan.api) === digestOf(plan),
    forget: (api) => void digests.delete(api),
  }
}

/** The document of a revision never changes: its number stands for it. */
function digestOf({ plan: { document: _document, ...plan }, slas }: ActivePlan): string {
  return createHash('sha256')
    .update(JSON.stringify([plan, slas]))
    .digest('base64')
}

export interface FollowApiOptions {
  readonly registry: Registry
  readonly gateway: Pick<GatewayPort, 'prepare' | 'withdraw' | 'applySla'>
  readonly specifications: Pick<Specifications, 'plansInForce'>
  readonly mutex: KeyedMutex
  readonly served: ServedPlans
}

/** Returns a function that resolves when every gateway thread serves what the registry has. */
export function createFollowApi(options: FollowApiOptions, planOf: ServingPlans): (api: string) => Promise<void> {
  const { mutex } = options
  return (api) => mutex.runExclusive([api], () => follow(options, planOf, api))
}

async function follow(options: FollowApiOptions, planOf: ServingPlans, api: string): Promise<void> {
  const { registry, gateway, specifications, served } = options
  const entry = await registry.get(API_KIND, api)
  if (entry === null) {
    served.forget(api)
    return gateway.withdraw(api)
  }
  if (entry.body.ownScopes !== undefined) {
    for (const sla of await specifications.plansInForce(api, [])) await gateway.applySla(sla)
    return
  }
  const proxy = await registry.find(PROXY_KIND, 'api', api)
  const deployment = proxy === null ? null : activeDeployment(proxy.body)
  // Nothing is active yet; the activation will read it.
  if (proxy === null || deployment === null) return
  const next = await planOf(proxy, proxy.body, deployment, entry.body)
  if (served.isServed(next)) return
  await (await gateway.prepare(next.plan, next.slas)).swap()
  served.note(next)
}
