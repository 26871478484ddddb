/**
 * The leases of all subscriptions that have called this node, on the main thread.
 *
 * A lease belongs to the calls that a limit counts, whatever the name of the limit: a counter goes on when a definition is renamed or
 * its number changes. Leases are never removed; one that nobody uses is returned after a minute and costs its memory only.
 */

import { createHash } from 'node:crypto'
import { createCalendar } from '../../domain/calendar.ts'
import { HOUR_MS } from '../../domain/calendar.ts'
import { toBucket } from '../../domain/gcra.ts'
import { freeSlot, LEASE_CELL_SIZE } from '../../leases/lease-cell.ts'
import type { LeaseDeclaration, LeasePlace } from '../../leases/lease-counter.ts'
import type { LimitPlan, SlaPlan } from '../../plan/sla-plan.ts'
import { lengthOf } from '../../plan/validity-span.ts'
import type { LeaseBlockRef, LeaseCellRef } from './lease-block.ts'
import { freeLock, lock, unlock } from './limit-lock.ts'
import { windowEnd, windowStart } from './limit-window.ts'
import type { Place, SharedPages } from './shared-pages.ts'

/** The leases of this node, as the protocol keeps them. */
export interface LeaseKeeper {
  add(key: string, declaration: LeaseDeclaration, place: LeasePlace): void
  /** When it returns, no call is admitted by what the declaration before leased. */
  redeclare(key: string, declaration: LeaseDeclaration): void
  /** Resolves after an exchange with the grantor, with whether it can be reached. */
  refill(key: string, calls: number): Promise<boolean>
}

export interface LeaseNeed {
  /** Ids of the leases that a call lacks. */
  readonly ids: readonly number[]
  /** Calls that wait. */
  readonly calls: number
}

interface Lease {
  readonly id: number
  readonly key: string
  readonly place: Place
  /** Declared last, to notice a change. */
  declared: string
}

interface Area {
  readonly subscription: string
  readonly lock: Place
  readonly byCalls: Map<string, Lease>
  plan: SlaPlan
}

/** No call through the gateway is expected to take longer; slots of a node that was lost stay taken for this long. */
const CALL_MS_MAX = 600_000
/** The number of the declaration is that of each node; see `redeclare`. */
const VERSION = 0

export interface LeaseBookOptions {
  readonly keeper: LeaseKeeper
  readonly pages: SharedPages
  readonly threads: number
}

export class LeaseBook {
  readonly #keeper: LeaseKeeper
  readonly #pages: SharedPages
  /** Holder of a lock while the main thread changes a lease. */
  readonly #holder: number
  readonly #areas = new Map<string, Area>()
  readonly #byApi = new Map<string, Area[]>()
  readonly #leases: Lease[] = []

  constructor({ keeper, pages, threads }: LeaseBookOptions) {
    this.#keeper = keeper
    this.#pages = pages
    this.#holder = threads + 1
  }

  /** Returns the leases of a subscription under a plan; null if the memory has reached its bound. */
  blockFor(subscription: string, plan: SlaPlan, gaugesAt: readonly (number | null)[]): LeaseBlockRef | null {
    const area = this.#areaOf(subscription, plan)
    if (area === null) return null
    area.plan = plan
    const names = new Set<string>()
    const cells: (LeaseCellRef | null)[] = []
    for (const [position, limit] of plan.limits.entries()) {
      const declaration = toDeclaration(limit)
      const lease = declaration && this.#leaseIn(area, uniqueName(limit, names), declaration, plan.api)
      if (declaration !== null && lease === null) return null
      const { id, place } = lease ?? { id: -1, place: null }
      cells.push(place && { id, page: place.page, at: place.offset, gaugesAt: gaugesAt[position]! })
    }
    return { page: area.lock.page, lockAt: area.lock.offset * 2, cells }
  }

  /** Applies the numbers of a plan that has changed, to all subscriptions that called under it. */
  redeclare(plan: SlaPlan): void {
    for (const area of this.#byApi.get(plan.api) ?? []) {
      if (area.plan.variant !== plan.variant || area.plan === plan) continue
      area.plan = plan
      const names = new Set<string>()
      for (const limit of plan.limits) {
        const lease = area.byCalls.get(uniqueName(limit, names))
        const declaration = toDeclaration(limit)
        if (lease !== undefined && declaration !== null) this.#declare(lease, declaration)
      }
    }
  }

  /** Resolves when the leases were asked for; false if a grantor cannot be reached. */
  async refill({ ids, calls }: LeaseNeed): Promise<boolean> {
    const keys = ids.flatMap((id) => this.#leases[id]?.key ?? [])
    const reached = await Promise.all(keys.map((key) => this.#keeper.refill(key, calls)))
    return reached.every(Boolean)
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
    const area: Area = { subscription, lock, byCalls: new Map(), plan }
    this.#areas.set(key, area)
    const others = this.#byApi.get(plan.api)
    if (others === undefined) this.#byApi.set(plan.api, [area])
    else others.push(area)
    return area
  }

  #leaseIn(area: Area, name: string, declaration: LeaseDeclaration, api: string): Lease | null {
    const known = area.byCalls.get(name)
    if (known !== undefined) {
      this.#declare(known, declaration)
      return known
    }
    const place = this.#pages.allocate(LEASE_CELL_SIZE)
    if (place === null) return null
    const key = createHash('sha256')
      .update(JSON.stringify([area.subscription, api, name]))
      .digest('base64url')
    const lease: Lease = { id: this.#leases.length, key, place, declared: JSON.stringify(declaration) }
    this.#leases.push(lease)
    area.byCalls.set(name, lease)
    const exclusively = (task: () => void): void => this.#exclusively(area.lock, task)
    this.#keeper.add(key, declaration, { cell: new Float64Array(place.page), at: place.offset, exclusively })
    return lease
  }

  #declare(lease: Lease, declaration: LeaseDeclaration): void {
    const declared = JSON.stringify(declaration)
    if (declared === lease.declared) return
    lease.declared = declared
    this.#keeper.redeclare(lease.key, declaration)
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

/** Names the calls that a limit counts. Several limits of a plan may count the same calls. */
function uniqueName({ meaning, rule: { kind } }: LimitPlan, names: Set<string>): string {
  let name = `${kind} ${meaning}`
  while (names.has(name)) name += ' again'
  names.add(name)
  return name
}

/** Returns null for a total of more than an hour, which no short lease can serve, and for a limit that its value of 0 switches off. */
function toDeclaration({ rule, validity }: LimitPlan): LeaseDeclaration | null {
  if (rule.value === 0) return null
  switch (rule.kind) {
    case 'rate':
      return { kind: 'rate', version: VERSION, ...toBucket(rule.value, rule.spanMs) }
    case 'concurrent':
      return { kind: 'concurrent', version: VERSION, value: rule.value, callMsMax: CALL_MS_MAX }
    case 'total': {
      if (!isShort(rule.window, validity)) return null
      const calendar = createCalendar()
      const windowAt = (serverMs: number) => ({
        startMs: windowStart(rule.window, validity, calendar, serverMs),
        endMs: windowEnd(rule.window, validity, calendar, serverMs),
      })
      return { kind: 'total', version: VERSION, value: rule.value, windowAt }
    }
    default:
      return rule satisfies never
  }
}

function isShort(window: string, validity: LimitPlan['validity']): boolean {
  if (window === 'period') return validity.length > 0 && validity.every((span) => lengthOf(span) <= HOUR_MS)
  return window === 'minute' || window === 'hour'
}
