/**
 * Reads the plans of all active revisions, many APIs at a time, when one of several nodes starts.
 *
 * One statement for each document would be a round trip each. The documents may be of different moments: the node follows all changes
 * since before the first statement, and commands at other nodes wait for that.
 */

import { listAll } from '../command/page.ts'
import type { SlaPlan } from '../../boundary/plan/sla-plan.ts'
import type { Document, Registry } from '../../storage/store/registry.ts'
import { API_KIND } from './apis.ts'
import { COMPILED_KIND, currentForm } from './compiled-document.ts'
import { activeDeployment, PROXY_KIND, type Deployment, type ProxyBody } from './proxy-document.ts'
import { currentFields, DECLARED_KIND } from './declared-fields.ts'
import {
  servedOperationIds,
  specificationsOf,
  toPackedPlan,
  type ActivePlan,
  type ServingPlansOptions,
} from './serving-plan.ts'
import { toSlaPlans, type InForce } from './sla-plans.ts'
import { OPENSLA_SPEC_KIND, type OpenSlaSpecBody } from './specifications.ts'

export interface StoredPlan {
  readonly proxy: Document<ProxyBody>
  readonly deployment: Deployment
  /** Null if it cannot be made of what is stored: the document has to be compiled again, or a part is missing. */
  readonly plan: ActivePlan | null
}

export type StoredPlansOptions = Pick<ServingPlansOptions, 'registry' | 'backendRule'>

type Active = Omit<StoredPlan, 'plan'>

interface Batch {
  readonly plans: readonly StoredPlan[]
  /** Id of the last proxy; null if none follows. */
  readonly last: string | null
}

type Declarations = ReadonlyMap<string, readonly Document<OpenSlaSpecBody>[]>

/** Proxies with many operations are large. */
const BATCH_MAX = 250

/** Yields all APIs with an active revision. */
export async function* storedPlans(options: StoredPlansOptions): AsyncIterable<StoredPlan> {
  const { registry } = options
  const declarations = await declarationsInForce(registry)
  const read = (after: string): Promise<Batch> => readBatch(options, declarations, after)
  for (let next: Promise<Batch> | null = read(''); next !== null;) {
    const batch: Batch = await next
    // While this batch is served.
    next = batch.last === null ? null : read(batch.last)
    next?.catch(() => {})
    yield* batch.plans
  }
}

async function readBatch(options: StoredPlansOptions, declarations: Declarations, after: string): Promise<Batch> {
  const proxies = await options.registry.list(PROXY_KIND, { after, limit: BATCH_MAX })
  const active = proxies.flatMap((proxy): readonly Active[] => {
    const deployment = activeDeployment(proxy.body)
    return deployment === null ? [] : [{ proxy, deployment }]
  })
  const last = proxies.length < BATCH_MAX ? null : (proxies.at(-1)?.id ?? null)
  return { plans: await readPlans(options, active, declarations), last }
}

async function declarationsInForce(registry: Registry): Promise<Declarations> {
  const byApi = new Map<string, Document<OpenSlaSpecBody>[]>()
  for await (const declaration of listAll(registry, OPENSLA_SPEC_KIND, { where: { inForce: 'true' } })) {
    const { api } = declaration.body
    byApi.set(api, [...(byApi.get(api) ?? []), declaration])
  }
  return byApi
}

async function readPlans(
  options: StoredPlansOptions,
  active: readonly Active[],
  declarations: Declarations,
): Promise<readonly StoredPlan[]> {
  const { registry } = options
  const declarationsOf = ({ proxy }: Active) => declarations.get(proxy.body.api) ?? []
  const [entries, compiled, declared] = await Promise.all([
    registry.getEach(
      API_KIND,
      active.map(({ proxy }) => proxy.body.api),
    ),
    registry.getEach(
      COMPILED_KIND,
      active.flatMap(({ proxy, deployment }) => Object.values(specificationsOf(proxy.body, deployment))),
    ),
    registry.getEach(
      DECLARED_KIND,
      active.flatMap((each) => declarationsOf(each).map(({ id }) => id)),
    ),
  ])

  function slasOf(each: Active): readonly SlaPlan[] | null {
    const operationIds = servedOperationIds(each.proxy.body, each.deployment)
    const inForce = declarationsOf(each).flatMap(({ id, tenant, body }): readonly InForce[] => {
      const fields = currentFields(declared.get(id) ?? null, tenant)
      return fields === null ? [] : [{ body, fields }]
    })
    return inForce.length < declarationsOf(each).length ? null : toSlaPlans(inForce, operationIds)
  }

  function planOf(each: Active): ActivePlan | null {
    const { proxy, deployment } = each
    const entry = entries.get(proxy.body.api)
    if (entry?.tenant !== proxy.tenant) return null
    const read = (id: string): Uint8Array | null =>
      currentForm(compiled.get(id) ?? null, proxy.tenant, entry.body.isMcpOn === true)
    const specifications = specificationsOf(proxy.body, deployment)
    const { specification, canarySpecification = null } = specifications
    const document = read(specification)
    const ofCanary = canarySpecification === null ? null : read(canarySpecification)
    const slas = slasOf(each)
    if (document === null || slas === null || (canarySpecification !== null && ofCanary === null)) return null
    const plan = toPackedPlan(options, proxy, deployment, entry.body, { active: document, canary: ofCanary })
    return { plan, slas, ...specifications }
  }

  return active.map((each) => ({ ...each, plan: attempt(() => planOf(each)) }))
}

/** A plan that cannot be made is left to the command that can say why. */
function attempt(make: () => ActivePlan | null): ActivePlan | null {
  try {
    return make()
  } catch {
    return null
  }
}
