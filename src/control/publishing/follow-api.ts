/**
 * Makes this node serve what the registry has for an API, after another node has changed it.
 *
 * The lock of the API keeps this apart from commands of this node, whose own change is found served then. An API whose active revision
 * cannot be compiled here is withheld: its calls get 503 at this node, instead of an older revision. If only its canary cannot be
 * compiled, the calls of the canary's callers get 503.
 */

import type { KeyedMutex } from '../command/keyed-mutex.ts'
import type { GatewayPort } from '../../boundary/plan/gateway-port.ts'
import type { PackedPlan } from '../../boundary/plan/packed-plan.ts'
import { toWithheldPlan, withWithheldCanary } from '../../boundary/plan/withheld-plan.ts'
import type { Document, Registry } from '../../storage/store/registry.ts'
import { isFromDisk } from '../../storage/store/unwritable.ts'
import { API_KIND } from './apis.ts'
import { PROXY_KIND, activeDeployment, type Deployment, type ProxyBody } from './proxy-document.ts'
import type { PreparedRevisions } from './prepared-revisions.ts'
import type { ServedPlans } from './served-plans.ts'
import type { ActivePlan, ServingPlans } from './serving-plan.ts'
import type { Specifications } from './specifications.ts'
import type { StoredPlan } from './stored-plans.ts'
import { planWithheldCanary } from './withheld-canary.ts'

export interface FollowApiOptions {
  readonly registry: Registry
  readonly gateway: Pick<GatewayPort, 'prepare' | 'withdraw' | 'applySla' | 'renumber' | 'applyMembership'>
  readonly specifications: Pick<Specifications, 'plansInForce'>
  readonly mutex: KeyedMutex
  readonly served: ServedPlans
  /** Revisions that were compiled before their commit. */
  readonly prepared: Pick<PreparedRevisions, 'take'>
}

/** This node cannot serve what the registry has for an API. Its calls get 503 here until it can. */
export class RevisionWithheld extends Error {
  override readonly name = 'RevisionWithheld'
  readonly api: string

  constructor(what: 'canary' | 'active revision', api: string, cause: unknown) {
    super(`the ${what} of ${api} cannot be compiled on this node`, { cause })
    this.api = api
  }
}

/**
 * Returns a function that resolves when every gateway thread serves what the registry has, with the plan that it has served.
 * It throws `RevisionWithheld` if the gateway cannot serve that, and other errors if the registry cannot be read.
 */
export function createFollowApi(
  options: FollowApiOptions,
  planOf: ServingPlans,
): (api: string) => Promise<ActivePlan | null> {
  const { mutex } = options
  return (api) => mutex.runExclusive([api], () => follow(options, planOf, api))
}

/**
 * Returns a function that serves what the registry has for an API of which something is withheld. If it fails, it changes nothing that
 * is served, because the failure may be that of a moment: the active revision goes on without its canary, for example.
 */
export function createRetryApi(
  options: FollowApiOptions,
  planOf: ServingPlans,
): (api: string) => Promise<ActivePlan | null> {
  const { registry, mutex } = options
  return (api) =>
    mutex.runExclusive([api], async () => {
      const entry = await registry.get(API_KIND, api)
      const proxy = entry === null ? null : await registry.find(PROXY_KIND, 'api', api)
      const deployment = proxy === null ? null : activeDeployment(proxy.body)
      if (entry === null || proxy === null || deployment === null) return null
      const next = await planOf(proxy, proxy.body, deployment, entry.body)
      return (await serve(options, next)) ? next : null
    })
}

