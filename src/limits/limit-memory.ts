/**
 * The shared memory of the limits: one block of counters per subscription and API, allocated by the main thread at the first call.
 *
 * A declaration with the same limits and other numbers keeps its block. One with other limits gets a new block, to which counters
 * with the same meaning are copied. Calls that still run in an earlier block remain concurrent: the new block adds the gauges of the
 * earlier one. An earlier block is not reused, since those calls still write to it. Memory is bounded.
 */

import type { LimitUsage } from '../boundary/plan/limit-book.ts'
import type { SlaPlan } from '../boundary/plan/sla-plan.ts'
import type { SavedCounter } from '../storage/store/limit-checkpoint.ts'
import type { LeaseBook, LeaseNeed } from './lease-book.ts'
import { doublesOf, gaugesOf, sumOf, type BlockRef, type EarlierGaugesRef, type GaugesRef } from './limit-block.ts'
import { nameOf, pairs, readCounters, writeCounters } from './limit-counters.ts'
import { counterLayoutOf } from './limit-kinds.ts'
import { layoutOf, type Layout } from './limit-layout.ts'
import { freeLock } from './limit-lock.ts'
import { readUsage, toSharedUsage } from './limit-usage.ts'
import { SharedPages, temporaryPlace, type Place } from './shared-pages.ts'

export type { BlockRef } from './limit-block.ts'

export interface LimitMemory {
  /**
   * Returns the block of a subscription under a plan; null if the memory has reached its bound. `revision`: that of the subscription when
   * it had the plan; by default it is not known.
   */
  blockFor(subscription: string, plan: SlaPlan, revision?: number): BlockRef | null
  /** Applies the numbers of a plan that has changed to leases. */
  redeclare(plan: SlaPlan): void
  /** Asks for leases; resolves with false if they cannot be had at the moment. */
  refill(need: LeaseNeed): Promise<boolean>
  /** Clears the gauges of a dead thread and frees its locks. */
  releaseThread(thread: number): void
  /** Reads the use for display, without the lock. Allocates no block for a subscription that has not called. */
  usage(subscription: string, plan: SlaPlan, nowMs: number): LimitUsage
  /** The use over all nodes, as far as it is known. */
  sharedUsage(subscription: string, plan: SlaPlan, nowMs: number): Promise<LimitUsage>
  /** Returns the current counters; an empty list if the subscription has not called. */
  counters(subscription: string, api: string): readonly SavedCounter[]
  readonly bytes: number
}

interface Entry {
  readonly subscription: string
  readonly plan: SlaPlan
  readonly revision: number
  readonly ref: BlockRef
}

export interface LimitMemoryOptions {
  readonly threads: number
  /** Default 2 GiB. */
  readonly bytesMax?: number
  /** Returns the saved counters of a subscription at its first call. */
  readonly restore?: (subscription: string, api: string) => readonly SavedCounter[]
  /** Creates the leases of limits that hold across nodes; by default they hold on this node only. */
  readonly createLeases?: ((pages: SharedPages) => LeaseBook) | undefined
}

const BYTES_MAX = 2 ** 31

export function createLimitMemory(options: LimitMemoryOptions): LimitMemory {
  return new SharedLimitMemory(options)
}

class SharedLimitMemory implements LimitMemory {
  readonly #threads: number
  readonly #restore: (subscription: string, api: string) => readonly SavedCounter[]
  readonly #pages: SharedPages
  readonly #leases: LeaseBook | null
  readonly #entries = new Map<string, Entry>()
  /** Blocks that were replaced while calls ran in them; a dead thread may hold their locks. */
  readonly #replaced = new Set<BlockRef>()
  readonly #layouts = new WeakMap<SlaPlan, Layout>()

  constructor({ threads, bytesMax = BYTES_MAX, restore = () => [], createLeases }: LimitMemoryOptions) {
    this.#threads = threads
    this.#restore = restore
    this.#pages = new SharedPages(bytesMax)
    this.#leases = createLeases?.(this.#pages) ?? null
  }

  get bytes(): number {
    return this.#pages.bytes
  }

  blockFor(subscription: string, plan: SlaPlan, revision = 0): BlockRef | null {
    const key = keyOf(subscription, plan.api)
    const before = this.#entries.get(key)
    const isInPlace = before !== undefined && before.ref.layout === this.#layoutFor(plan).id
    const place = isInPlace ? before.ref : this.#allocate(subscription, plan, before)
    const isLeased = before?.plan === plan && before.revision >= revision
    const ref = place === null || isLeased ? place : this.#lease(subscription, plan, { place, revision })
    if (ref !== null && !isLeased) {
      this.#entries.set(key, { subscription, plan, revision: Math.max(revision, before?.revision ?? 0), ref })
    }
    if (before !== undefined && !isInPlace && ref !== null) this.#replaced.add(before.ref)
    return ref
  }

  redeclare(plan: SlaPlan): void {
    this.#leases?.redeclare(plan)
  }

  async refill(need: LeaseNeed): Promise<boolean> {
    return this.#leases === null || this.#leases.refill(need)
  }

