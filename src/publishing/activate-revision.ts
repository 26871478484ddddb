/** Changes what the gateway threads serve, together with the commit of the change. */

import { step } from '../command/persisted-machine.ts'
import { commit, find, stateConflict } from '../command/commands.ts'
import type { GatewayPort } from '../plan/gateway-port.ts'
import type { Clock } from '../runtime/clock.ts'
import type { Author, Registry, Write } from '../store/registry.ts'
import { apiLifecycle } from './api-machine.ts'
import { API_KIND, apiActor, apiWrite, type ApiBody } from './apis.ts'
import { checkStaged, type BackendRule } from './backend-address.ts'
import type { ServedPlans } from './follow-api.ts'
import { PROXY_KIND, activeDeployment, proxyWrite } from './proxy-document.ts'
import { steppedProxy } from './proxy-revisions.ts'
import type { ActivePlan, ServingPlans } from './serving-plan.ts'
import { refuseRetired } from './stage-revision.ts'

export interface ActivationOptions {
  readonly registry: Registry
  readonly gateway: Pick<GatewayPort, 'prepare'>
  readonly served: ServedPlans
  readonly clock: Clock
  readonly backendRule: BackendRule
}

export async function activateRevision(
  options: ActivationOptions,
  planOf: ServingPlans,
  author: Author,
  id: string,
): Promise<void> {
  const { registry, clock, backendRule } = options
  const current = await find(registry, author.tenant, PROXY_KIND, id)
  const body = steppedProxy(current.body, 'revision.activated', clock.nowMs())
  // The entry is read before the declarations: a later declaration changes the entry, and then this commit fails.
  const entry = await find(registry, author.tenant, API_KIND, body.api)
  const deployment = activeDeployment(body)
  if (deployment === null) throw new Error(`proxy ${id} has lost its deployment`)
  await checkStaged(backendRule, author.tenant, deployment.backend)
  const { version, title } = deployment
  const next: ApiBody = { ...activated(entry.body), version, title }
  await swapWith(options, await planOf(current, body, deployment, next), () =>
    commit(registry, author, 'proxy.activate', [
      proxyWrite(id, author.tenant, current.revision, body),
      apiWrite(body.api, author.tenant, entry.revision, next),
    ]),
  )
}

/** Commits a change of the catalogue entry with `save`; the active revision, if there is one, serves with `entry`. */
export async function changeEntry(
  options: Pick<ActivationOptions, 'registry' | 'gateway' | 'served'>,
  planOf: ServingPlans,
  api: string,
  entry: ApiBody,
  save: (writes: readonly Write[]) => Promise<void>,
): Promise<void> {
  const proxy = await options.registry.find(PROXY_KIND, 'api', api)
  const deployment = proxy === null ? null : activeDeployment(proxy.body)
  if (proxy === null || deployment === null) return save([])
  // An unchanged write of the proxy, so that a concurrent activation from an older read fails.
  const touched = proxyWrite(proxy.id, proxy.tenant, proxy.revision, proxy.body)
  await swapWith(options, await planOf(proxy, proxy.body, deployment, entry), () => save([touched]))
}

/** Compiles the plan on every thread, commits, and swaps it in; if the commit fails, the threads discard the plan. */
async function swapWith(
  { gateway, served }: Pick<ActivationOptions, 'gateway' | 'served'>,
  next: ActivePlan,
  save: () => Promise<void>,
): Promise<void> {
  const prepared = await gateway.prepare(next.plan, next.slas)
  try {
    await save()
  } catch (cause) {
    prepared.abort()
    throw cause
  }
  await prepared.swap()
  served.note(next)
}

/** Returns the catalogue entry with an active revision. Throws if the API is retired. */
function activated(body: ApiBody): ApiBody {
  refuseRetired(body)
  if (body.state !== 'Prospect') return body
  const result = step(apiLifecycle, apiActor(body), { type: 'activated' })
  if ('refused' in result) throw stateConflict(result.refused)
  return { ...body, actor: result.next, state: 'Active' }
}