async function follow(options: FollowApiOptions, planOf: ServingPlans, api: string): Promise<ActivePlan | null> {
  const { registry, gateway, specifications, served } = options
  const entry = await registry.get(API_KIND, api)
  if (entry === null) {
    served.evict(api)
    await gateway.withdraw(api)
    return null
  }
  if (entry.body.ownScopes !== undefined) {
    for (const sla of await specifications.plansInForce(api, [])) await gateway.applySla(sla)
    return null
  }
  const proxy = await registry.find(PROXY_KIND, 'api', api)
  const deployment = proxy === null ? null : activeDeployment(proxy.body)
  // Nothing is active yet; the activation will read it.
  if (proxy === null || deployment === null) return null
  const next = () => planOf(proxy, proxy.body, deployment, entry.body)
  const source = { proxy, body: proxy.body, deployment, entry: entry.body }
  const withheldCanary = () => planWithheldCanary(planOf, source)
  return serveOrWithhold(options, { proxy, deployment, next, withheldCanary })
}

interface Next {
  readonly proxy: Document<ProxyBody>
  readonly deployment: Deployment
  readonly next: () => Promise<ActivePlan>
  /** Makes a plan that refuses the canary's calls; null if there is no canary. */
  readonly withheldCanary: () => Promise<ActivePlan | null>
}

async function serveOrWithhold(options: FollowApiOptions, of: Next): Promise<ActivePlan | null> {
  const { gateway, served } = options
  const { proxy, deployment } = of
  const { api } = proxy.body
  try {
    const next = await of.next()
    return (await serve(options, next)) ? next : null
  } catch (cause) {
    if (isFromDisk(cause)) throw cause
    served.evict(api)
    const what = (await withholdCanary(options, of)) ? 'canary' : 'active revision'
    if (what !== 'canary') await (await gateway.prepare(toWithheld(proxy, deployment), [])).swap()
    throw new RevisionWithheld(what, api, cause)
  }
}

/** Returns whether every gateway thread serves the active revision without its canary. */
async function withholdCanary({ gateway }: FollowApiOptions, { withheldCanary }: Next): Promise<boolean> {
  try {
    const next = await withheldCanary()
    if (next === null) return false
    await (await gateway.prepare(next.plan, next.slas)).swap()
    return true
  } catch {
    // The cause for the whole API is reported.
    return false
  }
}

/** Yields for each stored plan how to serve its API. For the start, when nothing else on this node changes an API. */
export async function* startApis(
  options: FollowApiOptions,
  follow: (api: string) => Promise<ActivePlan | null>,
  stored: AsyncIterable<StoredPlan>,
): AsyncIterable<() => Promise<ActivePlan | null>> {
  for await (const { proxy, deployment, plan } of stored) {
    if (plan === null) yield () => follow(proxy.body.api)
    else {
      const withheldCanary = async (): Promise<ActivePlan | null> =>
        plan.plan.canary === undefined ? null : { ...plan, plan: withWithheldCanary(plan.plan) }
      yield () => serveOrWithhold(options, { proxy, deployment, next: async () => plan, withheldCanary })
    }
  }
}

/** Returns false if the plan is served already. Compiles only what has to be compiled, because other changes wait for it. */
async function serve({ gateway, served, prepared }: FollowApiOptions, next: ActivePlan): Promise<boolean> {
  const change = served.changeTo(next)
  if (change !== 'revision') {
    const changed = change?.slas ?? []
    gateway.renumber(next.slas.filter((sla) => !changed.includes(sla)))
  }
  if (change === null) return false
  const { api, memberOfProductIds } = next.plan
  if (change === 'revision') await (prepared.take(next) ?? (await gateway.prepare(next.plan, next.slas))).swap()
  else {
    for (const sla of change.slas) await gateway.applySla(sla)
    if (change.hasOtherProducts) await gateway.applyMembership(api, memberOfProductIds)
  }
  served.note(next)
  return true
}

function toWithheld({ tenant, body }: Document<ProxyBody>, { allowedScopes }: Deployment): PackedPlan {
  const { api, actor, memberOfProductIds } = body
  const revision = actor.context.activeRevision ?? 0
  return toWithheldPlan({ api, tenant, revision, allowedScopes, memberOfProductIds })
}
