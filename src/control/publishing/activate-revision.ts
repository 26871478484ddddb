/** Changes what the gateway threads serve, together with the commit of the change. */

import { step } from '../command/persisted-machine.ts'
import { commit, find, refusedStep } from '../command/commands.ts'
import { Problem } from '../../foundation/domain/problem.ts'
import type { GatewayPort, PreparedRevision } from '../../boundary/plan/gateway-port.ts'
import type { Clock } from '../../foundation/runtime/clock.ts'
import type { Refusal } from '../../storage/store/preparations.ts'
import type { Author, Registry, Write } from '../../storage/store/registry.ts'
import { API_ACTIONS, apiLifecycle } from './api-machine.ts'
import { API_KIND, apiActor, apiWrite, type ApiBody } from './apis.ts'
import { checkStaged, type BackendRule } from './backend-address.ts'
import { toPrepareRequest } from './prepared-revisions.ts'
import type { ServedPlans } from './served-plans.ts'
import { PROXY_KIND, activeDeployment, canaryOf, proxyWrite, type ProxyBody } from './proxy-document.ts'
import { steppedProxy } from './proxy-revisions.ts'
import type { ActivePlan, ServingPlans } from './serving-plan.ts'
import { refuseRetired } from './stage-revision.ts'
import { withholdingCanary, type OnCanaryWithheld } from './withheld-canary.ts'

export interface ActivationOptions {
  readonly registry: Registry
  readonly gateway: Pick<GatewayPort, 'prepare'>
  readonly served: ServedPlans
  /** Asks the other nodes to prepare a plan. */
  readonly askNodes?: AskNodes
  readonly clock: Clock
  readonly backendRule: BackendRule
  readonly onCanaryWithheld?: OnCanaryWithheld
}

/** Resolves with the nodes that cannot execute a request to prepare a plan (`prepared-revisions.ts`). */
export type AskNodes = (request: string) => Promise<readonly Refusal[]>

export async function activateRevision(
  options: ActivationOptions,
  planOf: ServingPlans,
  author: Author,
  id: string,
): Promise<void> {
  const { registry, clock, backendRule } = options
  const current = await find(registry, author.tenant, PROXY_KIND, id)
  const body = steppedProxy(current.body, { type: 'revision.activated', atMs: clock.nowMs() })
  // The entry is read before the declarations: a later declaration changes the entry, and then this commit fails.
  const entry = await find(registry, author.tenant, API_KIND, body.api)
  const deployment = activeDeployment(body)
  if (deployment === null) throw new Error(`proxy ${id} has lost its deployment`)
  await checkStaged(backendRule, author.tenant, deployment.backend, clock.nowMs())
  const { version, title } = deployment
  const next: ApiBody = { ...activated(entry.body), version, title }
  const plan = await planOf(current, body, deployment, next)
  await swapWith(options, plan, async () => {
    const refusals = (await options.askNodes?.(toPrepareRequest(plan))) ?? []
    refuseUnprepared(refusals)
    await commit(registry, author, 'proxy.activate', [
      proxyWrite(id, author.tenant, current.revision, body),
      apiWrite(body.api, author.tenant, entry.revision, next),
    ])
  })
}

/** Throws if a node cannot compile the revision: nothing is changed then. */
export function refuseUnprepared([refusal]: readonly Refusal[]): void {
  if (refusal === undefined) return
  const { node, reason } = refusal
  throw new Problem('revision_unavailable', `The node ${node} cannot prepare the revision: ${reason}`, {
    extensions: { node },
  })
}

/**
 * Commits a change of the catalogue entry with `save`; the active revision, if there is one, serves with `entry`. A canary that cannot
 * be served any more does not prevent it: the calls of its callers are refused then.
 */
export async function changeEntry(
  options: Pick<ActivationOptions, 'registry' | 'gateway' | 'served' | 'askNodes' | 'clock' | 'onCanaryWithheld'>,
  planOf: ServingPlans,
  api: string,
  entry: ApiBody,
  save: (writes: readonly Write[]) => Promise<void>,
): Promise<void> {
  const proxy = await options.registry.find(PROXY_KIND, 'api', api)
  const deployment = proxy === null ? null : activeDeployment(proxy.body)
  if (proxy === null || deployment === null) return save([])
  // Written even if it is unchanged, so that a concurrent activation from an older read fails.
  const body = entry.state === 'Retired' ? withoutCanary(proxy.body, options.clock.nowMs()) : proxy.body
  const touched = proxyWrite(proxy.id, proxy.tenant, proxy.revision, body)
  const source = { proxy, body, deployment, entry }
  const next = await withholdingCanary(planOf, source, (plan) => prepare(options, plan), options.onCanaryWithheld)
  await swapPrepared(options, next, async () => {
    // A refusal prevents nothing, because a retirement has to take effect: the node refuses the calls of the API then.
    await options.askNodes?.(toPrepareRequest(next.plan))
    await save([touched])
  })
}

/** A retired API serves no call. */
function withoutCanary(body: ProxyBody, atMs: number): ProxyBody {
  return canaryOf(body) === null ? body : steppedProxy(body, { type: 'revision.discarded', atMs })
}

/** Compiles the plan on every thread, commits, and swaps it in; if the commit fails, the threads discard the plan. */
export async function swapWith(
  options: Pick<ActivationOptions, 'gateway' | 'served'>,
  next: ActivePlan,
  save: () => Promise<void>,
): Promise<void> {
  await swapPrepared(options, await prepare(options, next), save)
}

interface Prepared {
  readonly plan: ActivePlan
  readonly prepared: PreparedRevision
}

/** Compiles the plan on every thread; `swapPrepared` must follow. */
export async function prepare({ gateway }: Pick<ActivationOptions, 'gateway'>, plan: ActivePlan): Promise<Prepared> {
  return { plan, prepared: await gateway.prepare(plan.plan, plan.slas) }
}

/** Commits, and swaps in what is prepared. */
export async function swapPrepared(
  { served }: Pick<ActivationOptions, 'served'>,
  { plan, prepared }: Prepared,
  save: () => Promise<void>,
): Promise<void> {
  try {
    await save()
  } catch (cause) {
    prepared.abort()
    throw cause
  }
  await prepared.swap()
  served.note(plan)
}

/** Returns the catalogue entry with an active revision. Throws if the API is retired. */
function activated(body: ApiBody): ApiBody {
  refuseRetired(body)
  if (body.state !== 'Prospect') return body
  const result = step(apiLifecycle, apiActor(body), { type: 'activated' })
  if ('refused' in result) throw refusedStep(result.refused, API_ACTIONS)
  return { ...body, actor: result.next, state: 'Active' }
}
