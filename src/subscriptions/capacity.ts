/**
 * What a provider has promised to carry, and what of it is given away already.
 *
 * Capacity is `concurrency` and the highest `rps` of the default variant's `runtime` (OpenSLA 1.0.0); each
 * active subscription to the API, or to a product that holds it, takes the sums of `concurrent` and of
 * `rate` per second of its variant. What is not declared counts nothing, and an API that declares no
 * capacity takes everybody. A product is open where all of its members are. Room is looked for and taken
 * in turn, so that two who come at once do not both get the last of it, and whoever comes last stands
 * behind those that wait.
 */

import type { LatestPlans } from '../publishing/latest-plans.ts'
import type { SlaPlan } from '../plan/sla-plan.ts'
import type { Registry } from '../store/registry.ts'
import { createActiveTally } from './active-tally.ts'
import { APPROVAL_KIND } from '../approvals/approval-document.ts'
import { PRODUCT_KIND } from '../publishing/products.ts'
import { PROXY_KIND } from '../publishing/proxy-document.ts'
import { SUBSCRIPTION_KIND } from './document/subscription-document.ts'
import type { KeyedMutex } from '../command/keyed-mutex.ts'

/** One more subscription of a variant, or one of another variant than before. */
export interface Claim {
  readonly api: string
  /** Where `api` is empty. */
  readonly apiProductId: string
  readonly slaVariant: string
  /** The variant that is given up for it. */
  readonly instead?: string
}

/** An API that would have to carry more for a claim. */
export interface Place {
  readonly api: string
  readonly fits: boolean
}

export interface Capacity {
  /** Where the claim asks for capacity that somebody has declared. Ask in turn. */
  places(claim: Claim): Promise<readonly Place[]>
  /** Whether there is room for it at once: enough, and nobody waits before it. Ask in turn. */
  isOpenTo(tenant: string, claim: Claim): Promise<boolean>
  /** Runs `work` while nobody else of the tenant looks for room. */
  inTurn<T>(tenant: string, work: () => Promise<T>): Promise<T>
}

export interface CapacityOptions {
  readonly registry: Pick<Registry, 'list' | 'find' | 'get' | 'end' | 'watch'>
  readonly plans: LatestPlans
  readonly mutex: KeyedMutex
}

/** `concurrency` and calls a second; null: nothing is declared. */
type Load = readonly [number | null, number | null]
type Demand = readonly [number, number]

export const WAITING = 'WaitlistedForCapacity'

export function createCapacity({ registry, plans: latest, mutex }: CapacityOptions): Capacity {
  const tally = createActiveTally({ registry })

  async function productsOf(api: string): Promise<readonly string[]> {
    return (await registry.find(PROXY_KIND, 'api', api))?.body.memberOfProductIds ?? []
  }

  async function givenAway(api: string, plans: readonly SlaPlan[]): Promise<Demand> {
    let [concurrency, callsPerSecond] = [0, 0]
    for (const to of [{ api }, ...(await productsOf(api)).map((product) => ({ product }))]) {
      for (const [variant, count] of await tally.of(to)) {
        const demand = demandOf(plans, variant)
        concurrency += count * demand[0]
        callsPerSecond += count * demand[1]
      }
    }
    return [concurrency, callsPerSecond]
  }

  /** Null where the API declares no capacity, or the claim asks for no more than it gives up. */
  async function placeAt(api: string, { slaVariant, instead }: Claim): Promise<Place | null> {
    const plans = await latest.of(api)
    const capacity = capacityOf(plans)
    const before = instead === undefined ? [0, 0] : demandOf(plans, instead)
    const asks = demandOf(plans, slaVariant).map((demand, axis) => demand - (before[axis] ?? 0))
    const contested = [0, 1].filter((axis) => capacity[axis] !== null && (asks[axis] ?? 0) > 0)
    if (contested.length === 0) return null
    const given = await givenAway(api, plans)
    return { api, fits: contested.every((axis) => given[axis]! + asks[axis]! <= capacity[axis]!) }
  }

  async function places(claim: Claim): Promise<readonly Place[]> {
    const found = await Promise.all((await apisOf(registry, claim)).map((api) => placeAt(api, claim)))
    return found.filter((place) => place !== null)
  }

  /** Whether somebody waits for room at the API. */
  async function isAwaited(tenant: string, api: string): Promise<boolean> {
    const products = await productsOf(api)
    for (const to of [{ api }, ...products.map((product) => ({ product }))]) {
      const [first] = await registry.list(SUBSCRIPTION_KIND, { where: { ...to, state: WAITING }, limit: 1 })
      if (first !== undefined) return true
    }
    const where = { state: 'Approved' }
    for (const { body } of await registry.list(APPROVAL_KIND, { tenant, where, limit: 500 })) {
      const subscription = await registry.get(SUBSCRIPTION_KIND, body.subscription)
      if (subscription?.body.api === api || products.includes(subscription?.body.apiProductId ?? '')) return true
    }
    return false
  }

  return {
    inTurn: (tenant, work) => mutex.runExclusive([`capacity ${tenant}`], work),
    places,
    async isOpenTo(tenant, claim) {
      for (const { api, fits } of await places(claim)) if (!fits || (await isAwaited(tenant, api))) return false
      return true
    },
  }
}

/** The API of a claim, or the members of its product. */
export async function apisOf(
  registry: Pick<Registry, 'get'>,
  { api, apiProductId }: Pick<Claim, 'api' | 'apiProductId'>,
): Promise<readonly string[]> {
  if (api !== '') return [api]
  return (await registry.get(PRODUCT_KIND, apiProductId))?.body.apis ?? []
}

function capacityOf(plans: readonly SlaPlan[]): Load {
  const runtime = plans.find(({ variant }) => variant === '')?.runtime ?? []
  const highest = (values: readonly (number | null)[]): number | null => {
    const known = values.filter((value) => value !== null)
    return known.length === 0 ? null : Math.max(...known)
  }
  return [
    highest(runtime.map(({ concurrency }) => concurrency)),
    highest(runtime.flatMap(({ throughput }) => throughput.map(({ rps }) => rps))),
  ]
}

function demandOf(plans: readonly SlaPlan[], variant: string): Demand {
  const plan = plans.find((each) => each.variant === variant) ?? plans.find((each) => each.variant === '')
  let [concurrency, callsPerSecond] = [0, 0]
  for (const { rule } of plan?.limits ?? []) {
    switch (rule.kind) {
      case 'rate':
        callsPerSecond += (rule.value * 1_000) / rule.spanMs
        break
      case 'concurrent':
        concurrency += rule.value
        break
      case 'total':
        // A total bounds no load at an instant.
        break
      default:
        rule satisfies never
    }
  }
  return [concurrency, callsPerSecond]
}
