/**
 * The shared memory behind the limits: a block of counters for each subscription at each API that has
 * called, handed out by the main thread.
 *
 * Blocks are cut from pages. When another version of a declaration comes into force, a subscription
 * gets a block of the new layout, and counters that go on to mean the same thing (same `key`, same kind
 * of rule) are carried over. The block before is not used again: calls in flight still give back to it.
 */

import type { SlaPlan } from '../opensla/sla-plan.ts'
import { layoutOf, slotsOf, type Layout } from './limit-layout.ts'

/** Where a block lies; `offset` in doubles. Can be posted to a thread. */
export interface BlockRef {
  readonly page: SharedArrayBuffer
  readonly offset: number
  readonly size: number
  readonly version: string
}

export interface LimitMemory {
  /** The block of a subscription under a plan; null when memory is used up to its bound. */
  blockFor(subscription: string, plan: SlaPlan): BlockRef | null
  /** Gives back what calls of a dead thread held. */
  releaseThread(thread: number): void
  readonly bytes: number
}

interface Entry {
  readonly plan: SlaPlan
  readonly layout: Layout
  readonly ref: BlockRef
  readonly doubles: Float64Array
}

const PAGE_DOUBLES = 65_536
const PAGES_MAX = 4_096

/** `threads` counts every thread that takes from blocks, the main thread included. */
export function createLimitMemory({ threads }: { threads: number }): LimitMemory {
  const entries = new Map<string, Entry>()
  let page: SharedArrayBuffer | null = null
  let pages = 0
  let used = PAGE_DOUBLES

  function cut(size: number): { page: SharedArrayBuffer; offset: number } | null {
    if (size > PAGE_DOUBLES) return null
    if (used + size > PAGE_DOUBLES || page === null) {
      if (pages >= PAGES_MAX) return null
      page = new SharedArrayBuffer(PAGE_DOUBLES * 8)
      pages++
      used = 0
    }
    const place = { page, offset: used }
    used += size
    return place
  }

  function createEntry(plan: SlaPlan): Entry | null {
    const layout = layoutOf(plan, threads)
    const place = cut(layout.size)
    if (place === null) return null
    const doubles = new Float64Array(place.page, place.offset * 8, layout.size)
    doubles.fill(0)
    return { plan, layout, doubles, ref: { ...place, size: layout.size, version: plan.version } }
  }

  return {
    blockFor(subscription, plan) {
      const key = `${subscription} ${plan.api}`
      const before = entries.get(key)
      if (before?.plan === plan) return before.ref
      const entry = createEntry(plan)
      if (entry === null) return null
      if (before !== undefined) carryOver(before, entry, threads)
      entries.set(key, entry)
      return entry.ref
    },
    releaseThread(thread) {
      for (const { plan, layout, doubles } of entries.values()) {
        plan.limits.forEach(({ rule }, position) => {
          if (rule.kind === 'concurrent') doubles[layout.offsets[position]! + 1 + thread] = 0
        })
      }
    },
    get bytes() {
      return pages * PAGE_DOUBLES * 8
    },
  }
}

function carryOver(from: Entry, to: Entry, threads: number): void {
  to.plan.limits.forEach((limit, position) => {
    const before = from.plan.limits.findIndex((other) => isSameCounter(limit, other))
    if (before < 0 || limit.rule.kind === 'concurrent') return
    for (let slot = 0; slot < slotsOf(limit, threads); slot++) {
      to.doubles[to.layout.offsets[position]! + slot] = from.doubles[from.layout.offsets[before]! + slot]!
    }
  })
  if (to.plan.quota === null || from.plan.quota?.period !== to.plan.quota.period) return
  for (let slot = 0; slot < 3; slot++) to.doubles[to.layout.quota + slot] = from.doubles[from.layout.quota + slot]!
}

/** A rate counts in calls of its own span, so it goes on only where the rate is the same. */
function isSameCounter(a: SlaPlan['limits'][number], b: SlaPlan['limits'][number]): boolean {
  if (a.key !== b.key || a.rule.kind !== b.rule.kind) return false
  if (a.rule.kind === 'rate' && b.rule.kind === 'rate') {
    return a.rule.value === b.rule.value && a.rule.spanMs === b.rule.spanMs
  }
  return a.rule.kind !== 'total' || b.rule.kind !== 'total' || a.rule.window === b.rule.window
}
