/**
 * The declared capacity of APIs, and the part of it that active subscriptions have reserved.
 *
 * Capacity is `concurrency` and the highest `rps` of the default variant's `runtime` (OpenSLA 1.0.0). Each active
 * subscription to the API, or to a product that contains it, reserves the sums of `concurrent` and of `rate` per second of
 * its variant. Undeclared limits reserve nothing, and an API without declared capacity accepts every subscription. A
 * product has capacity if all of its members have. Capacity is checked and reserved under a mutex per tenant, so
 * concurrent requests cannot both get the last of it, and a new request queues behind the waiting list.
 */

import type { LatestPlans } from '../publishing/latest-plans.ts'
import { loadOf } from '../../foundation/domain/limit-rule.ts'
import type { SlaPlan } from '../../boundary/plan/sla-plan.ts'
import type { Registry } from '../../storage/store/registry.ts'
import { createActiveTally } from './active-tally.ts'
import { APPROVAL_KIND } from '../approvals/approval-document.ts'
import { PRODUCT_KIND } from '../publishing/products.ts'
import { PROXY_KIND } from '../publishing/proxy-document.ts'
import { subscriptionsLock } from './document/live-subscriptions.ts'
import { SUBSCRIPTION_KIND } from './document/subscription-document.ts'
import type { KeyedMutex } from '../command/keyed-mutex.ts'

/** A reservation for a new subscription, or for another variant of an existing one. */
export interface Claim {
  readonly api: string
  /** Set if `api` is empty. */
  readonly apiProductId: string
  readonly slaVariant: string
  /** The variant whose reservation it replaces. */
  readonly instead?: string
}

/** Whether a claim fits into the free capacity of an API. */
export interface CapacityCheck {
  readonly api: string
  readonly fits: boolean
}

export interface Capacity {
  /** Checks each API with declared capacity that the claim would reserve more of. Call it in `runExclusive`. */
  check(claim: Claim): Promise<readonly CapacityCheck[]>
  /** Returns whether the claim can be granted now: it fits, and no other claim is waiting. Call it in `runExclusive`. */
  isOpenTo(tenant: string, claim: Claim): Promise<boolean>
  /** Runs `work` while no other work of the tenant checks capacity. */
  runExclusive<T>(tenant: string, work: () => Promise<T>): Promise<T>
}

export interface CapacityOptions {
  readonly registry: Pick<Registry, 'list' | 'find' | 'get' | 'end' | 'watch'>
  readonly plans: LatestPlans
  readonly mutex: KeyedMutex
}

/** `concurrency` and calls per second; null if not declared. */
type Load = readonly [number | null, number | null]
type Demand = readonly [number, number]

export const WAITING = 'WaitlistedForCapacity'

export function createCapacity({ registry, plans: latest, mutex }: CapacityOptions): Capacity {
  const tally = createActiveTally({ registry })

  async function productsOf(api: string): Promise<readonly string[]> {
    return (await registry.find(PROXY_KIND, 'api', api))?.body.memberOfProductIds ?? []
  }

  async function reservedOf(api: string, plans: readonly SlaPlan[]): Promise<Demand> {
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

  /** Returns null if the API declares no capacity, or the claim needs no more than it replaces. */
  async function checkAt(api: string, { slaVariant, instead }: Claim): Promise<CapacityCheck | null> {
    const plans = await latest.of(api)
    const capacity = capacityOf(plans)
    const before = instead === undefined ? [0, 0] : demandOf(plans, instead)
    const needed = demandOf(plans, slaVariant).map((demand, axis) => demand - (before[axis] ?? 0))
    const contested = [0, 1].filter((axis) => capacity[axis] !== null && (needed[axis] ?? 0) > 0)
    if (contested.length === 0) return null
    const reserved = await reservedOf(api, plans)
    return { api, fits: contested.every((axis) => reserved[axis]! + needed[axis]! <= capacity[axis]!) }
  }

  async function check(claim: Claim): Promise<readonly CapacityCheck[]> {
    const found = await Promise.all((await apisOf(registry, claim)).map((api) => checkAt(api, claim)))
    return found.filter((check) => check !== null)
  }

  /** Returns whether a subscription or a tier change is waiting for capacity of the API. */
  async function hasWaiting(tenant: string, api: string): Promise<boolean> {
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
    runExclusive: (tenant, work) => mutex.runExclusive([subscriptionsLock(tenant)], work),
    check,
    async isOpenTo(tenant, claim) {
      for (const { api, fits } of await check(claim)) if (!fits || (await hasWaiting(tenant, api))) return false
      return true
    },
  }
}

/** Returns the API of a claim, or the members of its product. */
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
    const load = loadOf(rule)
    concurrency += load.concurrency
    callsPerSecond += load.callsPerSecond
  }
  return [concurrency, callsPerSecond]
}
