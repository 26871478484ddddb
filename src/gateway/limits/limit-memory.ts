/**
 * The shared memory behind the limits: a block of counters for each subscription at each API that has
 * called, handed out by the main thread.
 *
 * Blocks are cut from pages. A declaration that differs in numbers alone finds its counters where they
 * are; one with other limits gets a new block, to which counters that mean the same are carried over. Calls
 * that still run in the block before go on counting as concurrent: the new one sums their gauges too. A
 * block that was left is not cut again, since those calls still write to it. Memory is bounded.
 */

import type { LimitUsage } from '../../plan/limit-book.ts'
import type { SlaPlan } from '../../plan/sla-plan.ts'
import { doublesOf, gaugesOf, sumOf, type BlockRef, type EarlierGaugesRef } from './limit-block.ts'
import type { SavedCounter } from '../../store/limit-checkpoint.ts'
import { nameOf, pairs, readCounters, writeCounters } from './limit-counters.ts'
import { counterLayoutOf } from './limit-kinds.ts'
import { layoutOf, type Layout } from './limit-layout.ts'
import { freeLock } from './limit-lock.ts'
import { readUsage } from './limit-usage.ts'

export type { BlockRef } from './limit-block.ts'

export interface LimitMemory {
  /** The block of a subscription under a plan; null when memory is used up to its bound. */
  blockFor(subscription: string, plan: SlaPlan): BlockRef | null
  /** Gives back what calls of a dead thread held, and frees its locks. */
  releaseThread(thread: number): void
  /** For display: read without the lock, and nothing is cut for who has not called. */
  usage(subscription: string, plan: SlaPlan, nowMs: number): LimitUsage
  /** Returns the current counters; an empty list if the subscription has not called. */
  counters(subscription: string, api: string): readonly SavedCounter[]
  readonly bytes: number
}

interface Entry {
  readonly plan: SlaPlan
  readonly ref: BlockRef
}

interface Place {
  readonly page: SharedArrayBuffer
  readonly offset: number
}

export interface LimitMemoryOptions {
  readonly threads: number
  /** 2 GiB when not given. */
  readonly bytesMax?: number
  /** Returns the saved counters of a subscription at its first call. */
  readonly restore?: (subscription: string, api: string) => readonly SavedCounter[]
}

const PAGE_DOUBLES = 65_536
const PAGE_BYTES = PAGE_DOUBLES * 8
const BYTES_MAX = 2 ** 31

export function createLimitMemory(options: LimitMemoryOptions): LimitMemory {
  const { threads, bytesMax = BYTES_MAX, restore = () => [] } = options
  const entries = new Map<string, Entry>()
  /** Blocks that were left while calls ran in them; a dead thread may hold their locks. */
  const left = new Set<BlockRef>()
  const layouts = new WeakMap<SlaPlan, Layout>()
  let page: SharedArrayBuffer | null = null
  let bytes = 0
  let used = PAGE_DOUBLES

  function layoutFor(plan: SlaPlan): Layout {
    const known = layouts.get(plan)
    if (known !== undefined) return known
    const layout = layoutOf(plan, threads)
    layouts.set(plan, layout)
    return layout
  }

  function cut(size: number): Place | null {
    if (size > PAGE_DOUBLES) return null
    if (used + size > PAGE_DOUBLES || page === null) {
      if (bytes + PAGE_BYTES > bytesMax) return null
      page = new SharedArrayBuffer(PAGE_BYTES)
      bytes += PAGE_BYTES
      used = 0
    }
    const place = { page, offset: used }
    used += size
    return place
  }

  function createRef(subscription: string, plan: SlaPlan, before: Entry | undefined): BlockRef | null {
    const place = cut(layoutFor(plan).size)
    return place === null ? null : refOf(subscription, plan, place, before)
  }

  /** Counters go on where the place is now. */
  function refOf(subscription: string, plan: SlaPlan, place: Place, before: Entry | undefined): BlockRef {
    const layout = layoutFor(plan)
    const earlierGauges = before === undefined ? [] : earlierGaugesFor(before, plan)
    const ref: BlockRef = { ...place, size: layout.size, layout: layout.id, earlierGauges }
    const counters = before === undefined ? restore(subscription, plan.api) : countersIn(before)
    writeCounters(plan, layout, doublesOf(ref), counters)
    return ref
  }

  function countersIn({ plan, ref }: Entry): readonly SavedCounter[] {
    return readCounters(plan, layoutFor(plan), doublesOf(ref))
  }

  /** Gauges that count into the limits of `plan` from blocks before it, as far as calls still run there. */
  function earlierGaugesFor({ plan: from, ref }: Entry, plan: SlaPlan): readonly EarlierGaugesRef[] {
    return pairs(from.limits.map(nameOf), plan.limits.map(nameOf))
      .flatMap((other, position) => {
        if (other === null) return []
        const [fromOffset, offset] = [layoutFor(from).offsets[other]!, layoutFor(plan).offsets[position]!]
        const gaugesAt = counterLayoutOf(plan.limits[position]!.rule.kind).gaugesAt(fromOffset)
        if (gaugesAt === null) return []
        const earlier = ref.earlierGauges.filter((gauges) => gauges.offset === fromOffset)
        return [
          { page: ref.page, at: ref.offset * 2 + gaugesAt, offset },
          ...earlier.map((gauges) => ({ ...gauges, offset })),
        ]
      })
      .filter((gauges) => sumOf(gaugesOf(gauges, threads), 0, threads) > 0)
  }

  function releaseIn({ ref, plan }: Entry, thread: number): void {
    freeLock(new Int32Array(ref.page, ref.offset * 8, 1), thread + 1)
    layoutFor(plan).offsets.forEach((offset, position) => {
      const gaugesAt = counterLayoutOf(plan.limits[position]!.rule.kind).gaugesAt(offset)
      if (gaugesAt === null) return
      Atomics.store(gaugesOf({ page: ref.page, at: ref.offset * 2 + gaugesAt }, threads), thread, 0)
    })
    for (const gauges of ref.earlierGauges) Atomics.store(gaugesOf(gauges, threads), thread, 0)
  }

  return {
    blockFor(subscription, plan) {
      const key = keyOf(subscription, plan.api)
      const before = entries.get(key)
      const isInPlace = before !== undefined && before.ref.layout === layoutFor(plan).id
      const ref = isInPlace ? before.ref : createRef(subscription, plan, before)
      if (ref !== null && before?.plan !== plan) entries.set(key, { plan, ref })
      if (before !== undefined && !isInPlace && ref !== null) left.add(before.ref)
      return ref
    },
    releaseThread(thread) {
      for (const entry of entries.values()) releaseIn(entry, thread)
      for (const ref of left) freeLock(new Int32Array(ref.page, ref.offset * 8, 1), thread + 1)
    },
    usage(subscription, plan, nowMs) {
      const entry = entries.get(keyOf(subscription, plan.api))
      const layout = layoutFor(plan)
      const isInPlace = entry !== undefined && entry.ref.layout === layout.id
      const ref = isInPlace ? entry.ref : refOf(subscription, plan, aside(layout.size), entry)
      return readUsage(plan, layout, ref, threads, nowMs)
    },
    counters(subscription, api) {
      const entry = entries.get(keyOf(subscription, api))
      return entry === undefined ? [] : countersIn(entry)
    },
    get bytes() {
      return bytes
    },
  }
}

/** A place of its own, to look at. */
function aside(size: number): Place {
  return { page: new SharedArrayBuffer(size * 8), offset: 0 }
}

function keyOf(subscription: string, api: string): string {
  return `${subscription} ${api}`
}