  releaseThread(thread: number): void {
    this.#leases?.releaseThread(thread + 1)
    for (const entry of this.#entries.values()) this.#releaseIn(entry, thread)
    for (const ref of this.#replaced) freeLock(new Int32Array(ref.page, ref.offset * 8, 1), thread + 1)
  }

  usage(subscription: string, plan: SlaPlan, nowMs: number): LimitUsage {
    const entry = this.#entries.get(keyOf(subscription, plan.api))
    const layout = this.#layoutFor(plan)
    const isInPlace = entry !== undefined && entry.ref.layout === layout.id
    const ref = isInPlace ? entry.ref : this.#fill(subscription, plan, temporaryPlace(layout.size), entry)
    return readUsage(plan, layout, ref, this.#threads, nowMs)
  }

  async sharedUsage(subscription: string, plan: SlaPlan, nowMs: number): Promise<LimitUsage> {
    const ref = this.#leases === null ? null : this.blockFor(subscription, plan)
    if (this.#leases === null || ref?.leases == null) return this.usage(subscription, plan, nowMs)
    const left = await this.#leases.look(ref.leases)
    return toSharedUsage(plan, this.usage(subscription, plan, nowMs), left)
  }

  counters(subscription: string, api: string): readonly SavedCounter[] {
    const entry = this.#entries.get(keyOf(subscription, api))
    return entry === undefined ? [] : this.#countersIn(entry)
  }

  #layoutFor(plan: SlaPlan): Layout {
    const known = this.#layouts.get(plan)
    if (known !== undefined) return known
    const layout = layoutOf(plan, this.#threads)
    this.#layouts.set(plan, layout)
    return layout
  }

  #allocate(subscription: string, plan: SlaPlan, before: Entry | undefined): BlockRef | null {
    const place = this.#pages.allocate(this.#layoutFor(plan).size)
    return place === null ? null : this.#fill(subscription, plan, place, before)
  }

  /** Returns the block with the leases of the plan; null if the memory has reached its bound. */
  #lease(
    subscription: string,
    plan: SlaPlan,
    { place, revision }: { readonly place: BlockRef; readonly revision: number },
  ): BlockRef | null {
    if (this.#leases === null) return place
    const { offsets } = this.#layoutFor(plan)
    const gaugesAt = plan.limits.map(({ rule }, position) => counterLayoutOf(rule.kind).gaugesAt(offsets[position]!))
    const leases = this.#leases.blockFor(subscription, plan, gaugesAt, revision)
    return leases && { ...place, leases }
  }

  /** Fills a new block with the counters of the earlier block, or with the saved ones if there is none. */
  #fill(subscription: string, plan: SlaPlan, place: Place, before: Entry | undefined): BlockRef {
    const layout = this.#layoutFor(plan)
    const earlierGauges = before === undefined ? [] : this.#earlierGaugesFor(before, plan)
    const ref: BlockRef = { ...place, size: layout.size, layout: layout.id, earlierGauges, leases: null }
    const counters = before === undefined ? this.#restore(subscription, plan.api) : this.#countersIn(before)
    writeCounters(plan, layout, doublesOf(ref), counters)
    return ref
  }

  #countersIn({ plan, ref }: Entry): readonly SavedCounter[] {
    return readCounters(plan, this.#layoutFor(plan), doublesOf(ref))
  }

  /** Returns the gauges of earlier blocks that count into the limits of `plan` and are not zero. */
  #earlierGaugesFor({ plan: from, ref }: Entry, plan: SlaPlan): readonly EarlierGaugesRef[] {
    return pairs(from.limits.map(nameOf), plan.limits.map(nameOf))
      .flatMap((other, position) => {
        if (other === null) return []
        const fromOffset = this.#layoutFor(from).offsets[other]!
        const offset = this.#layoutFor(plan).offsets[position]!
        const gaugesAt = counterLayoutOf(plan.limits[position]!.rule.kind).gaugesAt(fromOffset)
        if (gaugesAt === null) return []
        const earlier = ref.earlierGauges.filter((gauges) => gauges.offset === fromOffset)
        return [
          { page: ref.page, at: ref.offset * 2 + gaugesAt, offset },
          ...earlier.map((gauges) => ({ ...gauges, offset })),
        ]
      })
      .filter((gauges) => sumOf(gaugesOf(gauges, this.#threads), 0, this.#threads) > 0)
  }

  #releaseIn({ subscription, ref, plan }: Entry, thread: number): void {
    freeLock(new Int32Array(ref.page, ref.offset * 8, 1), thread + 1)
    const clear = (gauges: GaugesRef): number => Atomics.exchange(gaugesOf(gauges, this.#threads), thread, 0)
    this.#layoutFor(plan).offsets.forEach((offset, position) => {
      const gaugesAt = counterLayoutOf(plan.limits[position]!.rule.kind).gaugesAt(offset)
      if (gaugesAt === null) return
      const earlier = ref.earlierGauges.filter((gauges) => gauges.offset === offset)
      const calls = [{ page: ref.page, at: ref.offset * 2 + gaugesAt }, ...earlier].map(clear)
      const lease = ref.leases?.cells[position]
      if (lease)
        this.#leases?.freeSlots(
          subscription,
          plan.api,
          lease,
          calls.reduce((sum, each) => sum + each, 0),
        )
    })
  }
}

function keyOf(subscription: string, api: string): string {
  return `${subscription} ${api}`
}
