/**
 * The leases of all subscriptions that have called this node, on the main thread.
 *
 * A lease belongs to the calls that a limit counts, whatever the name of the limit: a counter goes on when a definition is renamed or
 * its number changes. One that no call has needed for a while is returned, and its keeper drops the counter; only the place in shared
 * memory remains, since threads may still write it, and the counter is added again when a call needs it.
 */

import { createHash } from 'node:crypto'
import { freeSlot, LEASE_CELL_SIZE, remainingOf } from '../boundary/leases/lease-cell.ts'
import type { LeaseDeclaration } from '../boundary/leases/lease-declaration.ts'
import type { LeasePlace } from '../boundary/leases/lease-place.ts'
import type { SlaPlan } from '../boundary/plan/sla-plan.ts'
import type { LeaseBlockRef, LeaseCellRef } from './lease-block.ts'
import { freeLock, lock, unlock } from './limit-lock.ts'
import type { Place, SharedPages } from './shared-pages.ts'
import { limitsWanted, quotaWanted, type Wanted } from './wanted-leases.ts'

/** The leases of this node from one grantor, as the protocol keeps them. */
export interface LeaseKeeper {
  add(key: string, declaration: LeaseDeclaration, place: LeasePlace): void
  /** False if the counter was dropped, because it held nothing. */
  has(key: string): boolean
  /** When it returns, no call is admitted by what the declaration before leased. */
  redeclare(key: string, declaration: LeaseDeclaration): void
  /**
   * Asks for leases of `calls` calls, or of calls that cost as much together; the one of least cost needs `least`. False if they cannot
   * be had at the moment.
   */
  refill(key: string, calls: number, least?: number): Promise<boolean>
  /** Learns how much is left for all nodes. False if that is not known at the moment. */
  look(key: string): Promise<boolean>
}

export interface LeaseKeepers {
  /** For rates, concurrent calls and totals per minute or hour. */
  readonly short: LeaseKeeper
  /** For other totals and quotas. */
  readonly long: LeaseKeeper
}

/** Calls or units that waiting calls lack together, and the least that one of them lacks. */
export type LeaseNeed = readonly (readonly [id: number, amount: number, least: number])[]

interface Lease {
  readonly id: number
  readonly key: string
  readonly keeper: LeaseKeeper
  readonly place: Place
  /** The lock that guards the place. */
  readonly lock: Place
  declaration: LeaseDeclaration
}

interface Area {
  readonly subscription: string
  readonly lock: Place
  readonly byCalls: Map<string, Lease>
  plan: SlaPlan
  /** That of the subscription's document when it had the plan; 0 if it is not known. */
  revision: number
}

export interface LeaseBookOptions {
  readonly keepers: LeaseKeepers
  readonly pages: SharedPages
  readonly threads: number
}

export class LeaseBook {
  readonly #keepers: LeaseKeepers
  readonly #pages: SharedPages
  /** Holder of a lock while the main thread changes a lease. */
  readonly #holder: number
  readonly #areas = new Map<string, Area>()
  readonly #byApi = new Map<string, Area[]>()
  readonly #leases: Lease[] = []

  constructor({ keepers, pages, threads }: LeaseBookOptions) {
    this.#keepers = keepers
    this.#pages = pages
    this.#holder = threads + 1
  }

  /**
   * Returns the leases of a subscription under a plan; null if the memory has reached its bound. `revision` is that of the subscription's
   * document, 0 if it is not known: leases follow the plan of the latest one.
   */
  blockFor(
    subscription: string,
    plan: SlaPlan,
    gaugesAt: readonly (number | null)[],
    revision: number,
  ): LeaseBlockRef | null {
    const area = this.#areaOf(subscription, plan)
    if (area === null) return null
    const isLatest = revision >= area.revision
    if (isLatest) Object.assign(area, { plan, revision })
    const version = versionOf(area)
    const cells: LeaseCellRef[] = []
    for (const [position, limit] of limitsWanted(plan.limits, version).entries()) {
      const lease = this.#leaseIn(area, limit, isLatest)
      if (lease === null) return null
      cells.push({ ...cellOf(lease), gaugesAt: gaugesAt[position]! })
    }
    const wanted = quotaWanted(plan.quota, version)
    const quota = wanted && this.#leaseIn(area, wanted, isLatest)
    if (wanted !== null && quota === null) return null
    return {
      page: area.lock.page,
      lockAt: area.lock.offset * 2,
      cells,
      quota: quota && { ...cellOf(quota), gaugesAt: null },
    }
  }

