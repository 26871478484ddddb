/**
 * What a provider has promised to carry, and what of it is given away already.
 *
 * Capacity is `concurrency` and the highest `rps` of the default variant's `runtime` (OpenSLA 1.0.0); each
 * active subscription to the API, or to a product that holds it, takes the sums of `concurrent` and of `rate` per second of its variant. What
 * is not declared counts nothing, and an API that declares no capacity takes everybody. Room is looked for
 * and taken in turn, so that two who come at once do not both get the last of it.
 */

import type { SlaPlan } from '../opensla/sla-plan.ts'
import type { Registry } from '../store/registry.ts'
import type { ProxyBody } from './proxy-document.ts'
import type { Specifications } from './specifications.ts'
import type { SubscriptionBody } from './subscription-document.ts'
import type { Turns } from './turns.ts'

export interface Capacity {
  /** Whether one more subscription of this variant can be carried. Ask in turn. */
  hasRoom(api: string, variant: string): Promise<boolean>
  /** Runs `work` while nobody else looks for room at the API. */
  inTurn<T>(api: string, work: () => Promise<T>): Promise<T>
}

export interface CapacityOptions {
  readonly registry: Pick<Registry, 'list' | 'find'>
  readonly specifications: Pick<Specifications, 'plansInForce'>
  readonly turns: Turns
}

/** Null: nothing is declared. */
interface Load {
  readonly concurrency: number | null
  readonly callsPerSecond: number | null
}

const PAGE = 500

export function createCapacity({ registry, specifications, turns }: CapacityOptions): Capacity {
  /** Subscriptions to the API and to the products that it is a member of. */
  async function activeByVariant(api: string): Promise<ReadonlyMap<string, number>> {
    const counts = new Map<string, number>()
    const proxy = await registry.find<ProxyBody>('proxy', 'api', api)
    const products = proxy?.body.memberOfProductIds ?? []
    for (const of of [{ api }, ...products.map((product) => ({ product }))])
      await count({ ...of, state: 'Active' }, counts)
    return counts
  }

  async function count(where: Readonly<Record<string, string>>, counts: Map<string, number>): Promise<void> {
    for (let after = ''; ;) {
      const page = await registry.list<SubscriptionBody>('subscription', { where, after, limit: PAGE })
      for (const { body } of page) counts.set(body.slaVariant, (counts.get(body.slaVariant) ?? 0) + 1)
      if (page.length < PAGE) return
      after = page.at(-1)?.id ?? ''
    }
  }

  return {
    inTurn: (api, work) => turns.take([`capacity ${api}`], work),
    async hasRoom(api, variant) {
      const plans = await specifications.plansInForce(api, [])
      const capacity = capacityOf(plans)
      if (capacity.concurrency === null && capacity.callsPerSecond === null) return true
      let [concurrency, callsPerSecond] = [0, 0]
      const counts = new Map(await activeByVariant(api))
      counts.set(variant, (counts.get(variant) ?? 0) + 1)
      for (const [name, count] of counts) {
        const demand = demandOf(
          plans.find((plan) => plan.variant === name) ?? plans.find((plan) => plan.variant === ''),
        )
        concurrency += count * demand.concurrency
        callsPerSecond += count * demand.callsPerSecond
      }
      return (
        concurrency <= (capacity.concurrency ?? Infinity) && callsPerSecond <= (capacity.callsPerSecond ?? Infinity)
      )
    },
  }
}

function capacityOf(plans: readonly SlaPlan[]): Load {
  const runtime = plans.find(({ variant }) => variant === '')?.runtime ?? []
  const highest = (values: readonly (number | null)[]): number | null => {
    const known = values.filter((value) => value !== null)
    return known.length === 0 ? null : Math.max(...known)
  }
  return {
    concurrency: highest(runtime.map(({ concurrency }) => concurrency)),
    callsPerSecond: highest(runtime.flatMap(({ throughput }) => throughput.map(({ rps }) => rps))),
  }
}

function demandOf(plan: SlaPlan | undefined): { readonly concurrency: number; readonly callsPerSecond: number } {
  let [concurrency, callsPerSecond] = [0, 0]
  for (const { rule } of plan?.limits ?? []) {
    if (rule.kind === 'concurrent') concurrency += rule.value
    if (rule.kind === 'rate') callsPerSecond += (rule.value * 1_000) / rule.spanMs
  }
  return { concurrency, callsPerSecond }
}