  /** Applies the numbers of a plan that has changed, to all subscriptions that called under it. */
  redeclare(plan: SlaPlan): void {
    for (const area of this.#byApi.get(plan.api) ?? []) {
      if (area.plan.variant !== plan.variant || area.plan === plan) continue
      area.plan = plan
      const version = versionOf(area)
      const quota = quotaWanted(plan.quota, version)
      for (const wanted of [...limitsWanted(plan.limits, version), ...(quota === null ? [] : [quota])]) {
        const lease = area.byCalls.get(wanted.name)
        if (lease !== undefined) this.#declare(lease, wanted)
      }
    }
  }

  /** Resolves when the leases were asked for; false if a grantor cannot be reached. */
  async refill(need: LeaseNeed): Promise<boolean> {
    const reached = await Promise.all(
      need.map(([id, amount, least]) => {
        const lease = this.#leases[id]
        return lease === undefined || this.#kept(lease).refill(lease.key, amount, least)
      }),
    )
    return reached.every(Boolean)
  }

  /** Returns how much is left for all nodes of each lease of a block, and of its quota at the end; null: not known at the moment. */
  async look({ cells, quota }: LeaseBlockRef): Promise<readonly (number | null)[]> {
    return Promise.all(
      [...cells, ...(quota === null ? [] : [quota])].map(async ({ id, page, at }) => {
        const lease = this.#leases[id]!
        return (await this.#kept(lease).look(lease.key)) ? remainingOf(new Float64Array(page), at) : null
      }),
    )
  }

  /** Frees the lock of a thread that has ended. */
  releaseThread(holder: number): void {
    for (const { lock: place } of this.#areas.values()) freeLock(wordOf(place), holder)
  }

  /** Frees slots of calls that ended with their thread. */
  freeSlots(subscription: string, api: string, { page, at }: LeaseCellRef, calls: number): void {
    const area = this.#areas.get(`${subscription} ${api}`)
    if (area === undefined || calls === 0) return
    const cell = new Float64Array(page)
    this.#exclusively(area.lock, () => {
      for (let call = 0; call < calls; call++) freeSlot(cell, at)
    })
  }

  #areaOf(subscription: string, plan: SlaPlan): Area | null {
    const key = `${subscription} ${plan.api}`
    const known = this.#areas.get(key)
    if (known !== undefined) return known
    const lock = this.#pages.allocate(1)
    if (lock === null) return null
    const area: Area = { subscription, lock, byCalls: new Map(), plan, revision: 0 }
    this.#areas.set(key, area)
    const others = this.#byApi.get(plan.api)
    if (others === undefined) this.#byApi.set(plan.api, [area])
    else others.push(area)
    return area
  }

  #leaseIn(area: Area, wanted: Wanted, isLatest: boolean): Lease | null {
    const { name, declaration, isLong } = wanted
    const known = area.byCalls.get(name)
    if (known !== undefined) {
      if (isLatest) this.#declare(known, wanted)
      return known
    }
    const place = this.#pages.allocate(LEASE_CELL_SIZE)
    if (place === null) return null
    const key = createHash('sha256')
      .update(JSON.stringify([area.subscription, area.plan.api, name]))
      .digest('base64url')
    const keeper = isLong ? this.#keepers.long : this.#keepers.short
    const lease: Lease = { id: this.#leases.length, key, keeper, place, lock: area.lock, declaration }
    this.#leases.push(lease)
    area.byCalls.set(name, lease)
    this.#kept(lease)
    return lease
  }

  /** Returns the keeper of a lease, which has its counter. */
  #kept({ key, keeper, place, lock, declaration }: Lease): LeaseKeeper {
    if (keeper.has(key)) return keeper
    const exclusively = (task: () => void): void => this.#exclusively(lock, task)
    keeper.add(key, declaration, { cell: new Float64Array(place.page), at: place.offset, exclusively })
    return keeper
  }

  #declare(lease: Lease, { declaration, isOff }: Wanted): void {
    if (isOff || JSON.stringify(declaration) === JSON.stringify(lease.declaration)) return
    lease.declaration = declaration
    if (lease.keeper.has(lease.key)) lease.keeper.redeclare(lease.key, declaration)
  }

  #exclusively(place: Place, task: () => void): void {
    const word = wordOf(place)
    if (!lock(word, this.#holder)) throw new Error('the lock of a lease is held by a thread that does not run')
    try {
      task()
    } finally {
      unlock(word)
    }
  }
}

function wordOf({ page, offset }: Place): Int32Array {
  return new Int32Array(page, offset * 8, 1)
}

function cellOf({ id, place: { page, offset } }: Lease): Omit<LeaseCellRef, 'gaugesAt'> {
  return { id, page, at: offset }
}

/**
 * Returns the version of the declarations of an area. Every declaration adds one to the number of the plan, and every change of the
 * subscription one to its revision. Nodes that have seen the same therefore agree about it, and each change makes it higher.
 */
function versionOf({ plan, revision }: Area): number {
  return plan.number + revision
}
